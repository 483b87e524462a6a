"""Tokens that clients bring: `authRequired`, `authenticate`, `auth/required` (AHP §8, §10.2)."""

import pytest

from harness.token_rig import SESSION, Rig, shown
from scripted.world import RpcFailure

pytestmark = pytest.mark.anyio

INVALID_PARAMS = -32602
AUTH_REQUIRED = -32007


async def test_server_that_wants_a_token_says_where_to_get_one(rig: Rig) -> None:
    """AHP §10.2: the full metadata of RFC 9728; §8: root subscribers are told."""
    client = await rig.client()
    await rig.opened(client)
    state = await rig.connect(client)
    assert state["kind"] == "authRequired"
    assert (state["reason"], state["requiredScopes"]) == ("required", ["read"])
    assert state["resource"] == {
        "resource": rig.server.url,
        "resource_name": "Protected",
        "authorization_servers": [rig.authorization.url],
        "scopes_supported": ["read", "write"],
        "bearer_methods_supported": ["header"],
    }
    notices = client.notices("auth/required")
    assert notices == [{"channel": "ahp-root://", "resource": state["resource"], "reason": "required"}]
    listed = await client.request("x-innkeeper/mcp/list", SESSION)
    assert (listed["items"][0]["status"], listed["items"][0]["reason"]) == ("failed", "AUTH_REQUIRED")


async def test_metadata_is_found_at_the_well_known_place_too(rig: Rig) -> None:
    """RFC 9728 §3.1: a challenge need not say where."""
    rig.server.in_header = False
    client = await rig.client()
    await rig.opened(client)
    assert (await rig.connect(client))["resource"]["resource"] == rig.server.url


async def test_server_without_metadata_is_an_error_with_a_clear_text(rig: Rig) -> None:
    rig.server.metadata = False
    client = await rig.client()
    await rig.opened(client)
    state = await rig.connect(client)
    assert (state["kind"], state["error"]["errorType"]) == ("error", "AUTH_REQUIRED")
    assert "no protected-resource metadata" in state["error"]["message"]
    with pytest.raises(RpcFailure) as refused:
        await rig.authenticate(client, "t")
    assert refused.value.code == INVALID_PARAMS


async def test_metadata_of_another_resource_is_not_used(rig: Rig) -> None:
    """RFC 9728 §3.3: no token for one audience is asked for on behalf of another."""
    rig.server.foreign = "https://bank.example/mcp"
    client = await rig.client()
    await rig.opened(client)
    state = await rig.connect(client)
    assert (state["kind"], state["error"]["errorType"]) == ("error", "AUTH_REQUIRED")
    assert "names another resource" in state["error"]["message"]
    assert client.notices("auth/required") == []


async def test_token_connects_at_once_and_every_client_sees_it(rig: Rig) -> None:
    """AHP §8: the answer first says that the server took it; the state change follows."""
    alice, bob = await rig.client("alice"), await rig.client("bob")
    await rig.opened(alice)
    await bob.subscribe(SESSION)
    await rig.connect(alice)
    assert await rig.authenticate(alice, rig.issued(), expiresIn=600, scopes=["read"]) == {}
    for client in (alice, bob):
        assert await rig.settled(client, SESSION, "ready") == {"kind": "ready"}
    result = await alice.request("x-innkeeper/mcp/call", SESSION, server="web", tool="read", arguments={"text": "x"})
    assert result["success"] and rig.server.calls == ["read"]


async def test_unknown_resource_is_refused(rig: Rig) -> None:
    """AHP §8: -32602."""
    client = await rig.client()
    await rig.opened(client)
    for resource in ("https://else.example/mcp", rig.server.url):
        with pytest.raises(RpcFailure) as refused:
            await client.request("authenticate", resource=resource, token="t")
        assert refused.value.code == INVALID_PARAMS


@pytest.mark.parametrize("audience", [None, "https://else.example/mcp"])
async def test_token_that_the_server_refuses_is_an_error_with_the_resource(rig: Rig, audience: str | None) -> None:
    """AHP §8: -32007 with the metadata; a token for another audience is refused with the reason."""
    client = await rig.client()
    await rig.opened(client)
    await rig.connect(client)
    token = "made-up" if audience is None else rig.issued("read", audience=audience)
    with pytest.raises(RpcFailure) as refused:
        await rig.authenticate(client, token)
    assert refused.value.code == AUTH_REQUIRED
    assert refused.value.data["resources"][0]["resource"] == rig.server.url
    state = await client.state(SESSION, lambda s: shown(s).get("description"))
    assert shown(state)["kind"] == "authRequired" and shown(state)["reason"] == "required"
    why = "unknown or revoked token" if audience is None else "the token is for another audience"
    assert why in shown(state)["description"]
    assert await rig.authenticate(client, rig.issued()) == {}, "a good one after a bad one"
    await rig.settled(client, SESSION, "ready")


