"""What a declaration may say about authentication: a public client, or it is skipped (M2.2, M10)."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from harness.token_rig import SESSION, Rig, browse, shown
from innkeeper.mcp.declarations.expanding import fingerprint_sources
from innkeeper.mcp.declarations.written import Written
from innkeeper.mcp.oauth.declared import declared_client
from innkeeper.mcp.oauth.values import OAuthClient


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ({"clientId": "c"}, OAuthClient("c")),
        ({"client_id": "c", "callback_port": 8123}, OAuthClient("c", callback_port=8123)),
        ({"clientId": "c", "scopes": ["a", "b"], "enabled": True}, OAuthClient("c", scopes=("a", "b"))),
        ({"clientId": "c", "scopes": "a b"}, OAuthClient("c", scopes=("a", "b"))),
        ({"clientId": "https://us.example/client.json"}, OAuthClient("https://us.example/client.json")),
    ],
)
def test_public_client_is_read(table: object, expected: OAuthClient) -> None:
    assert declared_client(table) == expected


@pytest.mark.parametrize(
    "table",
    [
        None,
        True,
        "chatgpt",
        [],
        {},
        {"clientId": ""},
        {"clientId": 1},
        {"clientId": "two words"},
        {"clientId": "${CLIENT}"},
        {"clientId": "c", "client_id": "d"},
        {"clientId": "c", "clientSecret": "s"},
        {"clientId": "c", "xaa": {}},
        {"clientId": "c", "authServerMetadataUrl": "https://as"},
        {"clientId": "c", "callbackPort": 0},
        {"clientId": "c", "callbackPort": True},
        {"clientId": "c", "callbackPort": "8123"},
        {"clientId": "c", "callbackPort": 65_536},
        {"clientId": "c", "scopes": [1]},
        {"clientId": "c", "scopes": ['a"b']},
        {"clientId": "c", "scopes": {}},
        {"clientId": "c", "enabled": "yes"},
    ],
)
def test_everything_else_is_refused_as_a_whole(table: object) -> None:
    """Nothing of it is passed over, and no secret of a project file is used."""
    assert declared_client(table) is None


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"oauth": {"clientId": "c", "clientSecret": "canary-secret"}}, "UNSUPPORTED_OAUTH"),
        ({"oauth": {"clientId": "c", "xaa": {}}}, "UNSUPPORTED_OAUTH"),
        ({"oauth": True}, "UNSUPPORTED_OAUTH"),
        ({"auth": {"CLIENT_ID": "c"}}, "UNSUPPORTED_OAUTH"),
        ({"headersHelper": "./token.sh"}, "UNSUPPORTED_AUTH_HELPER"),
    ],
)
async def test_declaration_that_asks_for_more_is_skipped_with_its_code(
    rig: Rig, more: dict[str, Any], code: str
) -> None:
    """M2.2: never run without what it asks for, also when a person says connect."""
    rig.declare(more)
    client = await rig.client()
    await rig.opened(client)
    state = shown(client.states[SESSION])
    assert (state["kind"], state["error"]["errorType"]) == ("error", code)
    await client.request("x-innkeeper/mcp/connect", SESSION, server="web")
    assert rig.server.posts == []
    assert "canary-secret" not in repr(client.frames)


@pytest.mark.anyio
async def test_declared_client_signs_in_at_its_registered_address(rig: Rig, free_port: int) -> None:
    rig.declare({"oauth": {"clientId": "fixed", "callbackPort": free_port, "scopes": ["read"]}})
    uri = f"http://localhost:{free_port}/callback"
    rig.authorization.clients["fixed"] = {"redirect_uris": [uri]}
    client = await rig.client()
    await rig.opened(client)
    state = await rig.connect(client)
    assert (state["kind"], state["oauthClient"]) == ("authRequired", {"clientId": "fixed"})
    begun = await client.request("x-innkeeper/mcp/authorize", SESSION, server="web")
    query = parse_qs(urlsplit(begun["url"]).query)
    assert (query["client_id"], query["redirect_uri"]) == (["fixed"], [uri])
    await browse(begun["url"])
    assert await rig.settled(client, SESSION, "ready") == {"kind": "ready"}
    assert rig.authorization.forms("/register") == []


def test_client_is_part_of_what_a_grant_is_bound_to() -> None:
    """M4.2b: another client, port or scope is another declaration; without one nothing changes."""
    tables = [
        {"clientId": "a"},
        {"clientId": "b"},
        {"clientId": "a", "callbackPort": 1},
        {"clientId": "a", "scopes": "r"},
    ]
    found = [fingerprint_sources(Written("http", client=declared_client(table)), None)["oauth"] for table in tables]
    assert all(found.count(one) == 1 for one in found)
    assert not fingerprint_sources(Written("http"), None)["oauth"]
