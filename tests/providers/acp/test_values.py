"""What an agent says by ACP, as values: whose call it is, which option is chosen, what a prompt is made of."""

import base64
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.providers.acp import provider
from innkeeper.providers.acp.choosing import Offered, Step
from innkeeper.providers.acp.content import prompt_of
from innkeeper.providers.acp.known import Known, learnt, load, store
from innkeeper.providers.acp.permissions import ALLOW, REJECT, _option, intent_of
from innkeeper.providers.acp.profiles import KNOWN, UNKNOWN, found, version_of
from innkeeper.providers.acp.updates import Call, Server, Updates, tool_of
from innkeeper.providers.spi import Surroundings, ToolCompleted, ToolStarted

MEMO = Server("memo", "id-1", frozenset({"echo", "add"}))
WORDS = st.text(st.characters(codec="utf-8"), max_size=20)
UPDATES = st.fixed_dictionaries(
    {"sessionUpdate": st.sampled_from(["tool_call", "tool_call_update"]), "toolCallId": st.sampled_from(["a", "b"])},
    optional={
        "status": st.sampled_from(["pending", "in_progress", "completed", "failed"]),
        "title": WORDS,
        "kind": st.sampled_from(["other", "execute", "edit"]),
        "rawInput": st.dictionaries(WORDS, WORDS, max_size=2),
        "content": st.lists(
            st.fixed_dictionaries(
                {"type": st.just("content"), "content": st.fixed_dictionaries({"type": st.just("text"), "text": WORDS})}
            ),
            max_size=2,
        ),
    },
)


@given(st.lists(UPDATES, max_size=12))
def test_each_call_is_started_once_and_completed_at_most_once(updates: list[dict[str, Any]]) -> None:
    signals: list[Any] = []
    taken = Updates(signals.append, "t", (MEMO,))
    for update in updates:
        taken.take(update)
    for kind in (ToolStarted, ToolCompleted):
        calls = [signal.call for signal in signals if isinstance(signal, kind)]
        assert len(calls) == len(set(calls))


@pytest.mark.parametrize(
    "update",
    [
        {"title": "mcp__memo__echo", "kind": "other"},
        {"title": "memo_echo"},
        {"title": "Tool: memo/echo"},
        {"title": "echo (memo MCP Server)"},
        {"title": "x", "_meta": {"claudeCode": {"toolName": "mcp__memo__echo"}}},
        {"title": "x", "rawInput": {"server": "memo", "tool": "echo", "arguments": {}}},
    ],
)
def test_a_tool_of_a_server_is_known_by_what_the_agent_says(update: dict[str, Any]) -> None:
    assert tool_of(update, (MEMO,)) == (MEMO, "echo")


@pytest.mark.parametrize(
    "update",
    [
        {"title": "mcp__memo__echo", "kind": "execute"},
        {"title": "mcp__memo__echo; rm -rf /", "kind": "other"},
        {"title": "mcp__memo__drop", "kind": "other"},
        {"title": "echo", "kind": "other"},
        {"title": "x", "rawInput": {"server": "other", "tool": "echo"}},
    ],
)
def test_nothing_else_passes_for_one_so_it_is_asked_about(update: dict[str, Any]) -> None:
    """M6.8: only a call that is certainly one of the host's is answered without asking."""
    assert tool_of(update, (MEMO,)) is None


def test_an_option_is_chosen_by_its_kind_and_never_for_good() -> None:
    """The trap: some agents put *always* first."""
    options = [{"optionId": "1", "kind": "allow_always"}, {"optionId": "2", "kind": "allow_once"}]
    assert _option(options, ALLOW) == "2" and _option(options[:1], ALLOW) is None
    assert _option(options, REJECT) is None
    assert _option([{"optionId": "3", "kind": "reject_always"}], REJECT) == "3"


def test_what_a_call_wants_is_said_only_where_it_is_known() -> None:
    shell = Call("c", "execute", input={"command": ["/bin/bash", "-lc", "ls"]})
    wanted = intent_of(shell, "/w")
    assert wanted is not None and (wanted.kind, wanted.command, wanted.directory) == ("shell", "ls", "/w")
    assert intent_of(Call("c", "execute", input={"command": ["a", "b"]}), "/w") is None
    assert intent_of(Call("c", "edit"), "/w") is None
    assert intent_of(Call("c", server="memo", name="mcp__memo__echo"), "/w").tool == "mcp__memo__echo"  # type: ignore[union-attr]


