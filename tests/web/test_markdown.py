"""Markdown of agents, tools and people is markup that can do nothing (issue 7 B.9), also while it grows."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from innkeeper.web import markdown

PIECES = (
    *(
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<svg/onload=alert(1)>",
        "<!--",
        "]]>",
        "&lt;",
        "\\",
    ),
    *("[a](javascript:alert(1))", "[b](JaVaScRiPt:alert(1))", "[c](data:text/html,x)", "[d](//evil.example)"),
    *('[e](https://ok.example/?a="onmouseover=1)', "[f](/s/x)", "![g](https://x.example/i.png)", "<https://h.example>"),
    *(
        "[i](/\\evil.example)",
        "[j]: javascript:x",
        "[j]",
        "# h",
        "\n\n",
        "\n",
        "- x",
        "1. y",
        "> q",
        "```html\n",
        "```",
    ),
    *("`c`", "**b**", "| a | b |\n| - | - |\n| 1 | 2 |", "    code", "---", "~~s~~", "<a href='x' style='y'>", "text "),
)
sources = st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=12).map("".join)


class Seen(HTMLParser):
    """Elements and attributes of a piece of markup."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str, str]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]


@given(sources)
@settings(max_examples=300, deadline=None)
def test_nothing_but_known_elements_attributes_and_links_comes_out(source: str) -> None:
    seen = Seen(markdown.render(source))
    assert seen.tags <= markdown.TAGS
    for tag, name, value in seen.attributes:
        assert name in {*markdown.ATTRIBUTES.get(tag, ()), "rel"}, (tag, name)
        if name == "href":
            assert re.match(r"https?://|/(?![/\\])|[\w#?.%&=-]*\Z|[^:]*\Z", value), value
            assert "javascript" not in value.lower().split("?")[0] or value.startswith(("http", "/"))


def test_a_line_that_is_not_whole_decides_nothing() -> None:
    """Three backticks may begin a block, or be the beginning of a span in the paragraph before."""
    whole = "a\n```b```c\n"
    grown = markdown.grow(markdown.Grown(), whole[:5])
    assert markdown.grow(grown, whole).blocks == markdown.blocks(whole)


@given(sources, st.data())
@settings(max_examples=200, deadline=None)
def test_a_text_that_grows_ends_as_the_same_text_at_once(source: str, data: st.DataObject) -> None:
    """All blocks but the last are final (ui.md §8.3). A definition that follows its link is the one exception."""
    if re.search(r"\]:", source):
        return
    cuts = sorted(data.draw(st.lists(st.integers(0, len(source)), max_size=6)))
    grown = markdown.Grown()
    for end in [*cuts, len(source)]:
        before = grown.final
        grown = markdown.grow(grown, source[:end])
        assert grown.final[: len(before)] == before
    assert "".join(grown.blocks) == "".join(markdown.blocks(source))


@pytest.mark.parametrize(
    ("address", "safe"),
    [
        ("https://a.example/x", True),
        ("http://a.example", True),
        ("/s/abc", True),
        ("#part", True),
        ("javascript:alert(1)", False),
        ("JAVASCRIPT:alert(1)", False),
        ("data:text/html,x", False),
        ("file:///etc/passwd", False),
        ("vbscript:x", False),
        ("//evil.example/x", False),
        ("/\\evil.example", False),
        ("https:", False),
        ("http://[", False),
    ],
)
def test_links_lead_to_http_https_or_stay_here(address: str, safe: bool) -> None:
    """ui.md §3: only http, https and same-origin"""
    assert markdown.safe_link(address) is safe


def test_links_show_where_they_lead_and_tell_nobody_where_from() -> None:
    html = markdown.render("[both](https://a.example/x)")
    assert 'title="https://a.example/x"' in html and 'rel="noopener noreferrer nofollow"' in html


def test_nothing_is_loaded_an_image_is_a_link() -> None:
    html = markdown.render("![a picture](https://a.example/i.png)")
    assert "<img" not in html and "a picture</a>" in html


def test_code_is_coloured_by_classes_and_named_by_its_path() -> None:
    html = markdown.render("```python cart/total.py\ndef f(): return 1\n```")
    assert '<span class="caption">cart/total.py</span>' in html
    assert '<span class="syn-kw">def</span>' in html and "style=" not in html


def test_a_very_long_text_is_shown_as_it_is() -> None:
    source = "<b>" * (markdown.LARGEST // 3 + 1)
    (block,) = markdown.blocks(source)
    assert "<b>" not in block and "&lt;b&gt;" in block


def test_what_scrolls_sideways_can_be_reached_by_keys() -> None:
    """Issue 7 B.5: wide tables and code."""
    assert markdown.render("| a |\n| - |\n| 1 |").startswith('<table tabindex="0">')
    assert '<pre tabindex="0">' in markdown.render("```\nlong\n```")
