"""Approval rules in a running host (reference §5.11, M6.8, K13, C24-C26, S21, S25, T14, T19)."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from innkeeper.contributions.session_input_needed.waiting import waiting
from innkeeper.host.approval import CommandRule, Inline, Tables
from innkeeper.host.approvals import Approving, inline
from innkeeper.host.settings import HostSettings
from innkeeper.mcp.gate import Call as GateCall
from innkeeper.mcp.gate import decide as gate
from innkeeper.mcp.settings import McpSettings
from innkeeper.ports.questions import APPROVED_BY_SETTING, Answer, Confirmation, Intent
from innkeeper.providers.spi import SessionOpening, TextDelta, ToolCompleted, ToolStarted, TurnOutput, TurnRequest
from scripted.fakes import FakeMcp, FakeServer
from scripted.paths import NamedPaths
from scripted.provider import ScriptedProvider, Session
from scripted.world import Client, World, call_of, text_of

pytestmark = pytest.mark.anyio

PATHS = NamedPaths(files=["/w/src/app.ts", "/w/a.py", "/etc/passwd", "/data/attachments/1/notes.md"])
DONE = {"success": True, "pastTenseMessage": "Done"}


class WantingProvider(ScriptedProvider):
    """`want TOOL {intent}` asks about a call of that tool; `late …` asks when the turn is over."""

    async def open_session(self, opening: SessionOpening) -> "WantingSession":
        self.opened.append(opening)
        return WantingSession(self, opening.session)


class WantingSession(Session):
    async def run_turn(self, request: TurnRequest, output: TurnOutput) -> None:
        word, _, rest = request.text.partition(" ")
        if word == "want":
            await self._want(output, rest, request)
        elif word == "late":
            output.emit(TextDelta("over", "t"))
            self.late.append(asyncio.create_task(self._later(output, rest)))
        elif word == "hang":
            self.late.append(asyncio.create_task(self._later(output, rest)))
            await asyncio.Event().wait()
        else:
            await super().run_turn(request, output)

    async def _want(self, output: TurnOutput, rest: str, request: TurnRequest) -> None:
        answer = await ask(output, rest, f"call-{request.turn_id}")
        if answer.approved:
            output.emit(ToolCompleted(f"call-{request.turn_id}", DONE))  # type: ignore[arg-type]
        output.emit(TextDelta(f"{answer.approved} {answer.option} {answer.message}", "t"))

    async def _later(self, output: TurnOutput, rest: str) -> None:
        await asyncio.sleep(0.05)
        self.late_answers.append(await ask(output, rest, "call-late"))


async def ask(output: TurnOutput, rest: str, call: str) -> Answer:
    tool, _, wanted = rest.partition(" ")
    intent = Intent(**json.loads(wanted)) if wanted else None
    output.emit(ToolStarted(call, tool, tool))
    return await output.confirm(call, Confirmation(f"{tool}?", f"Running {tool}", wanted or None, intent=intent))


def approving(**more: Any) -> Approving:
    more.setdefault("folder_of", lambda session: session.rpartition("/")[2])
    return Approving(paths=PATHS, home="/home/ada", attachment_area="/data/attachments", **more)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    started = await World(scripted=WantingProvider(), approving=approving()).start()
    yield started
    await started.close()


@pytest.fixture
async def client(world: World) -> Client:
    return await world.client()


def want(kind: str, tool: str = "tool", **more: Any) -> str:
    return f"want {tool} {json.dumps({'kind': kind, **more})}"


def shell(command: str, tool: str = "shell") -> str:
    return want("shell", tool, command=command, language="bash")


async def question(client: Client, chat: str, turn_id: str = "t1") -> Mapping[str, Any]:
    def asked(state: Mapping[str, Any]) -> bool:
        turn = state.get("activeTurn") or {}
        return turn.get("id") == turn_id and any(
            part.get("kind") == "toolCall" and part["toolCall"]["status"] == "pending-confirmation"
            for part in turn["responseParts"]
        )

    state = await client.state(chat, asked)
    return call_of(state["activeTurn"], f"call-{turn_id}")


def answer(client: Client, chat: str, option: str, turn_id: str = "t1") -> None:
    approved = option != "skip"
    more = {"confirmed": "user-action"} if approved else {"reason": "skipped"}
    client.dispatch(
        chat,
        "chat/toolCallConfirmed",
        turnId=turn_id,
        toolCallId=f"call-{turn_id}",
        approved=approved,
        selectedOptionId=option,
        **more,
    )


@pytest.mark.parametrize(
    ("wanted", "row"),
    [
        (want("write", paths=["/w/src/app.ts"]), "write"),
        (want("read", paths=["a.py"]), "read"),
        (shell("ls | wc -l"), "shell"),
        (want("read", paths=["/data/attachments/1/notes.md"]), "read"),
    ],
)
async def test_what_the_rules_approve_runs_and_says_why(world, client, wanted, row):
    """S21: nobody is asked; the call says by which row."""
    _, chat = await client.new_session()
    turn = await client.turn(chat, wanted)
    call = call_of(turn, "call-t1")
    assert text_of(turn).startswith("True allow-once")
    assert (call["status"], call["confirmed"]) == ("completed", "not-needed")
    assert call["_meta"]["x-innkeeper/approval"]["row"] == row
    assert call["_meta"]["x-innkeeper/approval"]["outcome"] == "approve"


async def test_what_the_rules_ask_about_offers_three_answers(world, client):
    """§5.11: allow in this session, allow once, skip; with why it is asked."""
    session, chat = await client.new_session()
    client.start_turn(chat, shell("ls && rm -rf /"))
    call = await question(client, chat)
    assert [(o["id"], o["kind"]) for o in call["options"]] == [
        ("allow-session", "approve"),
        ("allow-once", "approve"),
        ("skip", "deny"),
    ]
    assert call["_meta"]["x-innkeeper/approval"] == {
        "outcome": "ask",
        "row": "shell",
        "message": "approval.shell.refused",
        "values": {"command": "rm"},
    }
    await client.state(session, lambda s: s.get("inputNeeded"))
    answer(client, chat, "skip")
    turn = await client.ended(chat)
    assert text_of(turn).startswith("False skip")
    assert (call_of(turn, "call-t1")["status"], call_of(turn, "call-t1")["reason"]) == ("cancelled", "skipped")
    assert client.states[session]["config"]["values"]["permissions"]["allow"] == []


async def test_s25_allow_in_session_is_remembered_there_and_nowhere_else(world, client):
    """S25."""
    session, chat = await client.new_session()
    client.start_turn(chat, shell("make"))
    await question(client, chat)
    answer(client, chat, "allow-session")
    assert text_of(await client.ended(chat)).startswith("True allow-session")
    state = await client.state(session, lambda s: s["config"]["values"]["permissions"]["allow"])
    assert state["config"]["values"]["permissions"] == {"allow": ["shell"], "deny": []}
    turn = await client.turn(chat, shell("make install"), "t2")
    call = call_of(turn, "call-t2")
    assert (call["confirmed"], call["_meta"]["x-innkeeper/approval"]["row"]) == ("setting", "allowedTool")
    client.start_turn(chat, shell("make", tool="other"), "t3")
    assert (await question(client, chat, "t3"))["toolName"] == "other"
    answer(client, chat, "allow-once", "t3")
    await client.ended(chat, "t3")
    _, elsewhere = await client.new_session("ahp-session:/2")
    client.start_turn(elsewhere, shell("make"))
    assert (await question(client, elsewhere))["status"] == "pending-confirmation"
    world.check_mirrors(client)


async def test_allow_once_is_not_remembered(world, client):
    session, chat = await client.new_session()
    for turn_id in ("t1", "t2"):
        client.start_turn(chat, shell("make"), turn_id)
        await question(client, chat, turn_id)
        answer(client, chat, "allow-once", turn_id)
        await client.ended(chat, turn_id)
    assert client.states[session]["config"]["values"]["permissions"]["allow"] == []


@pytest.mark.parametrize(
    ("wanted", "config", "row"),
    [
        (want("shell", command="ls", language="bash", leaves_sandbox=True), {}, "sandbox"),
        (want("write", paths=["/w/a.py"], managed=True), {"permissions": {"allow": ["tool"]}}, "managedPolicy"),
        (want("write", paths=["/w/a.py"]), {"mode": "plan"}, "planMode"),
        (want("tool", leaves_sandbox=True), {"autoApprove": "autoApprove"}, "sandbox"),
    ],
)
async def test_a_rule_that_no_allow_reaches_offers_this_once_only(world, client, wanted, config, row):
    """§5.11: not for sandbox or managed."""
    _, chat = await client.new_session(config=config)
    client.start_turn(chat, wanted)
    call = await question(client, chat)
    assert [o["id"] for o in call["options"]] == ["allow-once", "skip"]
    assert call["_meta"]["x-innkeeper/approval"]["row"] == row


async def test_t19_a_tool_cannot_write_what_was_attached_whatever_is_allowed(client):
    """T19: a hard deny, with the reason for the agent."""
    _, chat = await client.new_session(config={"autoApprove": "autoApprove"})
    turn = await client.turn(chat, want("write", paths=["/data/attachments/1/notes.md"]))
    assert text_of(turn).startswith("False None It would write")
    call = call_of(turn, "call-t1")
    assert (call["status"], call["reason"]) == ("cancelled", "denied")
    assert call["_meta"]["x-innkeeper/approval"]["row"] == "attachmentArea"


async def test_what_was_attached_in_another_session_is_asked_about(client):
    """§5.11 row 8: of its own attachments."""
    _, chat = await client.new_session("ahp-session:/2")
    client.start_turn(chat, want("read", paths=["/data/attachments/1/notes.md"]))
    call = await question(client, chat)
    assert call["_meta"]["x-innkeeper/approval"]["row"] == "read"


async def test_a_file_that_was_attached_may_be_read(client):
    """§5.11 row 8."""
    _, chat = await client.new_session()
    attached = [{"type": "resource", "label": "passwd", "uri": "file:///etc/passwd"}]
    message = {"text": want("read", paths=["/etc/passwd"]), "origin": {"kind": "user"}, "attachments": attached}
    client.dispatch(chat, "chat/turnStarted", turnId="t1", startedAt="2026-01-01T00:00:00.000Z", message=message)
    assert text_of(await client.ended(chat)).startswith("True")


@pytest.mark.parametrize(
    ("rest", "config", "expected"),
    [
        ("tool", {}, (False, "no-conversation")),
        ('tool {"kind": "read", "paths": ["/w/a.py"]}', {}, (True, "user")),
        ('tool {"kind": "read", "paths": ["/etc/passwd"]}', {}, (False, "no-conversation")),
        ("tool", {"autoApprove": "autoApprove"}, (True, "user")),
        ('tool {"kind": "tool", "tool": "named"}', {"permissions": {"allow": ["named"]}}, (True, "user")),
    ],
)
async def test_t14_without_a_turn_the_rules_answer_at_once(world, client, rest, config, expected):
    """T14: approved by a rule, else denied; the agent never waits."""
    _, chat = await client.new_session(config=config)
    turn = await client.turn(chat, f"late {rest}")
    session = world.service._backings.peek("ahp-session:/1")
    await asyncio.wait(session.late, timeout=5)
    assert [(a.approved, a.reason) for a in session.late_answers] == [expected]
    assert client.states[chat]["turns"][0] == turn


async def test_a_confirmation_of_a_cancelled_turn_is_denied(world, client):
    """§5.11: whatever the rules say."""
    _, chat = await client.new_session(config={"autoApprove": "autoApprove"})
    client.start_turn(chat, "hang tool")
    await client.state(chat, lambda s: s.get("activeTurn"))
    session = None
    async with asyncio.timeout(5):
        while session is None or not session.late:
            await asyncio.sleep(0.005)
            session = world.service._backings.peek("ahp-session:/1")
    client.dispatch(chat, "chat/turnCancelled", turnId="t1", duration=1)
    await client.ended(chat)
    await asyncio.wait(session.late, timeout=5)
    assert [(a.approved, a.reason) for a in session.late_answers] == [(False, "cancelled")]


@pytest.mark.parametrize(
    ("wanted", "approved"),
    [
        (shell("ls && git status"), True),
        (want("read", paths=["/w/a.py"]), True),
        (shell("echo x > notes.md"), False),
        (want("write", paths=["/w/a.py"]), False),
        (shell("make"), False),
    ],
)
async def test_in_plan_mode_only_what_looks_is_approved(client, wanted, approved):
    """The session's mode takes effect."""
    _, chat = await client.new_session(config={"mode": "plan", "permissions": {"allow": ["shell", "tool"]}})
    client.start_turn(chat, wanted)
    if approved:
        assert text_of(await client.ended(chat)).startswith("True")
    else:
        assert (await question(client, chat))["_meta"]["x-innkeeper/approval"]["row"] == "planMode"


