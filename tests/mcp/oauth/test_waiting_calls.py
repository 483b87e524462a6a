"""A tool call that needs a token in mid-turn waits in its conversation (AHP §9.2, §10.2; M7.5)."""

import asyncio
from typing import Any

import pytest

from harness.token_rig import SESSION, Rig, shown
from scripted.world import Client, RpcFailure

pytestmark = pytest.mark.anyio

WRITE = '/call web write {"text": "x"}'


async def connected(rig: Rig, *names: str) -> tuple[str, list[Client]]:
    """Clients in one session whose server is connected with a token that may only read."""
    clients = [await rig.client(name) for name in names or ("alice",)]
    chat = await rig.opened(clients[0])
    for other in clients[1:]:
        await other.subscribe(SESSION)
        await other.subscribe(chat)
    await rig.connect(clients[0])
    await rig.authenticate(clients[0], rig.issued("read"), scopes=["read"])
    for client in clients:
        await rig.settled(client, SESSION, "ready")
    await rig.followed(clients[0])
    return chat, clients


async def waiting(client: Client) -> Any:
    """The entry of the session's list once a call waits for a token."""
    state = await client.state(
        SESSION, lambda s: [e for e in s.get("inputNeeded") or () if e["kind"] == "toolAuthentication"]
    )
    return next(e for e in state["inputNeeded"] if e["kind"] == "toolAuthentication")


def call_in(turn: Any) -> Any:
    return next(part["toolCall"] for part in turn["responseParts"] if part["kind"] == "toolCall")


async def test_call_that_lacks_a_scope_waits_and_goes_on_with_a_better_token(rig: Rig) -> None:
    """403 `insufficient_scope`: the call waits, the server stays ready, and the tool runs once."""
    chat, (alice, bob) = await connected(rig, "alice", "bob")
    alice.start_turn(chat, WRITE)
    for client in (alice, bob):
        entry = await waiting(client)
        auth = entry["toolCall"]["auth"]
        assert entry["toolCall"]["status"] == "auth-required"
        assert (auth["reason"], auth["requiredScopes"]) == ("insufficientScope", ["write"])
        assert auth["resource"]["resource"] == rig.server.url
        assert "write" in auth["description"]
        assert shown(client.states[SESSION]) == {"kind": "ready"}
    assert rig.server.calls == []
    assert await rig.authenticate(bob, rig.issued("read", "write"), scopes=["read", "write"]) == {}
    turn = await alice.ended(chat)
    call = call_in(turn)
    assert (call["status"], call["success"]) == ("completed", True)
    assert call["content"] == [{"type": "text", "text": "written x"}]
    assert rig.server.calls == ["write"], "the tool ran once"
    sent = [status for method, status in rig.server.posts if method == "tools/call"]
    assert sent == [403, 200], "the refused request was sent again, and nothing else"
    types = [e["action"]["type"] for e in alice.actions(chat)]
    assert types.index("chat/toolCallAuthRequired") < types.index("chat/toolCallAuthResolved")
    assert not alice.states[SESSION].get("inputNeeded")


async def test_token_that_still_lacks_the_scope_leaves_the_call_waiting(rig: Rig) -> None:
    chat, (alice,) = await connected(rig)
    alice.start_turn(chat, WRITE)
    await waiting(alice)
    with pytest.raises(RpcFailure) as refused:
        await rig.authenticate(alice, rig.issued("read"))
    assert refused.value.code == -32007
    again = await alice.request("x-innkeeper/mcp/call", SESSION, server="web", tool="read", arguments={"text": "x"})
    assert again["success"], "what it may do, it still does"
    await alice.action(chat, "chat/toolCallAuthRequired", 2)
    assert await rig.authenticate(alice, rig.issued("read", "write")) == {}
    assert call_in(await alice.ended(chat))["success"]
    assert rig.server.calls == ["read", "write"]


async def test_token_that_ended_in_mid_turn_is_asked_for_as_expired(rig: Rig) -> None:
    """401 with a token that was taken before: `expired`; the connection lives on."""
    chat, (alice,) = await connected(rig)
    rig.authorization.end_all()
    alice.start_turn(chat, WRITE)
    entry = await waiting(alice)
    assert entry["toolCall"]["auth"]["reason"] == "expired"
    assert alice.notices("auth/required")[-1]["reason"] == "expired"
    await rig.authenticate(alice, rig.issued("read", "write"))
    assert call_in(await alice.ended(chat))["success"]
    assert rig.server.calls == ["write"]


