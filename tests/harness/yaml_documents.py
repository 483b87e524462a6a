"""Random YAML documents as a person might have written them: block and flow, comments, any indentation."""

from hypothesis import strategies as st

KEYS = st.sampled_from(["a", "b", "c", "é", '"x y"', "'on'"])
SCALARS = st.sampled_from(
    ["one", "1", "1.10", "yes", "null", '"a # b"', "'it''s'", "http://x/y", "2026-01-01", '"\\n"', "-y", "é", "~", ""]
)
COMMENTS = st.sampled_from(["", "", " # one", "   # a: b"])


@st.composite
def flows(draw: st.DrawFn, depth: int) -> str:
    if depth == 0 or draw(st.booleans()):
        return draw(SCALARS.filter(bool))
    space = draw(st.sampled_from(["", " "]))
    if draw(st.booleans()):
        keys = draw(st.lists(KEYS, max_size=3, unique=True))
        members = [f"{key}: {draw(flows(depth - 1))}" for key in keys]
        return "{" + space + ", ".join(members) + space + "}"
    return "[" + space + ", ".join(draw(st.lists(flows(depth - 1), max_size=3))) + space + "]"


@st.composite
def maps(draw: st.DrawFn, indentation: str, depth: int) -> list[str]:
    step = draw(st.sampled_from(["  ", "    ", " "]))
    lines: list[str] = []
    for key in draw(st.lists(KEYS, min_size=1, max_size=3, unique=True)):
        lines += draw(st.sampled_from([[], [], [""], [f"{indentation}# above"], ["# out", ""]]))
        head, comment = f"{indentation}{key}:", draw(COMMENTS)
        kind = draw(st.sampled_from(["scalar", "flow", "text"] + (["map", "map", "list"] if depth else [])))
        if kind == "map":
            lines += [head + comment, *draw(maps(indentation + step, depth - 1))]
        elif kind == "list":
            inner = indentation + draw(st.sampled_from(["", step]))
            items = draw(st.lists(flows(1), min_size=1, max_size=3))
            lines += [head + comment, *(f"{inner}- {item}{draw(COMMENTS)}" for item in items)]
        elif kind == "text":
            header = draw(st.sampled_from(["|", ">", "|-", "|+", ">+", "|-  # one"]))
            lines += [f"{head} {header}", f"{indentation}{step}some", ""]
        else:
            value = draw(SCALARS if kind == "scalar" else flows(2))
            lines.append(f"{head} {value}{comment}" if value else head + comment)
    return lines


@st.composite
def documents(draw: st.DrawFn) -> str:
    """The text of a document whose root is a map."""
    newline = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    lines = draw(st.one_of(maps("", 2), flows(2).filter(lambda text: text.startswith("{")).map(lambda text: [text])))
    before = draw(st.sampled_from([[], ["---"], ["# head", ""]]))
    after = draw(st.sampled_from([[], ["# end"], ["", "..."]]))
    return newline.join([*before, *lines, *after]) + draw(st.sampled_from(["", newline]))