async def test_in_autopilot_an_agents_question_is_answered_by_itself_and_shown(world, client):
    session, chat = await client.new_session(config={"mode": "autopilot"})
    turn = await client.turn(chat, "question")
    assert text_of(turn) == "decline None"
    part = turn["responseParts"][0]
    assert (part["kind"], part["response"]) == ("inputRequest", "decline")
    assert "inputNeeded" not in client.states[session]
    world.check_mirrors(client)


async def test_autopilot_approves_no_call(client):
    """M6.3b: it is no full access."""
    _, chat = await client.new_session(config={"autoApprove": "autopilot"})
    client.start_turn(chat, shell("make"))
    assert (await question(client, chat))["status"] == "pending-confirmation"


async def test_a_changed_configuration_counts_from_the_next_call(client):
    session, chat = await client.new_session()
    client.dispatch(session, "session/configChanged", config={"mode": "plan"})
    await client.state(session, lambda s: s["config"]["values"]["mode"] == "plan")
    client.start_turn(chat, want("write", paths=["/w/a.py"]))
    assert (await question(client, chat))["_meta"]["x-innkeeper/approval"]["row"] == "planMode"


async def test_the_directories_of_the_chat_count_where_it_has_its_own():
    """§5.11: of the chat, else of the session."""
    provider = WantingProvider(directories=True)
    world = await World(scripted=provider, approving=approving()).start()
    client = await world.client()
    session, chat = await client.new_session(workingDirectories=["file:///w", "file:///second"])
    other = "ahp-chat:/other"
    await client.request("createChat", session, chat=other, workingDirectories=["file:///w"])
    await client.subscribe(other)
    assert text_of(await client.turn(chat, want("read", paths=["/second/x"]))).startswith("True")
    client.start_turn(other, want("read", paths=["/second/x"]), "t2")
    assert (await question(client, other, "t2"))["_meta"]["x-innkeeper/approval"]["message"] == "approval.path.outside"
    await world.close()