async def test_client_fails_a_call_that_waits(rig: Rig) -> None:
    """AHP §9.2: from `auth-required` only a failed completion is possible."""
    chat, (alice, bob) = await connected(rig, "alice", "bob")
    alice.start_turn(chat, WRITE)
    entry = await waiting(bob)
    result = {"success": False, "pastTenseMessage": "No token", "error": {"message": "not today"}}
    bob.dispatch(chat, "chat/toolCallComplete", turnId="t1", toolCallId=entry["toolCall"]["toolCallId"], result=result)
    call = call_in(await alice.ended(chat))
    assert (call["status"], call["success"]) == ("completed", False)
    assert call["error"]["message"] == "not today"
    assert rig.server.calls == []
    assert not alice.states[SESSION].get("inputNeeded")


async def test_cancelled_turn_ends_the_wait(rig: Rig) -> None:
    chat, (alice,) = await connected(rig)
    alice.start_turn(chat, WRITE)
    await waiting(alice)
    alice.dispatch(chat, "chat/turnCancelled", turnId="t1", duration=1)
    await alice.ended(chat)
    await alice.state(SESSION, lambda s: not s.get("inputNeeded"))
    assert (await alice.turn(chat, '/call web read {"text": "y"}', "t2"))["state"] == "complete"
    assert rig.server.calls == ["read"]


async def test_call_that_nobody_helps_fails_in_time(rig: Rig) -> None:
    """M6.4b: no call hangs."""
    await rig.stop()
    rig.settings = type(rig.settings)(access="full", gate_timeout=0.3)
    await rig.start()
    chat, (alice,) = await connected(rig)
    alice.start_turn(chat, WRITE)
    call = call_in(await alice.ended(chat))
    assert (call["success"], call["error"]["code"]) == (False, "AUTH_REQUIRED")
    assert rig.server.calls == []


async def test_person_who_calls_by_hand_is_told_at_once(rig: Rig) -> None:
    """There is no conversation to wait in."""
    _, (alice,) = await connected(rig)
    result = await alice.request("x-innkeeper/mcp/call", SESSION, server="web", tool="write", arguments={"text": "x"})
    assert (result["success"], result["error"]["code"]) == (False, "AUTH_REQUIRED")
    assert shown(alice.states[SESSION]) == {"kind": "ready"}


async def test_two_calls_that_wait_go_on_with_one_token(rig: Rig) -> None:
    """In two sessions, of two clients."""
    chat, (alice, bob) = await connected(rig, "alice", "bob")
    other = await rig.opened(bob, "ahp-session:/2")
    await rig.connect(bob, "ahp-session:/2")
    alice.start_turn(chat, WRITE)
    bob.start_turn(other, WRITE)
    await waiting(alice)
    await bob.state("ahp-session:/2", lambda s: s.get("inputNeeded"))
    await rig.authenticate(alice, rig.issued("read", "write"))
    ended = await asyncio.gather(alice.ended(chat), bob.ended(other))
    assert [call_in(turn)["success"] for turn in ended] == [True, True]
    assert rig.server.calls == ["write", "write"]


async def test_refused_request_of_the_host_does_not_end_a_call_that_waits(rig: Rig) -> None:
    """A list that is refused meanwhile leaves the connection to the call."""
    chat, (alice,) = await connected(rig)
    rig.authorization.end_all()
    alice.start_turn(chat, WRITE)
    await waiting(alice)
    access = rig.access()
    connection = rig.connection()
    connection._list_changed("tools")
    await rig.until(lambda: ("tools/list", 401) in rig.server.posts)
    assert not access.ends_connection()
    assert shown(alice.states[SESSION]) == {"kind": "ready"}
    await rig.authenticate(alice, rig.issued("read", "write"))
    assert call_in(await alice.ended(chat))["success"]
    assert rig.server.calls == ["write"] and access.ends_connection()
