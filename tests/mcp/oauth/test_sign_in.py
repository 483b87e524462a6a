"""Sign-in by the host where a client cannot: code, PKCE, registration, refresh, revocation (issue 3.8)."""

import asyncio
import json
import stat
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from harness.token_rig import ID, SESSION, Rig, browse, shown
from scripted.world import Client, RpcFailure

pytestmark = pytest.mark.anyio


async def read(client: Client) -> Any:
    return await client.request("x-innkeeper/mcp/call", SESSION, server="web", tool="read", arguments={"text": "x"})


async def opened(rig: Rig, name: str = "alice") -> Client:
    client = await rig.client(name)
    await rig.opened(client)
    await rig.connect(client)
    return client


async def test_person_signs_in_with_pkce_and_a_dynamic_client(rig: Rig) -> None:
    """RFC 7636 S256, RFC 7591, RFC 8707, RFC 9207; the token is kept for this resource and client."""
    client = await opened(rig)
    assert await rig.signed_in(client) == {"kind": "ready"}
    assert (await read(client))["success"]
    asked = rig.authorization.forms("/authorize")[0]
    assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
    assert (asked["resource"], asked["scope"]) == (rig.server.url, "read")
    assert urlsplit(asked["redirect_uri"]).hostname == "127.0.0.1"
    form = rig.authorization.forms("/token")[0]
    assert form["resource"] == rig.server.url and len(form["code_verifier"]) >= 43
    assert form["client_id"].startswith("dynamic-")
    kept = rig.kept()
    assert [(entry["resource"], entry["client_id"]) for entry in kept] == [(rig.server.url, form["client_id"])]
    assert stat.S_IMODE(rig.tokens.stat().st_mode) == 0o600


async def test_two_clients_that_begin_at_once_get_one_sign_in(rig: Rig) -> None:
    alice, bob = await opened(rig), await rig.client("bob")
    await bob.subscribe(SESSION)
    begun = [await c.request("x-innkeeper/mcp/authorize", SESSION, server="web") for c in (alice, bob)]
    assert begun[0] == begun[1]
    ends = [asyncio.create_task(c.request("x-innkeeper/mcp/authorized", SESSION, server=ID)) for c in (alice, bob)]
    page = await browse(begun[0]["url"])
    assert "Innkeeper" in page and "canary" not in page
    assert await asyncio.gather(*ends) == [{"completed": True}] * 2
    for client in (alice, bob):
        await rig.settled(client, SESSION, "ready")


async def test_registered_client_is_used_instead_of_registration(rig: Rig) -> None:
    """A secret goes to the token endpoint and nowhere else; the state names the public id only (AHP §8)."""
    await rig.stop()
    registered = {"url": rig.server.url, "client_id": "fixed", "scopes": ("read",), "secret_input": "as-secret"}
    rig.settings = replace(rig.settings, oauth_clients=(registered,))
    rig.inputs = {"as-secret": "canary-client-secret"}
    await rig.start()
    client = await opened(rig)
    state = shown(client.states[SESSION])
    assert state["oauthClient"] == {"clientId": "fixed"}
    begun = await client.request("x-innkeeper/mcp/authorize", SESSION, server="web")
    uri = parse_qs(urlsplit(begun["url"]).query)["redirect_uri"][0]
    rig.authorization.clients["fixed"] = {"redirect_uris": [uri], "client_secret": "canary-client-secret"}
    await browse(begun["url"])
    await rig.settled(client, SESSION, "ready")
    assert rig.authorization.forms("/register") == []
    assert rig.kept()[0]["client_id"] == "fixed"
    assert "canary-client-secret" not in repr(client.frames)


async def test_authorization_server_that_registers_nobody_is_told(rig: Rig) -> None:
    rig.authorization.registration = False
    client = await opened(rig)
    with pytest.raises(RpcFailure) as refused:
        await client.request("x-innkeeper/mcp/authorize", SESSION, server="web")
    assert "client id" in refused.value.message


async def test_person_who_says_no_leaves_the_server_waiting(rig: Rig) -> None:
    rig.authorization.deny = "access_denied"
    client = await opened(rig)
    begun = await client.request("x-innkeeper/mcp/authorize", SESSION, server="web")
    await browse(begun["url"])
    ended = await client.request("x-innkeeper/mcp/authorized", SESSION, server="web")
    assert ended == {"completed": False, "reason": "the authorization server answered access_denied"}
    assert shown(client.states[SESSION])["kind"] == "authRequired"
    rig.authorization.deny = None
    await rig.signed_in(client)


async def test_answer_with_another_state_is_refused_and_the_sign_in_goes_on(rig: Rig) -> None:
    """No web page can end or take over a sign-in."""
    client = await opened(rig)
    begun = await client.request("x-innkeeper/mcp/authorize", SESSION, server="web")
    uri = parse_qs(urlsplit(begun["url"]).query)["redirect_uri"][0]
    async with httpx2.AsyncClient() as browser:
        assert (await browser.get(uri, params={"code": "forged", "state": "guess"})).status_code == 400
        assert (await browser.get(uri, params={"error": "access_denied"})).status_code == 400
        assert (await browser.post(uri)).status_code == 404
        foreign = await browser.get(uri, headers={"Host": "rebound.example"})
        assert foreign.status_code == 421
    await browse(begun["url"])
    await rig.settled(client, SESSION, "ready")


async def test_sign_in_of_an_earlier_run_is_used_without_asking(rig: Rig) -> None:
    client = await opened(rig)
    await rig.signed_in(client)
    await rig.restart()
    later = await rig.client("later")
    await later.subscribe(SESSION)
    await later.state(SESSION, lambda s: s.get("customizations"))
    assert await rig.connect(later) == {"kind": "ready"}
    assert len(rig.authorization.forms("/token")) == 1