@pytest.mark.parametrize(
    ("meta", "found"),
    [
        ({}, None),
        ({"x-innkeeper/surface": {"kind": "terminal"}}, None),
        ({"x-innkeeper/surface": "editorInline"}, None),
        ({"x-innkeeper/surface": {"kind": "editorInline"}}, Inline(None)),
        ({"x-innkeeper/surface": {"kind": "editorInline", "target": "file:///w/a%20b"}}, Inline("/w/a b")),
        ({"x-innkeeper/surface": {"kind": "editorInline", "target": "untitled:1"}}, Inline(None)),
    ],
)
async def test_an_inline_chat_is_known_by_the_sessions_surface(meta, found):
    """§5.11 row 7."""
    assert inline({"_meta": meta}) == found


# -- tools of clients --------------------------------------------------------------------------------------------------


async def test_a_clients_tool_that_the_configuration_approves_is_marked_and_waits_for_nobody(world):
    """C25: the client goes ahead; C24: no confirmation entry ever appears."""
    client = await world.client("alice")
    joined = {"clientId": "alice", "tools": [{"name": "pick"}]}
    session, chat = await client.new_session(activeClient=joined, config={"permissions": {"allow": ["pick"]}})
    client.start_turn(chat, "client-tool-ask alice")
    state = await client.state(session, lambda s: s.get("inputNeeded"))
    assert [entry["kind"] for entry in state["inputNeeded"]] == ["toolClientExecution"]
    call = call_of(client.states[chat]["activeTurn"])
    assert call["_meta"][APPROVED_BY_SETTING] is True and call["confirmed"] == "setting"
    client.dispatch(
        chat, "chat/toolCallComplete", turnId="t1", toolCallId="call-1", result=DONE, requiresResultConfirmation=True
    )
    state = await client.state(
        session, lambda s: [e["kind"] for e in s.get("inputNeeded") or ()] == ["toolConfirmation"]
    )
    assert state["inputNeeded"][0]["toolCall"]["status"] == "pending-result-confirmation"
    client.dispatch(chat, "chat/toolCallResultConfirmed", turnId="t1", toolCallId="call-1", approved=True)
    assert text_of(await client.ended(chat)) == "success True"
    kinds = [e["action"]["request"]["kind"] for e in client.actions(session, "session/inputNeededSet")]
    assert kinds.count("toolConfirmation") == 1


