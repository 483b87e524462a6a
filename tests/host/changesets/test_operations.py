"""Review, operations and contents (AHP §4 `invokeChangesetOperation`, `resourceRead`)."""

from typing import Any
from urllib.parse import quote

import pytest

from harness.changeset_stage import ROOT, S, Stage, failure, invoke, only, ready, session
from innkeeper.host.changesets.checkpoints import prefix_of
from scripted.world import Client, World

pytestmark = pytest.mark.anyio


async def test_review_survives_a_restart_and_ends_when_the_file_changes(
    world: World, client: Client, make: Any
) -> None:
    chat = await session(client, make())
    await client.turn(chat, "do write a 1 ; write b 1")
    state = await ready(client, "uncommitted", only("a", "b"))
    uri = f"{S}/changeset/uncommitted"
    ids = {file["id"].rpartition("/")[2]: file["id"] for file in state["files"]}
    client.dispatch(uri, "changeset/filesReviewChanged", files=list(ids.values()), reviewed=True)
    await client.state(uri, lambda s: all(f.get("reviewed") for f in s["files"]))
    assert "no file" in await client.rejection(
        client.dispatch(uri, "changeset/filesReviewChanged", files=["file:///nope"], reviewed=True)
    )
    survivor = await world.crash()
    again = await survivor.client()
    try:
        state = await ready(again, "uncommitted")
        assert [f.get("reviewed") for f in state["files"]] == [True, True]
        await again.subscribe(S)
        await again.subscribe(chat)
        await again.turn(chat, "do write a 2", "t2")
        changed = await again.state(uri, lambda s: not all(f.get("reviewed") for f in s["files"]))
        assert {f["id"]: bool(f.get("reviewed")) for f in changed["files"]} == {ids["a"]: False, ids["b"]: True}
    finally:
        await survivor.close()


async def test_commit_of_all_and_of_one_file(client: Client, make: Any) -> None:
    repository = make()
    chat = await session(client, repository)
    await client.turn(chat, "do write a 1 ; write b 1 ; write c 1")
    state = await ready(client, "uncommitted", only("a", "b", "c"))
    target = {"kind": "resource", "resource": state["files"][0]["id"]}
    await invoke(client, "commit", {"x-innkeeper/message": "just a"}, target=target)
    await ready(client, "uncommitted", only("b", "c"))
    assert repository.git("show", "--format=%s", "--name-only", "HEAD").split() == ["just", "a", "a"]
    result = await invoke(client, "commit")
    assert repository.git("rev-parse", "--short=10", "HEAD") in result["message"]
    await ready(client, "uncommitted", only())
    operations = client.states[f"{S}/changeset/uncommitted"]["operations"]
    assert {o["id"]: o["status"] for o in operations} == {
        "commit": "disabled",
        "discard": "disabled",
        "checkout": "idle",
    }
    assert (await failure(invoke(client, "commit"))).data["code"] == "OPERATION_DISABLED"


async def test_discard_of_one_file_and_of_all_keeps_what_was(client: Client, make: Any) -> None:
    repository = make()
    chat = await session(client, repository)
    await client.turn(chat, "do write README changed ; write new 1 ; write other 1")
    state = await ready(client, "uncommitted", only("README", "new", "other"))
    discard = next(o for o in state["operations"] if o["id"] == "discard")
    assert discard["confirmation"], "the client asks before"
    new = next(f["id"] for f in state["files"] if f["id"].endswith("new"))
    await invoke(client, "discard", target={"kind": "resource", "resource": new, "side": "after"})
    await ready(client, "uncommitted", only("README", "other"))
    assert not (repository.root / "new").exists()
    await invoke(client, "discard")
    await ready(client, "uncommitted", only())
    assert (repository.root / "README").read_text() == "hello\n"
    kept = f"{prefix_of(S)}discarded/"
    assert repository.text(f"{kept}1:new") == "1"
    assert repository.text(f"{kept}2:README") == "changed"


