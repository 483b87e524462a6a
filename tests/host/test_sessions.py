import asyncio

import pytest

from innkeeper.ports.questions import Rules
from innkeeper.protocol.chat.state import ChatState
from innkeeper.protocol.check import check
from innkeeper.protocol.root.commands import ListSessionsResult, ResolveSessionConfigResult
from innkeeper.protocol.root.state import RootState
from innkeeper.protocol.session.state import SessionState, SessionSummary
from innkeeper.providers.spi import ProviderError
from scripted.world import ROOT, RpcFailure, World, plain

pytestmark = pytest.mark.anyio


async def refused(request):
    with pytest.raises(RpcFailure) as caught:
        await request
    return caught.value


async def test_a_new_session_has_its_default_chat_and_both_can_be_subscribed_to(world, client):
    """AHP §13.4: chats[0] and defaultChat exist from creation on."""
    session, chat = await client.new_session()
    state = client.states[session]
    assert [c["resource"] for c in state["chats"]] == [chat] and state["defaultChat"] == chat
    assert state["activeClients"] == [] and state["workingDirectories"] == ["file:///w"]
    check(SessionState, plain(state), "session")
    check(ChatState, plain(client.states[chat]), "chat")


@pytest.mark.parametrize("uri", ["ahp-session:/x", "scripted:/x", "urn:uuid:1", "agenthost:/a/b?c#d"])
async def test_any_scheme_names_a_session(world, client, uri):
    """AHP §3: URIs are opaque."""
    session, _ = await client.new_session(uri)
    assert client.states[session]["lifecycle"] == "ready"


@pytest.mark.parametrize(
    ("params", "code", "words"),
    [
        ({"channel": "not a uri"}, -32602, "URI"),
        ({"channel": ROOT}, -32602, "URI"),
        ({"provider": "nope"}, -32002, "scripted"),
        ({"activeClient": {"clientId": "somebody-else", "tools": []}}, -32602, "activeClient.clientId"),
        ({"config": {"mode": "wild"}}, -32602, "config.mode"),
        ({"config": {"permissions": {"allow": [1]}}}, -32602, "config.permissions.allow[0]"),
        ({"workingDirectories": ["vscode-remote://x/y"]}, -32602, "not on this machine"),
        ({"workingDirectories": "file:///w"}, -32602, "workingDirectories"),
    ],
)
async def test_a_session_that_cannot_be_created_is_refused_with_a_reason(world, client, params, code, words):
    """AHP §4."""
    error = await refused(client.request("createSession", **{"channel": "ahp-session:/x", **params}))
    assert error.code == code and words in error.message
    assert (await client.request("listSessions"))["items"] == []


async def test_a_uri_is_taken_once(world, client):
    """AHP §4: -32003."""
    await client.new_session()
    error = await refused(client.request("createSession", "ahp-session:/1"))
    assert error.code == -32003


async def test_two_clients_that_race_for_a_uri_get_one_session(world, client):
    other = await world.client("bob")
    results = await asyncio.gather(
        client.request("createSession", "ahp-session:/x"),
        other.request("createSession", "ahp-session:/x"),
        return_exceptions=True,
    )
    assert sorted(getattr(r, "code", None) or 0 for r in results) == [-32003, 0]


async def test_a_client_may_leave_out_agent_and_directories(world, client):
    """real clients: the Copilot TUI sends config only."""
    await client.request("createSession", "ahp-session:/x", config={"mode": "interactive"})
    state = await client.subscribe("ahp-session:/x")
    assert state["provider"] == "scripted" and "workingDirectories" not in state


async def test_a_client_from_before_0_7_names_one_directory(world, client):
    """AHP §15."""
    await client.request("createSession", "ahp-session:/x", workingDirectory="file:///old%20one")
    state = await client.subscribe("ahp-session:/x")
    assert state["workingDirectories"] == ["file:///old%20one"]
    assert state["project"] == {"uri": "file:///old%20one", "displayName": "old one"}
    await client.state("ahp-session:/x", lambda s: s["lifecycle"] == "ready")
    assert world.scripted.opened[0].directories == ["/old one"]


async def test_only_the_first_directory_counts_for_an_agent_that_works_in_one(world, client):
    """AHP §4."""
    session, _ = await client.new_session(workingDirectories=["file:///a", "file:///b"])
    assert client.states[session]["workingDirectories"] == ["file:///a"]


async def test_what_another_hosts_configuration_offered_is_left_out(world, client):
    """real clients send `isolation` and the like to any host."""
    session, _ = await client.new_session(config={"isolation": "folder", "mode": "plan"})
    assert client.states[session]["config"]["values"]["mode"] == "plan"
    assert "isolation" not in client.states[session]["config"]["values"]


async def test_an_agent_that_cannot_be_had_fails_the_creation_and_says_why(world, client):
    """AHP §9.1."""

    async def opening(_):
        raise ProviderError("noKey", "There is no key")

    world.scripted.opening = opening
    await client.request("createSession", "ahp-session:/x", provider="scripted")
    state = await client.subscribe("ahp-session:/x")
    await client.subscribe(state["defaultChat"])
    state = await client.state("ahp-session:/x", lambda s: s["lifecycle"] == "failed")
    assert state["creationError"] == {"errorType": "noKey", "message": "There is no key"}
    assert "There is no key" in await client.rejection(client.start_turn(state["defaultChat"], "hello"))
    assert (await client.request("listSessions"))["items"][0]["status"] & 31 == 2