@pytest.mark.parametrize(
    ("status", "marked", "entry"),
    [
        ("pending-confirmation", False, True),
        ("pending-confirmation", True, False),
        ("pending-result-confirmation", True, True),
        ("pending-result-confirmation", False, True),
    ],
)
async def test_a_marked_call_has_an_entry_only_for_its_result(status, marked, entry):
    """C24, C25, C26."""
    call = {"toolCallId": "c", "status": status, "_meta": {APPROVED_BY_SETTING: True} if marked else {}}
    chat = {"activeTurn": {"id": "t", "responseParts": [{"kind": "toolCall", "toolCall": call}]}}
    assert bool(waiting("ahp-chat:/1", chat)) is entry


# -- servers of the project --------------------------------------------------------------------------------------------


TOOL = "mcp__memo__echo"


@pytest.mark.parametrize(
    ("config", "denied", "messages", "outcome"),
    [
        ({}, None, [], "ask"),
        ({"permissions": {"allow": [TOOL]}}, None, [], "ask"),
        ({"permissions": {"deny": [TOOL]}}, "session", [], "deny"),
        ({"mode": "plan"}, None, ["approval.planMode"], "ask"),
        ({"mode": "plan", "autoApprove": "autoApprove"}, None, [], "allow"),
        ({"autoApprove": "autoApprove", "permissions": {"deny": [TOOL]}}, "session", [], "deny"),
    ],
)
async def test_the_gate_hears_the_rules(world, client, config, denied, messages, outcome):
    """M6.8: deny rules first; an allow cancels nobody's ask; rules that ask on purpose are listed; full access."""
    session, _ = await client.new_session(config=config)
    rules = world.conversation.rules(session, TOOL)
    assert rules.denied_by == denied
    assert [why.message for why in rules.asks] == messages
    call = GateCall("/w", TOOL, "f", rules=rules, full_access=world.conversation.full_access(session))
    assert gate(call, McpSettings(), ()).outcome == outcome


