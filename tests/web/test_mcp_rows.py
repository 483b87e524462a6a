"""What the MCP panel says of each state, and what a form comes to (issue 7 B.2; M7.6, M8.2, M8.9; ui.md §3). Pure."""

import difflib
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.web.files import Files
from innkeeper.web.mcp_forms import Draft, Entry, Row, changes, diff_lines, entry_of, packed, unpacked
from innkeeper.web.mcp_rows import beyond_policy, connectable, servers, summary
from innkeeper.web.templates import Reader, Templates

STATES = (
    "connected",
    "connecting",
    "reconnecting",
    "unverified",
    "failed",
    "stopped",
    "not allowed",
    "needs a new grant",
    "written by an agent",
    "disabled",
    "invalid",
)


def report(name: str, status: str, **more: Any) -> dict[str, Any]:
    standard = {
        "id": f"mcp:{name}",
        "name": name,
        "file": ".mcp.json",
        "line": 3,
        "transport": "stdio",
        "enabled": status != "disabled",
        "allowed": status in ("connected", "stopped"),
        "status": status,
        "reason": None,
        "command": ["run", name],
        "selection": "policy",
        "attempt": 0,
        "next_try": None,
        "scope": "project",
    }
    return {**standard, **more}


def rows(*reports: dict[str, Any], state: dict[str, Any] | None = None, tools: Any = ()) -> Any:
    return servers(state or {}, {"items": reports}, tools)


@pytest.mark.parametrize(
    ("status", "mark", "acts"),
    [
        ("connected", "ok", ("disconnect",)),
        ("connecting", "ring", ("stop",)),
        ("reconnecting", "warn", ("stop", "retry")),
        ("unverified", "half", ("retry",)),
        ("failed", "bad", ("retry",)),
        ("stopped", "hollow", ("connect",)),
        ("not allowed", "hollow", ("connect",)),
        ("needs a new grant", "hollow", ("again",)),
        ("written by an agent", "hollow", ("review",)),
        ("disabled", "hollow", ()),
        ("invalid", "bad", ()),
    ],
)
def test_each_state_has_its_mark_and_at_most_two_acts(status: str, mark: str, acts: tuple[str, ...]) -> None:
    """ui.md §3, the table of states; M7.6."""
    (row,) = rows(report("a", status))
    assert (row.mark, row.acts) == (mark, acts)
    assert len(row.acts) <= 2


def test_what_is_not_confirmed_counts_the_seconds_since_the_last_answer_in_the_browser() -> None:
    """ui.md §3: *Not confirmed for 12 s*; §8.7: without a request, and said once to who listens."""
    (row,) = rows(report("a", "unverified", confirmed_at="2026-11-30T10:00:00Z"))
    reader = Reader(lang="zh_Hans", base="", fingerprint="f")
    given = {"row": row, "findings": [], "path": "/s/a/mcp", "form_token": "", "ask": SimpleNamespace(reader=reader)}
    shown = Templates(Files()).render("mcp_row.html", {**reader.values(), **given})
    assert 'data-since="2026-11-30T10:00:00Z" data-text="已 {n} 秒未确认"' in shown
    assert 'aria-hidden="true"' in shown and '<span class="unseen">未确认</span>' in shown


def test_what_the_project_disabled_has_a_lock_and_what_a_person_switched_off_has_none() -> None:
    """M6.7, ui.md §3"""
    meta = {"x-innkeeper/mcp": {"offInFile": True, "preset": "cursor"}}
    state = {"customizations": [{"type": "mcpServer", "id": "mcp:a", "_meta": meta}]}
    project, person = rows(report("a", "disabled"), report("b", "disabled"), state=state)
    assert (project.mark, project.words) == ("lock", "web.mcp.disabled.by_project")
    assert (person.mark, person.words) == ("hollow", "web.mcp.disabled.by_person")
    assert project.query == "server=a&preset=cursor&file=.mcp.json"


def test_a_sign_in_is_offered_where_one_is_wanted_and_a_code_has_its_meaning() -> None:
    (row,) = rows(report("a", "failed", reason="AUTH_REQUIRED"))
    assert row.acts == ("signin", "retry") and row.meaning == "error.AUTH_REQUIRED.meaning"
    (row,) = rows(report("a", "failed", reason="NO_CODE_OF_OURS"))
    assert row.meaning == "" and row.code == "NO_CODE_OF_OURS"


@pytest.mark.parametrize(
    ("statuses", "mark"),
    [
        ((), "hollow"),
        (("not allowed", "disabled", "stopped"), "hollow"),
        (("connected", "not allowed"), "ok"),
        (("connected", "connecting"), "warn"),
        (("connected", "unverified"), "warn"),
        (("connected", "reconnecting", "failed"), "bad"),
    ],
)
def test_the_control_says_the_worst_state_of_what_is_selected(statuses: tuple[str, ...], mark: str) -> None:
    """ui.md §3, MCP control"""
    found = rows(*(report(f"s{at}", status) for at, status in enumerate(statuses)))
    assert summary(found).mark == mark


