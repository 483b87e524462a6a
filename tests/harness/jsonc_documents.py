"""Random JSONC documents as a person might have written them: comments everywhere, any habit of layout."""

import json

from hypothesis import strategies as st

KEYS = st.sampled_from(["a", "b", "c", "é", "x y", "//", "__proto__", 'q"'])
WORDS = st.text(alphabet='ab //*{}[],:"\\\n\té', max_size=6)


@st.composite
def gaps(draw: st.DrawFn, newline: str) -> str:
    """What may stand between tokens; a line that somebody else's editor ended now and then."""
    newline = draw(st.sampled_from([newline] * 12 + ["\n", "\r\n", "\r"]))
    comment = draw(st.sampled_from(["// one", "//", "// { ] ,", '// "x": 1,']))
    block = draw(st.sampled_from(["/* a */", "/**/", f"/* b{newline} , */"]))
    lines = [f"{newline}{newline}  {block}{newline}  ", f"{newline}  {comment}{newline}    ", f" {comment}{newline}  "]
    return draw(st.sampled_from(["", "", " ", "\t", newline, f"{newline}  ", f"{newline}\t", f" {block} ", *lines]))


@st.composite
def values(draw: st.DrawFn, newline: str, depth: int) -> str:
    kinds = ["word", "number", "word"] + (["object", "array", "object"] if depth else [])
    kind = draw(st.sampled_from(kinds))
    if kind == "word":
        return json.dumps(draw(WORDS), ensure_ascii=draw(st.booleans()))
    if kind == "number":
        return draw(st.sampled_from(["0", "-17", "1.0", "6e3", "1E400", "true", "false", "null"]))
    keys = draw(st.lists(KEYS, max_size=3, unique=True))
    members = [draw(values(newline, depth - 1)) for _ in keys]
    if kind == "object":
        members = [
            f"{json.dumps(key)}{draw(gaps(newline))}:{draw(gaps(newline))}{value}"
            for key, value in zip(keys, members, strict=True)
        ]
    text = ""
    for index, member in enumerate(members):
        last = index == len(members) - 1
        text += draw(gaps(newline)) + member + draw(gaps(newline))
        text += draw(st.sampled_from(["", ","])) if last else ","
    opening, closing = "{}" if kind == "object" else "[]"
    return f"{opening}{text}{draw(gaps(newline))}{closing}"


@st.composite
def documents(draw: st.DrawFn) -> str:
    """The text of a document whose root is an object."""
    newline = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))
    body = draw(values(newline, 3).filter(lambda text: text.startswith("{")))
    mark = draw(st.sampled_from(["", "", "\ufeff"]))
    return mark + draw(gaps(newline)) + body + draw(gaps(newline)) + draw(st.sampled_from(["", newline]))
