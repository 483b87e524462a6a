"""Standard error for the local user who asks: no value that the host put in (M7.7, V4)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.mcp.connections.masking import SHORTEST, masked_text, secrets_of
from innkeeper.mcp.declarations.model import HttpLaunch, StdioLaunch

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="•\x00\ufffd"), max_size=40)
SECRET = st.text(st.characters(codec="utf-8", exclude_characters="•\x00\ufffd"), min_size=SHORTEST, max_size=20)


@given(before=TEXT, after=TEXT, secrets=st.sets(SECRET, min_size=1, max_size=4))
def test_no_secret_is_left_wherever_it_stands(before: str, after: str, secrets: set[str]) -> None:
    text = before + after.join(secrets) + after
    shown = masked_text(text.encode(), secrets)
    assert not [secret for secret in secrets if secret in shown]


@given(secret=SECRET, cut=st.integers(1, 16))
def test_secret_that_the_tail_cut_in_two_is_not_shown_either(secret: str, cut: int) -> None:
    rest = secret[cut:]
    shown = masked_text(rest.encode() + b"\nnext", {secret})
    assert len(rest) < SHORTEST or not shown.startswith(rest)


@pytest.mark.parametrize(
    ("line", "hidden"),
    [
        ("GET https://user:pa55@host/x", "pa55"),
        ("Authorization: Bearer abcdef123456", "abcdef123456"),
        ("ghp_" + "a1" * 18, "ghp_"),
        ("api_key=sesame123", "sesame123"),
        ('"token": "sesame123"', "sesame123"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmVk", "eyJ"),
    ],
)
def test_common_shapes_are_masked(line: str, hidden: str) -> None:
    assert hidden not in masked_text(line.encode(), ())


def test_plain_text_and_bytes_that_are_none_are_readable() -> None:
    assert masked_text(b"listening on port 80\xff\n", ()) == "listening on port 80\ufffd\n"


def test_every_expanded_value_counts_and_short_ones_do_not() -> None:
    stdio = StdioLaunch("p", (), {"A": "value-a", "B": "no"}, "/")
    assert secrets_of(stdio, {"id": "input-1"}) == {"value-a", "input-1"}
    http = HttpLaunch("https://me:pass%20word@h/?k=query-1", {"Authorization": "Bearer head-1"})
    assert secrets_of(http, {}) == {"pass word", "query-1", "Bearer head-1", "head-1"}
    assert secrets_of(None, {}) == frozenset()