async def test_refusal_that_quotes_the_token_is_not_quoted(rig: Rig) -> None:
    """M7.7: no token in a state, whoever puts it into a text."""
    rig.server.echo_token = True
    client = await rig.client()
    await rig.opened(client)
    await rig.connect(client)
    with pytest.raises(RpcFailure):
        await rig.authenticate(client, "made-up-token")
    state = await client.state(SESSION, lambda s: shown(s).get("description"))
    assert shown(state)["description"].endswith("invalid_token")
    assert "made-up-token" not in repr(client.frames)


async def test_token_whose_scopes_do_not_suffice_is_refused_without_being_sent(rig: Rig) -> None:
    """AHP §8: `scopes` lets the host judge a challenge without opening the token."""
    client = await rig.client()
    await rig.opened(client)
    await rig.connect(client)
    before = len(rig.server.posts)
    with pytest.raises(RpcFailure) as refused:
        await rig.authenticate(client, rig.issued(), scopes=["other"])
    assert refused.value.code == AUTH_REQUIRED and "read" in refused.value.message
    assert len(rig.server.posts) == before


async def test_token_without_the_scope_is_insufficient(rig: Rig) -> None:
    client = await rig.client()
    await rig.opened(client)
    await rig.connect(client)
    with pytest.raises(RpcFailure) as refused:
        await rig.authenticate(client, rig.issued("other"))
    assert refused.value.code == AUTH_REQUIRED
    state = await client.state(SESSION, lambda s: shown(s).get("reason") == "insufficientScope")
    assert shown(state)["requiredScopes"] == ["read"]


@pytest.mark.parametrize("token", ["two words", "new\nline", "Zeichen-ü"])
async def test_text_that_is_no_bearer_token_is_refused(rig: Rig, token: str) -> None:
    """Nothing of it reaches a header."""
    client = await rig.client()
    await rig.opened(client)
    await rig.connect(client)
    with pytest.raises(RpcFailure) as refused:
        await rig.authenticate(client, token)
    assert refused.value.code == AUTH_REQUIRED


async def test_expiry_must_be_a_second_at_least(rig: Rig) -> None:
    client = await rig.client()
    await rig.opened(client)
    await rig.connect(client)
    with pytest.raises(RpcFailure) as refused:
        await rig.authenticate(client, rig.issued(), expiresIn=0)
    assert refused.value.code == INVALID_PARAMS


async def test_empty_token_takes_back_ones_own_and_nobody_elses(rig: Rig) -> None:
    """AHP §8: status is per client; §4: an empty token revokes."""
    alice, bob = await rig.client("alice"), await rig.client("bob")
    await rig.opened(alice)
    await rig.connect(alice)
    await rig.authenticate(alice, rig.issued())
    await rig.settled(alice, SESSION, "ready")
    await rig.authenticate(bob, rig.issued())
    assert await rig.authenticate(alice, "") == {}
    await alice.until(lambda: rig.became(alice, "ready")[1:])
    result = await alice.request("x-innkeeper/mcp/call", SESSION, server="web", tool="read", arguments={"text": "x"})
    assert result["success"], "bob's token is still good"
    assert await rig.authenticate(bob, "") == {}
    assert (await rig.settled(alice, SESSION, "authRequired"))["reason"] == "required"


async def test_token_that_ran_out_is_asked_for_again_as_expired(rig: Rig) -> None:
    """AHP §8: after `expired` a new token is wanted."""
    client = await rig.client()
    await rig.opened(client)
    await rig.connect(client)
    await rig.authenticate(client, rig.issued(), expiresIn=60)
    await rig.followed(client)
    rig.clock.ahead = 61
    failed = await client.request("x-innkeeper/mcp/call", SESSION, server="web", tool="read", arguments={"text": "x"})
    assert (failed["success"], failed["error"]["code"]) == (False, "AUTH_REQUIRED")
    assert (await rig.settled(client, SESSION, "authRequired"))["reason"] == "expired"
    assert client.notices("auth/required")[-1]["reason"] == "expired"
    assert rig.server.calls == []
    await rig.authenticate(client, rig.issued())
    assert await rig.settled(client, SESSION, "ready") == {"kind": "ready"}


async def test_one_token_serves_all_sessions_of_its_resource(rig: Rig) -> None:
    """Both connections that wait are opened again."""
    client = await rig.client()
    await rig.opened(client)
    await rig.opened(client, "ahp-session:/2")
    await rig.connect(client)
    await rig.connect(client, "ahp-session:/2")
    await rig.authenticate(client, rig.issued())
    for session in (SESSION, "ahp-session:/2"):
        assert await rig.settled(client, session, "ready") == {"kind": "ready"}


async def test_resource_is_forgotten_with_the_last_session_that_wanted_it(rig: Rig) -> None:
    client = await rig.client()
    await rig.opened(client)
    await rig.connect(client)
    await client.request("disposeSession", SESSION)
    await rig.until(lambda: not rig.known_resources())
    with pytest.raises(RpcFailure) as refused:
        await rig.authenticate(client, rig.issued())
    assert refused.value.code == INVALID_PARAMS