def test_agents_are_found_on_the_path_and_the_operators_comes_first(tmp_path: Path) -> None:
    for name in ("gemini", "mine"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    path = {"PATH": str(tmp_path)}
    assert [one.name for one in found(None, path)] == ["gemini"]
    assert [one.name for one in found(str(tmp_path / "mine"), path)] == [UNKNOWN.name, "gemini"]
    assert found(None, {"PATH": "/nowhere"}) == (UNKNOWN,)
    assert len({one.name for one in KNOWN}) == len(KNOWN)


def test_a_prompt_holds_what_the_agent_takes() -> None:
    picture = {"type": "embeddedResource", "label": "p", "contentType": "image/png", "data": "aGk="}
    letters = {**picture, "label": "l.txt", "contentType": "text/plain", "data": base64.b64encode(b"LETTERS").decode()}
    file = {"type": "resource", "label": "f", "uri": "file:///w/f"}
    message: Any = {"text": "hi", "origin": {"kind": "user"}, "attachments": [picture, letters, file]}
    kinds = [part["type"] for part in prompt_of("hi", message, pictures=True, embedded=True)]
    assert kinds == ["text", "image", "resource", "resource_link"]
    plain = prompt_of("hi", message, pictures=False, embedded=False)
    assert [part["type"] for part in plain] == ["text", "text", "text", "resource_link"]
    assert "LETTERS" in plain[2]["text"]


def test_what_an_agent_offers_is_kept_for_the_next_time(tmp_path: Path) -> None:
    options = {
        "configOptions": [
            {"category": "model", "options": [{"options": [{"value": "m", "name": "M"}]}]},
            {"category": "mode", "options": [{"value": "plan", "name": "Plan"}]},
        ]
    }
    known = learnt(options, "1.0", Known())
    assert known == Known((("m", "M"),), (("plan", "Plan"),), "1.0")
    assert learnt({}, None, known) == known, "what it does not say stays"
    store(tmp_path / "new", known)
    assert load(tmp_path / "new") == known and load(tmp_path) == Known()
    (tmp_path / "known.json").write_text("[1")
    assert load(tmp_path) == Known()


MODES = {"modes": {"currentModeId": "ask", "availableModes": [{"id": "ask"}, {"id": "https://x/modes#plan"}]}}
OPTIONS = {
    "configOptions": [
        {"id": "m", "category": "model", "currentValue": "a", "options": [{"value": "a"}, {"value": "b"}]},
        {"id": "o", "category": "mode", "currentValue": "plan", "options": [{"value": "plan"}, {"value": "act"}]},
    ]
}


def test_a_mode_is_set_where_it_is_offered_and_left_for_what_the_session_began_with() -> None:
    chosen = Offered(MODES)
    assert chosen.step("mode", None) is None and chosen.step("mode", "yolo") is None
    assert chosen.step("mode", "plan") == Step(None, "https://x/modes#plan")
    chosen.was_set("mode", "https://x/modes#plan")
    assert chosen.step("mode", "plan") is None and chosen.step("mode", None) == Step(None, "ask")
    chosen.heard({"sessionUpdate": "current_mode_update", "currentModeId": "ask"})
    assert chosen.step("mode", None) is None, "the agent has left it by itself"
    assert Offered({}).step("mode", "plan") is None and Offered({}).plan is None


def test_an_option_is_set_by_its_own_id_and_a_session_that_is_taken_up_in_plan_mode_began_elsewhere() -> None:
    chosen = Offered({**MODES, **OPTIONS})
    assert chosen.step("mode", None) == Step("o", "act") and chosen.step("mode", "plan") is None
    assert chosen.step("model", "b") == Step("m", "b") and chosen.step("model", None) is None
    changed = {"sessionUpdate": "config_option_update", "configOptions": [{"category": "model", "currentValue": "b"}]}
    chosen.heard(changed)
    assert chosen.step("model", "b") is None and chosen.step("model", None) == Step("m", "a")
    assert Offered(OPTIONS, "act").step("mode", None) == Step("o", "act"), "the agent's first mode is not wanted"


def test_the_version_of_an_agent_is_known_before_it_runs_where_npm_says_it(tmp_path: Path) -> None:
    """M7.8: `innkeeper doctor` starts nothing."""
    package = tmp_path / "node_modules" / "agent"
    (package / "dist").mkdir(parents=True)
    (package / "dist" / "index.js").write_text("")
    (tmp_path / "node_modules" / "package.json").write_text('{"version": "9"}')
    program = tmp_path / "agent"
    program.symlink_to(package / "dist" / "index.js")
    assert version_of(os.fspath(program)) is None, "a package without a program is another one"
    (package / "package.json").write_text('{"version": "1.2.3", "bin": {"agent": "dist/index.js"}}')
    assert version_of(os.fspath(program)) == "1.2.3" and version_of("") is None


def test_a_person_is_told_to_sign_in_where_the_agent_looks() -> None:
    """Issue 6 §5: a login in the person's own folder is of no use to an agent that has one of the host's."""
    adapter = next(one for one in KNOWN if one.name == "claude-acp")
    told = adapter.signing_in(Path("/a b"), share_login=False)
    assert told == "CLAUDE_CONFIG_DIR='/a b/claude' claude auth login"
    assert adapter.signing_in(Path("/a b"), share_login=True) == "claude auth login"
    assert UNKNOWN.signing_in(Path("/a b"), share_login=False) == ""


def test_without_any_agent_one_is_listed_that_says_how_to_get_one(tmp_path: Path) -> None:
    """Issue 6 §5: never by its absence."""
    nothing: Any = None
    given = Surroundings(
        gateway=nothing,
        endpoints=nothing,
        processes=nothing,
        clock=nothing,
        ids=nothing,
        environment={"PATH": "/nowhere"},
        directory=tmp_path,
    )
    (one,) = provider(given)
    missing = one.unavailable
    assert missing is not None and missing.code == "AGENT_BINARY_MISSING" and missing.remedy.startswith("npm install")
    (tmp_path / "opencode").write_text("#!/bin/sh\n")
    (tmp_path / "opencode").chmod(0o755)
    (two,) = provider(replace(given, environment={"PATH": str(tmp_path)}))
    assert two.unavailable is None and two.info["provider"] == "opencode"
    assert [model["id"] for model in two.info["models"]] == ["default"], "nothing is made up"