async def test_token_is_renewed_before_its_end(rig: Rig) -> None:
    """After a restart too: endpoints and client come from the store. The refresh token is replaced each time."""
    client = await opened(rig)
    await rig.signed_in(client)
    first = rig.kept()[0]
    rig.clock.ahead = 3600 - 10
    assert (await read(client))["success"]
    second = rig.kept()[0]
    assert second["access_token"] != first["access_token"] and second["refresh_token"] != first["refresh_token"]
    assert 401 not in [status for method, status in rig.server.posts if method == "tools/call"]
    await rig.restart()
    rig.clock.ahead = 2 * 3600
    later = await rig.client("later")
    await later.subscribe(SESSION)
    await later.state(SESSION, lambda s: s.get("customizations"))
    assert await rig.connect(later) == {"kind": "ready"}
    kinds = [form["grant_type"] for form in rig.authorization.forms("/token")]
    assert kinds == ["authorization_code", "refresh_token", "refresh_token"]


async def test_token_that_the_server_refuses_is_renewed_and_the_request_sent_again(rig: Rig) -> None:
    """401: the request was not carried out, so it may go again (M7.5); one renewal serves calls at once."""
    client = await opened(rig)
    await rig.signed_in(client)
    rig.authorization.end_access()
    results = await asyncio.gather(*(read(client) for _ in range(4)))
    assert all(result["success"] for result in results)
    assert rig.server.calls == ["read"] * 4
    assert [form["grant_type"] for form in rig.authorization.forms("/token")] == ["authorization_code", "refresh_token"]


async def test_revoked_refresh_token_asks_for_a_sign_in_again(rig: Rig) -> None:
    client = await opened(rig)
    await rig.signed_in(client)
    rig.authorization.end_all()
    result = await read(client)
    assert (result["success"], result["error"]["code"]) == (False, "AUTH_REQUIRED")
    state = await rig.settled(client, SESSION, "authRequired")
    assert state["reason"] == "expired"
    assert rig.kept() == [], "what is of no use is not kept"
    assert await rig.signed_in(client) == {"kind": "ready"}


async def test_authorization_server_that_is_away_costs_no_sign_in(rig: Rig) -> None:
    """A refresh token that could not be tried is kept."""
    client = await opened(rig)
    await rig.signed_in(client)
    rig.authorization.end_access()
    rig.authorization.break_token = 503
    result = await read(client)
    assert result["error"]["code"] == "AUTH_REQUIRED"
    await rig.settled(client, SESSION, "authRequired")
    assert len(rig.kept()) == 1
    rig.authorization.break_token = None
    await rig.restart()
    later = await rig.client("later")
    await later.subscribe(SESSION)
    await later.state(SESSION, lambda s: s.get("customizations"))
    assert await rig.connect(later) == {"kind": "ready"}


async def test_step_up_asks_for_the_old_scopes_and_the_new(rig: Rig) -> None:
    """A call that lacks a scope waits; the host's own sign-in asks for the union, and the call goes on."""
    client = await rig.client()
    chat = await rig.opened(client)
    await rig.signed_in(client)
    client.start_turn(chat, '/call web write {"text": "x"}')
    await client.state(SESSION, lambda s: s.get("inputNeeded"))
    begun = await client.request("x-innkeeper/mcp/authorize", SESSION, server="web")
    assert parse_qs(urlsplit(begun["url"]).query)["scope"] == ["read write"]
    await browse(begun["url"])
    turn = await client.ended(chat)
    assert turn["responseParts"][0]["toolCall"]["success"]
    assert rig.server.calls == ["write"]
    assert len(rig.authorization.forms("/register")) == 1, "the registration is used again"
    assert len(rig.kept()) == 1


async def test_revoking_forgets_and_tells_the_authorization_server(rig: Rig) -> None:
    """AHP §8: an empty token; RFC 7009."""
    client = await opened(rig)
    await rig.signed_in(client)
    secrets = [rig.kept()[0][name] for name in ("access_token", "refresh_token")]
    await rig.authenticate(client, "")
    await rig.settled(client, SESSION, "authRequired")
    await rig.until(lambda: len(rig.authorization.forms("/revoke")) == 2)
    assert [form["token"] for form in rig.authorization.forms("/revoke")] == secrets[::-1]
    assert json.loads(rig.tokens.read_text())["tokens"] == []


async def test_sign_in_needs_a_server_that_asked_for_one(rig: Rig) -> None:
    client = await rig.client()
    await rig.opened(client)
    for method in ("x-innkeeper/mcp/authorize", "x-innkeeper/mcp/authorized"):
        with pytest.raises(RpcFailure) as refused:
            await client.request(method, SESSION, server="web")
        assert "has not asked" in refused.value.message
        with pytest.raises(RpcFailure) as unknown:
            await client.request(method, SESSION, server="nobody")
        assert unknown.value.data == {"code": "SERVER_UNKNOWN"}
    await rig.connect(client)
    with pytest.raises(RpcFailure) as none:
        await client.request("x-innkeeper/mcp/authorized", SESSION, server="web")
    assert "no sign-in" in none.value.message


async def test_open_sign_in_ends_with_the_host(rig: Rig) -> None:
    client = await opened(rig)
    begun = await client.request("x-innkeeper/mcp/authorize", SESSION, server="web")
    uri = parse_qs(urlsplit(begun["url"]).query)["redirect_uri"][0]
    await asyncio.wait_for(rig.stop(), 5)
    async with httpx2.AsyncClient() as browser:
        with pytest.raises(httpx2.ConnectError):
            await browser.get(uri)
