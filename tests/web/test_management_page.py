"""docs/reference/management.md names every route, command, code and setting (issue 7 B.8)."""

import dataclasses
import re
from pathlib import Path

from innkeeper.errors import ERRORS
from innkeeper.host.editing_commands import EDITING_METHODS
from innkeeper.host.extensions import EXTENSION_METHODS
from innkeeper.host.grant_commands import GRANT_METHODS
from innkeeper.host.setting_commands import SETTING_METHODS
from innkeeper.ports.settings import HotSettings
from innkeeper.settings.config import FIELDS
from innkeeper.web.asking import WebOptions
from innkeeper.web.pages import all_actions, all_pages

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "management.md").read_text(encoding="utf-8")
ELSEWHERE = frozenset({"x-innkeeper/mcp/call", "x-innkeeper/status"})
"""`call` is an agent's or a terminal's act; the page has no button for it."""


def routes(off: bool) -> set[tuple[str, str]]:
    options = WebOptions(web_control=not off)
    gets = {("GET", path) for path, _ in all_pages(options)}
    return gets | {("POST", path) for path, _ in all_actions(options)}


def test_every_route_of_management_is_in_the_table_and_no_other() -> None:
    rows = re.findall(r"^\| (`/[^|]+`) \| (GET|POST|GET, POST) \|", PAGE, flags=re.MULTILINE)
    told = {
        (method, path) for paths, methods in rows for path in re.findall(r"`([^`]+)`", paths)
        for method in methods.split(", ")
    }  # fmt: skip
    served = {("GET", "/settings"), ("GET", "/settings/{section}")}
    assert told == (routes(off=False) - routes(off=True)) | served


def test_every_command_and_every_hot_setting_is_named_and_every_operators_setting_is_told_apart() -> None:
    wanted = (EXTENSION_METHODS | EDITING_METHODS | SETTING_METHODS | GRANT_METHODS) - ELSEWHERE
    assert {one for one in wanted if f"`{one}`" not in PAGE} == set()
    hot = {field.name for field in dataclasses.fields(HotSettings)}
    table = set(re.findall(r"^\| `(\w+)` \|", PAGE.split("## Settings")[1].split("## Commands")[0], flags=re.MULTILINE))
    assert table == hot
    kept = PAGE.split("## What never leaves the host")[1].split("- Expanded")[0]
    operators = set(FIELDS) - hot
    assert {one for one in operators if f"`{one}`" not in kept} == set()


def test_every_code_of_editing_and_settings_is_in_the_table() -> None:
    table = PAGE.split("## Codes")[1]
    codes = {code for code, row in ERRORS.items() if row.area in ("editing", "settings") and code.isupper()}
    assert {code for code in codes if code not in table} == set()
    assert set(re.findall(r"\b[A-Z]{2,}(?:_[A-Z]+)+\b", PAGE)) <= set(ERRORS)
