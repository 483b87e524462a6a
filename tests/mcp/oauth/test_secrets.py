"""No token is found where it does not belong: logs, states, messages, database, files (M7.7)."""

import logging
import os
from pathlib import Path

import pytest

from harness.token_rig import SESSION, Rig, browse, leaks
from innkeeper.mcp.oauth.tokens import Token
from innkeeper.mcp.oauth.values import Challenge, Credentials, OAuthClient
from scripted.world import RpcFailure

pytestmark = pytest.mark.anyio


def contents(folder: Path, *, without: Path) -> str:
    """Every byte of every file below the folder, as text."""
    files = [path for path in folder.rglob("*") if path.is_file() and path != without]
    return "\n".join(path.read_bytes().decode("latin-1") for path in files)


async def test_no_token_reaches_log_state_message_or_database(rig: Rig, logged: pytest.LogCaptureFixture) -> None:
    """A whole life: a bad token, a good one, a sign-in, a call that waits, renewal, failures, revocation."""
    rig.server.echo_token = True
    alice, bob = await rig.client("alice"), await rig.client("bob")
    chat = await rig.opened(alice)
    await bob.subscribe(SESSION)
    await rig.connect(alice)
    with pytest.raises(RpcFailure):
        await rig.authenticate(alice, "canary-bad-token-0001")
    await rig.authenticate(alice, rig.issued("read"))
    await rig.followed(alice)
    alice.start_turn(chat, '/call web write {"text": "x"}')
    await bob.state(SESSION, lambda s: s.get("inputNeeded"))
    begun = await bob.request("x-innkeeper/mcp/authorize", SESSION, server="web")
    await browse(begun["url"])
    await alice.ended(chat)
    rig.authorization.end_access()
    await alice.turn(chat, '/call web read {"text": "y"}', "t2")
    rig.authorization.end_all()
    alice.start_turn(chat, '/call web read {"text": "z"}', "t3")
    await alice.state(SESSION, lambda s: s.get("inputNeeded"))
    rig.authorization.deny = "access_denied"
    again = await bob.request("x-innkeeper/mcp/authorize", SESSION, server="web")
    await browse(again["url"])
    alice.dispatch(chat, "chat/turnCancelled", turnId="t3", duration=1)
    await alice.ended(chat, "t3")
    await rig.authenticate(alice, "")
    frames = repr(alice.frames) + repr(bob.frames)
    await rig.stop()
    secrets = ["canary-bad-token-0001", *rig.authorization.secrets()]
    verifiers = [form["code_verifier"] for form in rig.authorization.forms("/token") if "code_verifier" in form]
    assert len(secrets) > 5 and verifiers
    own = [record for record in logged.records if record.name.split(".")[0] in ("innkeeper", "mcp", "httpx2")]
    assert own, "nothing was logged at all"
    texts = [record.getMessage() + repr(record.args) + str(record.exc_text) for record in own]
    assert leaks([*secrets, *verifiers], *texts) == []
    assert leaks([*secrets, *verifiers], frames) == []
    assert leaks([*secrets, *verifiers], contents(rig.folder, without=rig.tokens)) == []


@pytest.mark.parametrize("name", ["x-key", "authorization"])
async def test_refusal_that_quotes_a_declared_header_is_not_quoted(rig: Rig, name: str) -> None:
    """M7.7: expanded values of a declaration are in no state either."""
    rig.server.echo_header = name
    rig.declare({"headers": {name: "Bearer canary-declared-0001"}})
    client = await rig.client()
    await rig.opened(client)
    await rig.connect(client)
    with pytest.raises(RpcFailure):
        await rig.authenticate(client, "canary-bad-token-0002")
    await client.state(SESSION, lambda s: "invalid_token" in str(s["customizations"][0]["state"].get("description")))
    assert leaks(["canary-declared-0001", "canary-bad-token-0002"], repr(client.frames)) == []


async def test_tokens_of_clients_are_in_no_file_at_all(rig: Rig) -> None:
    """AHP §8: only what this host signed in for is kept."""
    client = await rig.client()
    await rig.opened(client)
    await rig.connect(client)
    token = rig.issued()
    await rig.authenticate(client, token)
    await rig.settled(client, SESSION, "ready")
    await rig.restart()
    assert token not in contents(rig.folder, without=rig.folder)
    later = await rig.client("later")
    await later.subscribe(SESSION)
    await later.state(SESSION, lambda s: s.get("customizations"))
    assert (await rig.connect(later))["kind"] == "authRequired"


async def test_tokens_are_in_no_environment_of_this_host(rig: Rig) -> None:
    client = await rig.client()
    await rig.opened(client)
    await rig.connect(client)
    await rig.signed_in(client)
    assert not leaks(rig.authorization.secrets(), repr(dict(os.environ)))


def test_values_do_not_show_secrets() -> None:
    """M7.7: what is written by mistake into a log has none either."""
    credentials = Credentials("r", "c", "s3cret-a", "s3cret-b", client={"client_secret": "s3cret-c"})
    shown = repr(
        [
            credentials,
            Token("r", "s3cret-d", "client", credentials=credentials),
            OAuthClient("id", "s3cret-e"),
            Challenge(401, description="s3cret-f", metadata_url="https://s3cret-g"),
        ]
    )
    assert "s3cret" not in shown


async def test_libraries_do_not_log_what_they_carry(rig: Rig, logged: pytest.LogCaptureFixture) -> None:
    """The SDK quotes answers of the token endpoint when it fails."""
    for name in ("mcp", "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.NOTSET)
    rig.authorization.break_token = 400
    client = await rig.client()
    await rig.opened(client)
    await rig.connect(client)
    begun = await client.request("x-innkeeper/mcp/authorize", SESSION, server="web")
    await browse(begun["url"])
    ended = await client.request("x-innkeeper/mcp/authorized", SESSION, server="web")
    assert ended == {"completed": False, "reason": "the authorization server gave no token"}
    assert [record for record in logged.records if record.name.startswith("mcp.client")] == []