async def test_the_list_of_sessions_is_told_of_a_new_one_and_of_its_progress(world, client):
    """AHP §4, §5."""
    await client.request("createSession", "ahp-session:/x", progressToken="p")
    await client.until(lambda: len(client.notices("root/progress")) == 2)
    (added,) = client.notices("root/sessionAdded")
    check(SessionSummary, added["summary"], "summary")
    assert added["summary"]["resource"] == "ahp-session:/x" and added["channel"] == ROOT
    first, last = client.notices("root/progress")
    assert first["progress"] <= last["progress"] == last["total"] and last["progressToken"] == "p"
    await client.state(ROOT, lambda s: s["activeSessions"] == 1)


async def test_a_session_that_is_disposed_takes_everything_with_it(world, client):
    """AHP §4."""
    session, chat = await client.new_session()
    await client.request("createChat", session, chat="ahp-chat:/two")
    client.start_turn(chat, "stuck")
    await client.action(chat, "chat/responsePart")
    await client.request("disposeSession", session)
    assert client.notices("root/sessionRemoved") == [{"channel": ROOT, "session": session}]
    for uri in (session, chat, "ahp-chat:/two"):
        assert (await refused(client.request("subscribe", uri))).code == -32008
    assert (await refused(client.request("disposeSession", session))).code == -32001
    await client.until(lambda: client.states[ROOT]["activeSessions"] == 0)
    await world.until(lambda: world.scripted.closed == [session] and ("close", session) in world.mcp.log)
    assert len(world.conversation.running) == 0


async def test_the_uri_of_a_disposed_session_can_be_used_again(world, client):
    session, _ = await client.new_session()
    await client.request("disposeSession", session)
    async with asyncio.timeout(5):
        while True:
            try:
                await client.request("createSession", session)
                break
            except RpcFailure as error:
                assert error.code == -32003
                await asyncio.sleep(0.001)
    assert (await client.subscribe(session))["chats"][0]["status"] == 1


async def test_a_session_can_be_disposed_while_it_is_being_created(world, client):
    never = asyncio.Event()

    async def opening(_):
        await never.wait()

    world.scripted.opening = opening
    await client.request("createSession", "ahp-session:/x")
    await client.request("disposeSession", "ahp-session:/x")
    assert (await client.request("listSessions"))["items"] == []


async def test_a_session_with_many_drafts_is_disposed_in_one_transaction(world, client):
    """issue 2 §9: the answer does not wait for what the session was (the figure is the benchmark's)."""
    session, chat = await client.new_session()
    for number in range(2000):
        client.dispatch(chat, "chat/draftChanged", draft={"text": str(number), "origin": {"kind": "user"}})
    await client.request("disposeSession", session)
    image = await world.log.crash().open()
    assert [channel.channel for channel in image.channels] == [ROOT] and image.dormant == image.listed == ()


async def make(client, count):
    for number in range(count):
        await client.request("createSession", f"ahp-session:/{number}")


async def test_sessions_are_listed_page_by_page_latest_change_first(world, client):
    """AHP §4."""
    await make(client, 7)
    first = await client.request("listSessions", limit=3)
    check(ListSessionsResult, first, "result")
    items = list(first["items"])
    page = first
    while "nextCursor" in page:
        page = await client.request("listSessions", limit=3, cursor=page["nextCursor"])
        items += page["items"]
    assert len({item["resource"] for item in items}) == len(items) == 7
    times = [item["modifiedAt"] for item in items]
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize("cursor", ["x", "", "bm9uc2Vuc2U=", "WzEsMl0=", "é"])
async def test_a_cursor_that_was_not_given_out_is_refused(world, client, cursor):
    """AHP §4: InvalidParams."""
    assert (await refused(client.request("listSessions", cursor=cursor))).code == -32602


async def test_a_limit_below_one_is_refused(world, client):
    assert (await refused(client.request("listSessions", limit=0))).code == -32602


async def test_the_summary_follows_the_turn(world, client):
    """AHP §9.1: activity of the default chat, raised by what needs input; changed fields only."""
    session, chat = await client.new_session()
    watcher = await world.client("watcher")
    client.start_turn(chat, "ask")
    await watcher.until(lambda: any(c["changes"].get("status") == 24 for c in changes(watcher)))
    client.dispatch(chat, "chat/turnCancelled", turnId="t1", duration=1)
    await watcher.until(lambda: changes(watcher)[-1]["changes"].get("status") == 1)
    for change in changes(watcher):
        assert not {"resource", "provider", "createdAt"} & change["changes"].keys()
    listed = (await watcher.request("listSessions"))["items"][0]
    merged = dict(watcher_summary(watcher, session))
    assert {k: v for k, v in listed.items() if k in merged} == merged


