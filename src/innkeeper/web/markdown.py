"""Markdown of people, agents and tools as safe markup (issue 7 B.9).

Rules
* markdown-it with HTML off, then Pygments' classes, then nh3 as the last wall: whatever got through before keeps only
  the elements and attributes named here. Nothing is loaded: images become links.
* Links lead to http and https, or stay in this origin by a path; they open elsewhere and tell nobody where from.
* Text that grows is cut into its top-level blocks; all but the last are final and are rendered once.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

from innkeeper.web.highlight import highlighted

TAGS: Final = {
    *("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code", "em"),
    *("strong", "s", "a", "table", "thead", "tbody", "tr", "th", "td", "div", "span"),
}
ATTRIBUTES: Final = {
    "a": {"href", "title", "target"},
    "ol": {"start"},
    "th": {"align"},
    "td": {"align"},
    "div": {"class"},
    "span": {"class"},
    "pre": {"tabindex"},
    "table": {"tabindex"},
    "code": {"class"},
}
_LINE_END = re.compile(r"\r\n?|\n")
LARGEST: Final = 200_000
"""Characters of one text that are rendered as Markdown; a longer one is shown as it is."""


class Grown(NamedTuple):
    """A text that was rendered so far: the blocks `final` are those of its first `settled` characters and stay as they
    are; `tail` is the rest, which may still become something else."""

    settled: int = 0
    final: tuple[str, ...] = ()
    tail: tuple[str, ...] = ()
    source: str = ""

    @property
    def blocks(self) -> tuple[str, ...]:
        return self.final + self.tail


class _Parser(MarkdownIt):
    """markdown-it that knows which links are ours to show."""

    def validateLink(self, url: str) -> bool:
        return safe_link(url)


def _parser() -> MarkdownIt:
    parser = _Parser("commonmark", {"html": False, "linkify": False, "maxNesting": 40})
    parser.enable(["table", "strikethrough"])
    parser.add_render_rule("link_open", _link_open)
    parser.add_render_rule("image", _image)
    parser.add_render_rule("fence", _fence)
    parser.add_render_rule("code_block", _fence)
    parser.add_render_rule("table_open", _table_open)
    return parser


def safe_link(address: str) -> bool:
    """The address may be shown as a link: http, https, or a path of this origin."""
    try:
        parts = urlsplit(address.strip())
    except ValueError:
        return False
    if parts.scheme:
        return parts.scheme.lower() in ("http", "https") and bool(parts.netloc)
    return not parts.netloc and not address.strip().startswith(("//", "/\\", "\\")) and "\\" not in address


def _link_open(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    href = str(tokens[at].attrs.get("href") or "")
    title = str(tokens[at].attrs.get("title") or href)
    return f'<a href="{escape(href)}" title="{escape(title)}" target="_blank">'


def _image(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    source, words = str(tokens[at].attrs.get("src") or ""), tokens[at].content
    return f'<a href="{escape(source)}" title="{escape(source)}" target="_blank">{escape(words or source)}</a>'


def _fence(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    token = tokens[at]
    caption = token.info.strip()
    name = caption.split()[0] if caption else ""
    body = highlighted(token.content, name)
    shown = caption.partition(" ")[2].strip() or caption
    head = f'<div class="code-head"><span class="caption">{escape(shown)}</span></div>'
    return f'<div class="code">{head}<pre tabindex="0"><code>{body}</code></pre></div>'


def _table_open(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    return '<table tabindex="0">'  # it scrolls sideways, also by keys


_MARKDOWN: Final = _parser()


def _clean(html: str) -> str:
    return nh3.clean(
        html,
        tags=TAGS,
        attributes=ATTRIBUTES,
        url_schemes={"http", "https"},
        link_rel="noopener noreferrer nofollow",
    )


def _groups(tokens: Sequence[Token]) -> list[tuple[int, list[Token]]]:
    """The tokens by top-level block, with the first line of each."""
    groups: list[tuple[int, list[Token]]] = []
    depth = 0
    for token in tokens:
        if depth == 0:
            groups.append((token.map[0] if token.map else 0, []))
        groups[-1][1].append(token)
        depth += token.nesting
    return groups


@lru_cache(maxsize=1024)
def render(source: str) -> Markup:
    """The text as markup."""
    return Markup("".join(blocks(source)))


@lru_cache(maxsize=2048)
def blocks(source: str) -> tuple[str, ...]:
    """The text as markup, by top-level block."""
    if len(source) > LARGEST:
        return (f'<div class="code"><pre tabindex="0"><code>{escape(source)}</code></pre></div>',)
    env: dict[str, Any] = {}
    tokens = _MARKDOWN.parse(source, env)
    return tuple(_clean(_MARKDOWN.renderer.render(group, _MARKDOWN.options, env)) for _, group in _groups(tokens))


def grow(before: Grown, source: str) -> Grown:
    """`source` rendered, with what `before` already knows of it: top-level blocks before the last that has a whole line
    are final, since nothing that comes later can change them, except that a link's definition may follow its use."""
    if len(source) > LARGEST:
        return Grown(0, (), blocks(source), source)
    if not source.startswith(before.source):
        before = Grown()
    rest = source[before.settled :]
    env: dict[str, Any] = {}
    groups = _groups(_MARKDOWN.parse(rest, env))
    made = tuple(_clean(_MARKDOWN.renderer.render(group, _MARKDOWN.options, env)) for _, group in groups)
    starts = [0, *(match.end() for match in _LINE_END.finditer(rest))]
    last = len(made) - 1
    if last > 0 and groups[last][0] == len(starts) - 1:
        last -= 1  # what its one line begins, or goes on with, is not said before the line ends
    if last < 1:
        return Grown(before.settled, before.final, made, source)
    return Grown(before.settled + starts[groups[last][0]], before.final + made[:last], made[last:], source)


def of(value: Any) -> Markup:
    """AHP's `StringOrMarkdown`."""
    if isinstance(value, dict):
        return render(str(value.get("markdown") or ""))
    return escape(str(value or ""))
