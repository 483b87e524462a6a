"""Safe names (M2.10)."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.mcp.names import qualified_tool_name, safe_server_name


@pytest.mark.parametrize("name", ["git", "my-server", "a_b", "A1", "x" * 32])
def test_safe_name_stays(name: str) -> None:
    assert safe_server_name(name) == name


@pytest.mark.parametrize("name", ["", "a__b", "tail_", "has space", "服务", "x" * 33, "a.b", "__proto__", "\x1b[31m"])
def test_unsafe_name_gets_a_hash(name: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_-]*-[0-9a-f]{8}", safe_server_name(name))


@given(st.text(), st.text())
def test_tool_names_are_short_plain_and_split_at_the_first_double_underscore(server: str, tool: str) -> None:
    safe = safe_server_name(server)
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,32}", safe)
    assert "__" not in safe and not safe.endswith("_")
    name = qualified_tool_name(server, tool)
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name)
    assert name.removeprefix("mcp__").split("__")[0] == safe


@given(st.lists(st.text(max_size=5), unique=True, min_size=2, max_size=8))
def test_different_names_stay_different(names: list[str]) -> None:
    assert len({safe_server_name(name) for name in names}) == len(names)
    assert len({qualified_tool_name("s", name) for name in names}) == len(names)


def test_names_that_clean_alike_stay_apart() -> None:
    assert len({safe_server_name(name) for name in ("a.b", "a b", "a_b", "a-b")}) == 4
