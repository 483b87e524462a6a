"""Every scenario of the reference on contributions, turns, sessions and the process has a test (issue 5).

A test says of which rows it is in its docstring, as `D7`, `C13`, `T2`, `S19` or `P4`, or in its name. Nothing else
counts: not a range in a module's docstring, not a comment, not rules of the specification such as `C5.1`, and not
reports on MCP, whose rows have the same letters. Rows that a test of another subject is for stand in `ELSEWHERE` with
that test.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent.parent
AREAS = {"D": 30, "C": 50, "T": 20, "S": 27, "P": 10}
ROWS = [f"{area}{n}" for area, last in AREAS.items() for n in range(1, last + 1)]
FOLDERS = ("contributions", "host", "e2e", "app", "workspace", "providers", "store")
CITED = re.compile(r"\b([DCTSP]\d{1,2})\b(?!\.\d)")
NAMED = re.compile(r"_([dctsp]\d{1,2})_")
ELSEWHERE = {
    "P1": ("cli/test_live.py", "test_options_that_cannot_be_meant_stop_serve_before_it_listens"),
    "P2": ("edge/test_token.py", "test_a_random_token_is_the_default_and_new_each_time"),
    "P3": ("edge/test_admission.py", "test_the_token_is_checked_at_the_upgrade"),
    "P4": ("host/test_driver.py", "test_malformed_frames_are_answered_and_harm_nobody"),
    "P5": ("edge/test_discovery.py", "test_only_the_own_file_is_taken_back"),
    "P6": ("edge/test_discovery.py", "test_what_a_dead_host_left_is_ignored_and_removed"),
    "P7": ("app/test_compose.py", "test_quiet_swaps_the_listed_parts_and_nothing_else"),
    "P9": ("cli/test_live.py", "test_the_client_library_drives_a_host_on_standard_input_and_output"),
    "P10": ("cli/test_live.py", "test_serve_says_ready_once_and_ends_with_0"),
}


@cache
def docstrings_of(source: Path) -> dict[str, str]:
    """Name and docstring of each test of a module."""
    functions = (
        node
        for node in ast.walk(ast.parse(source.read_text()))
        if isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef)
    )
    return {one.name: ast.get_docstring(one) or "" for one in functions if one.name.startswith("test_")}


def rows_of(name: str, docstring: str) -> Iterator[str]:
    yield from CITED.findall(docstring)
    yield from (row.upper() for row in NAMED.findall(name))


@cache
def cited() -> dict[str, list[str]]:
    """The tests of each row."""
    found: dict[str, list[str]] = {}
    for folder in FOLDERS:
        for source in sorted((TESTS / folder).rglob("test_*.py")):
            if "mcp" in source.parts or "gate" in source.name:
                continue
            for name, docstring in docstrings_of(source).items():
                for row in rows_of(name, docstring):
                    found.setdefault(row, []).append(f"{source.relative_to(TESTS)}::{name}")
    return found


@pytest.mark.parametrize("row", ROWS)
def test_the_row_has_a_test(row):
    if row in ELSEWHERE:
        file, name = ELSEWHERE[row]
        assert name in docstrings_of(TESTS / file), f"{file} has no {name}"
        assert row not in cited(), f"{row} needs no line here: {cited()[row]}"
    else:
        assert cited().get(row), f"no test is of {row}"


def test_no_test_is_of_a_row_that_there_is_not():
    """A slip of the pen would leave another row without its test."""
    assert not cited().keys() - set(ROWS)


@pytest.mark.parametrize(
    ("name", "docstring", "rows"),
    [
        ("test_x", "D6, D7; C8.", ["D6", "D7", "C8"]),
        ("test_s13_x", "K2, C5.1 and M6.8 of the specification.", ["S13"]),
        ("test_x", "D1 to D30 of the reference", ["D1", "D30"]),
        ("test_c", "AHP §9.3.", []),
    ],
)
def test_a_row_is_cited_by_its_own_name(name, docstring, rows):
    assert sorted(rows_of(name, docstring)) == sorted(rows)