async def test_a_trusted_workspace_does_not_cancel_what_a_rule_asks(world, client):
    """M6.8: an allow of one never cancels another's ask."""
    session, _ = await client.new_session(config={"mode": "plan"})
    call = GateCall("/w", TOOL, "f", rules=world.conversation.rules(session, TOOL))
    decision = gate(call, McpSettings(trust_mode="all"), ())
    assert (decision.outcome, decision.why) == ("ask", "askingRule")
    assert [why.message for why in decision.also] == ["approval.planMode"]


async def test_a_call_of_a_project_server_is_left_to_the_gate_but_a_deny_counts():
    """M6.8: the person is asked once."""
    mcp = FakeMcp(declared={"memo": FakeServer("memo", gated=True)})
    world = await World(mcp=mcp, approving=approving()).start()
    client = await world.client("alice")
    session, chat = await client.new_session(provider="console", config={"permissions": {"deny": ["echo"]}})
    await client.state(session, lambda s: s.get("customizations"))
    approvals = world.conversation.approvals
    call = {"contributor": {"kind": "mcp", "customizationId": "memo"}}
    assert approvals._is_gated(chat, call) is True
    assert approvals._is_gated(chat, {"contributor": {"kind": "mcp", "customizationId": "other"}}) is False
    assert approvals._is_gated(chat, {}) is False
    await world.close()


# -- chats with their own configuration --------------------------------------------------------------------------------