def changes(client):
    return client.notices("root/sessionSummaryChanged")


def watcher_summary(client, session):
    merged = {}
    for change in changes(client):
        assert change["session"] == session
        merged |= change["changes"]
    return merged


async def test_the_configuration_is_resolved_with_the_hosts_properties_first(world, client):
    """AHP §4: full schema, defaults filled in."""
    result = await client.request("resolveSessionConfig", provider="scripted", config={"branchMode": "direct"})
    check(ResolveSessionConfigResult, result, "result")
    assert list(result["schema"]["properties"]) == ["autoApprove", "permissions", "mode", "branchMode", "branch"]
    assert result["schema"]["properties"]["branch"]["readOnly"] is True
    assert result["values"] == {
        "autoApprove": "default",
        "permissions": {"allow": [], "deny": []},
        "mode": "interactive",
        "branchMode": "direct",
    }


async def test_what_the_gate_is_told_is_the_sessions_own_configuration(world, client):
    """M6.3b, M6.8: read at call time from the host's own state."""
    config = {"autoApprove": "autoApprove", "permissions": {"deny": ["mcp__memo__echo"]}}
    session, _ = await client.new_session(config=config)
    asked = world.conversation
    assert asked.full_access(session) and not asked.full_access("ahp-session:/none")
    assert asked.rules(session, "mcp__memo__echo") == Rules("session")
    assert asked.rules(session, "mcp__memo__other") == Rules()


async def test_values_of_a_property_are_completed(world, client):
    items = (await client.request("sessionConfigCompletions", property="branch", query="FEAT"))["items"]
    assert items == [{"value": "feature/config", "label": "feature/config"}]
    assert (await refused(client.request("sessionConfigCompletions", property="nope"))).code == -32602


async def test_only_mutable_properties_change_in_a_running_session(world, client):
    """AHP §9.9."""
    session, _ = await client.new_session()
    await client.echo(client.dispatch(session, "session/configChanged", config={"mode": "plan"}))
    assert client.states[session]["config"]["values"]["mode"] == "plan"
    for config in ({"branchMode": "direct"}, {"nope": 1}, {"mode": "wild"}):
        assert await client.rejection(client.dispatch(session, "session/configChanged", config=config))


async def test_the_root_channel_lists_the_agents(world, client):
    """AHP §13.3, §13.9."""
    check(RootState, client.states[ROOT], "root")
    providers = {agent["provider"]: agent for agent in client.states[ROOT]["agents"]}
    assert providers["console"]["capabilities"] == {"multipleChats": {"fork": True, "sideChat": True}}


@pytest.mark.parametrize("method", ["runAutomation", "x-other/thing"])
async def test_what_this_host_does_not_serve_is_method_not_found(world, client, method):
    assert (await refused(client.request(method, "a:/b"))).code == -32601


async def test_files_are_refused_in_words(world, client):
    """AHP §13.11."""
    error = await refused(client.request("resourceRead", uri="file:///etc/passwd"))
    assert error.code == -32009 and "files" in error.message


async def test_completions_are_empty_and_honest(world, client):
    _, chat = await client.new_session()
    assert await client.request("completions", chat, kind="userMessage", text="@", offset=1) == {"items": []}
    assert (await refused(client.request("completions", "a:/b", kind="userMessage", text="@", offset=1))).code == -32008


async def test_a_token_for_nothing_is_refused(world, client):
    assert (await refused(client.request("authenticate", resource="https://x", token="secret"))).code == -32602


async def test_an_unexpected_failure_of_a_command_is_told_by_reference(world, client, caplog):
    """AHP §8: never a stack trace."""

    def broken(directory, values):
        raise RuntimeError("secret inside")

    world.scripted.config_schema = broken
    error = await refused(client.request("createSession", "ahp-session:/x", provider="scripted"))
    assert error.code == -32603 and "secret" not in error.message
    assert error.message.split()[-1] in caplog.text


async def test_a_second_host_in_the_process_knows_nothing_of_the_first(world, client):
    """architecture §3.9: no global state."""
    await client.new_session()
    other = await World().start()
    assert (await (await other.client()).request("listSessions"))["items"] == []
    await other.close()


async def test_of_two_clients_that_take_one_uri_at_once_the_second_is_told(world, client):
    """AHP §4: also where the first is not there yet when the second is looked at."""
    other = await world.client("bob")
    looked, go, placing = [], asyncio.Event(), world.service._joined.sessions._placing

    class Slow:
        async def properties(self, path, given):
            looked.append(path)
            await go.wait()
            return await placing.properties(path, given)

        check = placing.check

    world.service._joined.sessions._placing = Slow()
    params = {"provider": "scripted", "workingDirectories": ["file:///w"]}
    both = [asyncio.create_task(one.request("createSession", "ahp-session:/1", **params)) for one in (client, other)]
    await world.until(lambda: len(looked) == 2)
    go.set()
    answers = await asyncio.gather(*both, return_exceptions=True)
    refused = [answer for answer in answers if isinstance(answer, RpcFailure)]
    assert [one.code for one in refused] == [-32003] and len(answers) == 2