async def test_what_would_lose_work_is_refused(client: Client, stage: Stage, make: Any) -> None:
    """A running turn (-32004), and a file that is not as it was shown."""
    repository = make()
    chat = await session(client, repository)
    client.start_turn(chat, "do write a 1 ; wait here")
    await stage.at("here").wait()
    await ready(client, "uncommitted", only("a"))
    for operation, meta in (("discard", None), ("checkout", {"x-innkeeper/branch": "main"})):
        refused = await failure(invoke(client, operation, meta))
        assert (refused.code, refused.data["code"]) == (-32004, "TURN_RUNNING")
    failed = await client.state(
        f"{S}/changeset/uncommitted", lambda s: any(o["status"] == "error" for o in s["operations"])
    )
    assert {o["error"]["errorType"] for o in failed["operations"] if o["status"] == "error"} == {"TURN_RUNNING"}
    await invoke(client, "commit", {"x-innkeeper/message": "loses nothing"})
    stage.gate("here").set()
    await client.ended(chat)
    await client.turn(chat, "do write b 1", "t2")
    state = await ready(client, "uncommitted", only("b"))
    repository.write("b", "edited by hand")
    stale = await failure(invoke(client, "discard", target={"kind": "resource", "resource": state["files"][0]["id"]}))
    assert stale.data["code"] == "CHANGESET_STALE"
    assert (repository.root / "b").read_text() == "edited by hand"


async def test_checkout_of_a_branch_and_what_git_refuses(client: Client, make: Any) -> None:
    repository = make()
    repository.git("branch", "topic")
    repository.git("checkout", "--quiet", "-b", "far")
    repository.write("README", "far\n")
    repository.commit()
    repository.git("checkout", "--quiet", "main")
    chat = await session(client, repository)
    await client.turn(chat, "do write README mine")
    await ready(client, "uncommitted", only("README"))
    assert "topic" in (await invoke(client, "checkout", {"x-innkeeper/branch": "topic"}))["message"]
    assert repository.git("branch", "--show-current") == "topic"
    refused = await failure(invoke(client, "checkout", {"x-innkeeper/branch": "far"}))
    assert refused.data["code"] == "GIT_WOULD_OVERWRITE"
    assert (await failure(invoke(client, "checkout", {"x-innkeeper/branch": "-f"}))).data["code"].startswith("GIT_")
    assert (await failure(invoke(client, "checkout"))).data["code"] == "BRANCH_MISSING"


async def test_an_invocation_is_checked(client: Client, make: Any) -> None:
    repository = make()
    chat = await session(client, repository)
    await client.turn(chat, "do write a 1")
    await ready(client, "uncommitted", only("a"))
    await ready(client, "session")
    unknown = await failure(invoke(client, "push"))
    assert (unknown.code, unknown.data["code"]) == (-32602, "OPERATION_UNKNOWN")
    span = {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}}
    uri = (repository.root / "a").as_uri()
    for target in (
        {"kind": "range", "resource": uri, "range": span},
        {"kind": "resource", "resource": "file:///etc/passwd"},
        {"kind": "resource", "resource": uri, "side": "before"},
    ):
        refused = await failure(invoke(client, "commit", target=target))
        assert (refused.code, refused.data["code"]) == (-32602, "OPERATION_TARGET")
    for channel in (f"{S}/changeset/session", S, "ahp-session:/9/changeset/uncommitted"):
        assert (await failure(client.request("invokeChangesetOperation", channel, operationId="commit"))).code == -32602


async def test_only_contents_of_known_sessions_and_repositories_are_read(client: Client, make: Any) -> None:
    repository, foreign = make(), make("foreign")
    chat = await session(client, repository)
    await client.turn(chat, "do write a 1")
    state = await ready(client, "turn/t1", only("a"))
    uri = state["files"][0]["edit"]["after"]["content"]["uri"]
    blob = foreign.git("rev-parse", "HEAD:README")
    other = f"x-innkeeper-content:/git/{quote(S, safe='')}/{quote(foreign.path, safe='')}/{blob}/README"
    assert (await failure(client.request("resourceRead", ROOT, uri=other))).data["code"] == "CONTENT_UNKNOWN"
    nobody = uri.replace(quote(S, safe=""), quote("ahp-session:/9", safe=""))
    assert (await failure(client.request("resourceRead", ROOT, uri=nobody))).code == -32008
    assert (await failure(client.request("resourceRead", ROOT, uri="file:///etc/passwd"))).code == -32009
