"""Code in colours: Pygments' lexers, and four kinds of words with a class each (design, ui.md §1, `syn-*`).

Rules
* Only classes come out, no style; everything else is escaped. Code over `LARGEST` characters, and of a language that
  nobody knows, stays plain. Pygments is imported when there is something to colour.
"""

import contextlib
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

from markupsafe import escape

LARGEST: Final = 30_000
LARGEST_DIFF: Final = 120_000
"""The same for one side of a diff, which a person asked to see."""
KINDS: Final = (
    ("Keyword", "syn-kw"),
    ("Operator.Word", "syn-kw"),
    ("Literal.String", "syn-str"),
    ("Literal.Number", "syn-num"),
    ("Name.Function", "syn-fn"),
    ("Name.Class", "syn-fn"),
    ("Name.Tag", "syn-fn"),
    ("Name.Attribute", "syn-fn"),
    ("Name.Builtin", "syn-fn"),
    ("Comment", "syn-com"),
)


@lru_cache(maxsize=512)
def highlighted(code: str, name: str) -> str:
    """`code` as markup; `name` is a language, or a file name."""
    lexer = _lexer(name) if name and len(code) <= LARGEST else None
    if lexer is None:
        return str(escape(code))
    out: list[str] = []
    for css, value in _pieces(lexer, code):
        out.append(f'<span class="{css}">{escape(value)}</span>' if css else str(escape(value)))
    return "".join(out)


@lru_cache(maxsize=64)
def highlighted_lines(code: str, name: str) -> tuple[str, ...]:
    """The lines of `code` as markup, each on its own; `name` is a language, or a file name."""
    lexer = _lexer(name) if name and len(code) <= LARGEST_DIFF else None
    if lexer is None:
        return tuple(str(escape(line)) for line in code.split("\n"))
    lines = [""]
    for css, value in _pieces(lexer, code):
        for at, part in enumerate(value.split("\n")):
            if at:
                lines.append("")
            if part:
                lines[-1] += f'<span class="{css}">{escape(part)}</span>' if css else str(escape(part))
    return tuple(lines)


def _pieces(lexer: Any, code: str) -> Iterator[tuple[str, str]]:
    """Class and text of each token; a name that is called is a function's."""
    tokens = [(str(kind).removeprefix("Token."), value) for kind, value in lexer.get_tokens(code)]
    for (kind, value), (_, after) in pairwise([*tokens, ("", "")]):
        called = kind in ("Name", "Name.Other") and after.startswith("(")
        yield "syn-fn" if called else _class(kind), value


@lru_cache(maxsize=128)
def _lexer(name: str) -> Any:
    from pygments.lexers import get_lexer_by_name, get_lexer_for_filename  # type: ignore[import-untyped]
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]

    for find, asked in ((get_lexer_by_name, name), (get_lexer_for_filename, name.split(":")[0])):
        with contextlib.suppress(ClassNotFound):  # then by the other way, else none
            return find(asked, stripnl=False, ensurenl=False)
    return None


@lru_cache(maxsize=256)
def _class(kind: str) -> str:
    return next((css for prefix, css in KINDS if kind == prefix or kind.startswith(prefix + ".")), "")