async def test_a_chats_own_values_count_before_its_sessions(world, client):
    """K15, §5.6: the nearest layer; denials of all."""
    session, chat = await client.new_session(config={"autoApprove": "autoApprove", "permissions": {"deny": ["t"]}})
    approvals = world.conversation.approvals
    assert (approvals.full_access(session), approvals.full_access(chat)) == (True, True)
    await client.request("x-innkeeper/chat/configure", chat, values={"autoApprove": "default", "mode": "plan"})
    assert (approvals.full_access(session), approvals.full_access(chat)) == (True, False)
    assert (approvals.mode(session), approvals.mode(chat)) == ("interactive", "plan")
    assert approvals.rules(chat, "t").denied_by == "session"
    assert [why.message for why in approvals.rules(chat, TOOL).asks] == ["approval.planMode"]
    client.start_turn(chat, want("write", paths=["/w/a.py"]))
    assert (await question(client, chat))["_meta"]["x-innkeeper/approval"]["row"] == "planMode"


async def test_a_subagent_works_under_the_values_of_the_chat_that_spawned_it(world, client):
    """M6.3b: a parent's value counts for its children."""
    _, chat = await client.new_session()
    await client.request("x-innkeeper/chat/configure", chat, values={"mode": "plan"})
    client.start_turn(chat, "subagent-wait")
    state = await client.state("ahp-session:/1", lambda s: len(s["chats"]) > 1)
    worker = next(one["resource"] for one in state["chats"] if one["resource"] != chat)
    assert world.conversation.approvals.mode(worker) == "plan"


# -- what the operator says --------------------------------------------------------------------------------------------


async def hosted(settings: HostSettings | None = None, **more: Any) -> tuple[World, Client]:
    world = await World(
        scripted=WantingProvider(),
        approving=approving(**more),
        settings=settings or HostSettings(summary_delay=0.001),
    ).start()
    return world, await world.client()


@pytest.mark.parametrize(
    ("more", "wanted", "row"),
    [
        ({"tables": Tables(commands=(CommandRule("make", True),))}, shell("make test"), "shell"),
        ({"values": {"permissions": {"allow": ["shell"]}}}, shell("make"), "allowedTool"),
        ({"values": {"permissions": {"deny": ["shell"]}}}, shell("ls"), "deniedTool"),
        ({"managed": frozenset({"shell"})}, shell("ls"), "managedPolicy"),
        ({"tables": Tables(shell=False)}, shell("ls"), "shell"),
    ],
)
async def test_the_hosts_own_layer_and_rules_count(more, wanted, row):
    """§5.6, §5.11."""
    world, client = await hosted(**more)
    _, chat = await client.new_session()
    client.start_turn(chat, wanted)
    state = await client.state(
        chat,
        lambda s: any(
            p["kind"] == "toolCall" and "x-innkeeper/approval" in (p["toolCall"].get("_meta") or {})
            for turn in (*s["turns"], *([s["activeTurn"]] if s.get("activeTurn") else []))
            for p in turn["responseParts"]
        ),
    )
    turn = state.get("activeTurn") or state["turns"][-1]
    assert call_of(turn, "call-t1")["_meta"]["x-innkeeper/approval"]["row"] == row
    await world.close()


async def test_a_layer_that_cannot_be_used_is_warned_about_once(caplog):
    """§5.6."""
    world, client = await hosted(values={"permissions": {"allow": "shell"}})
    _, chat = await client.new_session()
    for turn_id in ("t1", "t2"):
        await client.turn(chat, want("read", paths=["/w/a.py"]), turn_id)
    (record,) = [record for record in caplog.records if "passed over" in record.getMessage()]
    assert "host: permissions.allow takes a list of tool names" in record.getMessage()
    await world.close()


async def test_a_host_without_facts_about_paths_asks():
    """Fail closed."""
    world = await World(scripted=WantingProvider()).start()
    client = await world.client()
    _, chat = await client.new_session()
    client.start_turn(chat, want("read", paths=["/w/a.py"]))
    assert (await question(client, chat))["_meta"]["x-innkeeper/approval"]["message"] == "approval.path.failed"
    await world.close()