@given(st.lists(st.sampled_from(STATES), max_size=8))
def test_counts_and_order_are_those_of_the_report_and_servers_of_the_host_count_not(statuses: list[str]) -> None:
    """ui.md §8.6: rows keep their order."""
    reports = [report(f"s{at}", status) for at, status in enumerate(statuses)]
    reports.append(report("wide", "connected", scope="host"))
    found = rows(*reports)
    assert [row.name for row in found] == [one["name"] for one in reports]
    assert summary(found).declared == len(statuses)
    assert summary(found).connected == sum(one in ("connected", "unverified") for one in statuses)
    assert found[-1].acts == () and not connectable(found[-1])
    assert all(not row.report["allowed"] and connectable(row) for row in beyond_policy(found))
    assert len({row.key for row in found}) == len(found)


def test_a_tool_says_how_the_gate_stands_to_it() -> None:
    """M6.3, M6.7"""
    standard = {"server": "a", "tool": "t", "qualified": "mcp__a__t", "description": None, "tokens": 5, "granted": None}
    given_ = [("ask", "unknown"), ("allow", "grant"), ("allow", "trustedWorkspace"), ("deny", "sessionRule")]
    given_.append(("deny", "projectFilter"))
    tools = [{**standard, "outcome": outcome, "why": why} for outcome, why in given_]
    (row,) = rows(report("a", "connected"), tools=tools)
    assert [tool.state for tool in row.tools] == ["asks", "always", "free", "denied", "excluded"]
    assert row.tokens == 25


# Forms

words = st.text(max_size=8)
lines = st.text(max_size=8).filter(lambda text: len(f"{text}.".splitlines()) == 1)
keys = st.lists(st.text(min_size=1, max_size=5), unique=True, max_size=4)
forms = st.fixed_dictionaries(
    {
        "transport": st.sampled_from(["stdio", "http"]),
        "command": st.none() | words,
        "args": st.none() | st.lists(lines, max_size=3),
        "cwd": st.none() | words,
        "url": st.none() | words,
        "env": st.none() | keys.map(lambda found: [{"key": key, "value": None} for key in found]),
        "headers": st.none() | keys.map(lambda found: [{"key": key, "value": None} for key in found]),
    }
)


@given(forms)
def test_a_form_in_which_nothing_was_typed_changes_nothing(form: dict[str, Any]) -> None:
    """M8.9: only what differs is sent; what was opened survives the page without a value."""
    was = entry_of(form)
    assert unpacked(packed(was)) == was
    assert "s3cret" not in packed(entry_of({**form, "env": [{"key": "K", "value": "s3cret"}]}))
    draft = Draft("a", "a", "root", ".mcp.json", "token", was, was)
    assert changes(draft) == {"preset": "root", "file": ".mcp.json", "token": "token", "server": "a", "fields": {}}


def test_switching_the_transport_sends_only_the_other_ones_fields_and_rows_keep_their_values() -> None:
    """M8.2, M8.9"""
    was = entry_of({"transport": "stdio", "command": "run", "env": [{"key": "A", "value": None}]})
    now = Entry("http", command="run", url="https://x/", env=was.env, headers=(Row("n1", "H", "v", ""),))
    sent = changes(Draft("a", "b", "root", "f", "t", was, now))
    assert sent["fields"] == {"url": "https://x/", "headers": [{"key": "H", "value": "v"}]}
    assert (sent["transport"], sent["name"], sent["server"]) == ("http", "b", "a")
    rows_ = (Row("r0", "B", "", "A"), Row("n1", "C", "", ""))
    sent = changes(Draft("a", "a", "root", "f", "t", was, Entry("stdio", command="", env=rows_)))
    assert sent["fields"] == {"command": None, "env": [{"key": "B", "keep": "A"}, {"key": "C", "value": ""}]}


@given(st.lists(lines, max_size=12), st.lists(lines, max_size=12))
def test_the_rows_of_a_difference_are_its_lines_with_their_numbers(old: list[str], new: list[str]) -> None:
    """Also lines that look like the head of a difference."""
    old, new = ["--- a", *old], ["+++ b", *new]
    diff = "\n".join(difflib.unified_diff(old, new, "a/f", "b/f", lineterm="", n=3))
    found = [line for line in diff_lines(diff) if line.kind != "gap"]
    for line in found:
        assert line.number is not None
        side = old if line.kind == "removed" else new
        assert side[line.number - 1] == line.text
    grown = sum(line.kind == "added" for line in found) - sum(line.kind == "removed" for line in found)
    assert grown == len(new) - len(old)
