"""Random TOML documents as a person might have written them: every form, comments everywhere, any habit of layout."""

import string
from typing import Any

from hypothesis import strategies as st

KEYS = st.sampled_from(["a", "b", "c", "d", "e_1", "f-2", "g h", "i.j", "é", '"q"'])
WORDS = st.text(alphabet=string.ascii_letters + " #[]{}=,'\"\\\n\té", max_size=8)


def key_text(key: str, quote: str = '"') -> str:
    if all(letter in string.ascii_letters + string.digits + "_-" for letter in key):
        return key
    return f"'{key}'" if quote == "'" else '"' + key.replace('"', '\\"') + '"'


@st.composite
def scalars(draw: st.DrawFn) -> str:
    """The text of a scalar, in any of its spellings."""
    word = draw(WORDS)
    plain = word.replace("\\", "").replace("'", "")
    spelled = [
        '"' + word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t") + '"',
        "'" + plain.replace("\n", "") + "'",
        '"""\n' + plain.replace('"', "") + '"""',
        "'''" + plain + "'''",
        draw(st.sampled_from(["0", "-17", "1_000", "0xFF", "0.5", "-inf", "6e3", "true", "false"])),
        draw(st.sampled_from(["1979-05-27", "1979-05-27 07:32:00", "1979-05-27T07:32:00Z", "07:32:00"])),
    ]
    return draw(st.sampled_from(spelled))


COMMENTS = st.sampled_from(["# one", "#two = [", "# [t]", '# """', "#"])
SPACES = st.sampled_from(["", " ", "   ", "\t"])


@st.composite
def gaps(draw: st.DrawFn) -> str:
    """What may stand between the members of an array."""
    return draw(st.sampled_from(["", " ", "\n", "\n    ", f" {draw(COMMENTS)}\n  ", f"\n\n  {draw(COMMENTS)}\n"]))


@st.composite
def arrays(draw: st.DrawFn, depth: int) -> str:
    items = draw(st.lists(values(depth - 1), max_size=4))
    text = ""
    for index, item in enumerate(items):
        text += draw(gaps()) + item
        text += draw(gaps())
        last = index == len(items) - 1
        text += draw(st.sampled_from(["", ","])) if last else ","
    return f"[{text}{draw(gaps())}]"


@st.composite
def inline_tables(draw: st.DrawFn, depth: int) -> str:
    keys = draw(st.lists(KEYS, max_size=3, unique=True))
    members = [f"{key_text(key)}{draw(SPACES)}= {draw(values(depth - 1))}" for key in keys]
    return "{" + draw(SPACES) + f"{draw(SPACES)}, ".join(members) + draw(SPACES) + "}"


def values(depth: int = 2) -> Any:
    if depth <= 0:
        return scalars()
    return st.one_of(scalars(), scalars(), arrays(depth), inline_tables(depth))


@st.composite
def bodies(draw: st.DrawFn) -> list[str]:
    """The lines of one section."""
    lines: list[str] = []
    for key in draw(st.lists(KEYS, max_size=4, unique=True)):
        lines += draw(st.lists(st.one_of(COMMENTS, st.just("")), max_size=2))
        end = draw(st.one_of(st.just(""), COMMENTS.map(lambda comment: f"  {comment}")))
        indent = draw(st.sampled_from(["", "", "  "]))
        if draw(st.integers(0, 5)) == 0:
            for below in draw(st.lists(KEYS, min_size=1, max_size=3, unique=True)):
                lines.append(f"{indent}{key_text(key)} . {key_text(below)} = {draw(values(1))}{end}")
        else:
            lines.append(f"{indent}{key_text(key)}{draw(SPACES)}={draw(SPACES)}{draw(values())}{end}")
    return lines


@st.composite
def documents(draw: st.DrawFn) -> str:
    lines = draw(bodies())
    for name in draw(st.lists(st.sampled_from(["t", "u", "v w"]), max_size=3, unique=True)):
        kind = draw(st.sampled_from(["table", "tables", "implicit"]))
        for index in range(draw(st.integers(1, 3)) if kind == "tables" else 1):
            lines += draw(st.lists(st.one_of(COMMENTS, st.just("")), max_size=3))
            indent = draw(st.sampled_from(["", "", "  "]))
            end = draw(st.one_of(st.just(""), COMMENTS.map(lambda comment: f" {comment}")))
            brackets = ("[[", "]]") if kind == "tables" else ("[", "]")
            path = key_text(name) + (".sub" if kind == "implicit" else "")
            lines += [f"{indent}{brackets[0]}{path}{brackets[1]}{end}", *draw(bodies())]
            if kind != "implicit" and draw(st.booleans()):
                lines += [draw(COMMENTS), f"[{key_text(name)}.z]", f"n = {index}"]
    lines += draw(st.lists(st.one_of(COMMENTS, st.just("")), max_size=2))
    text = "\n".join(lines) + draw(st.sampled_from(["\n", "\n", ""]))
    return text.replace("\n", "\r\n") if draw(st.integers(0, 3)) == 0 else text
