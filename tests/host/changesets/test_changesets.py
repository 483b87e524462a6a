"""Changesets as two clients see them, over the whole host and real repositories (AHP §7; reference §5.9)."""

import base64
from pathlib import Path
from typing import Any

import pytest

from harness.changeset_stage import ROOT, S, Stage, failure, invoke, names, only, read, ready, session
from harness.repositories import RealRepository
from innkeeper.host.changesets.checkpoints import prefix_of
from scripted.world import Client, World

pytestmark = pytest.mark.anyio


async def test_a_turn_is_shown_in_its_changesets_with_contents_to_read(client: Client, make: Any) -> None:
    repository = make()
    chat = await session(client, repository)
    assert [c["changeKind"] for c in client.states[S]["changesets"]] == [
        "session",
        "uncommitted",
        "turn",
        "compare-turns",
    ]
    assert [c["changeKind"] for c in client.states[chat]["changesets"]] == ["turn", "compare-turns"]
    await client.turn(chat, "do write new.txt one ; write README hello2 ; shell quiet x")
    turn = await ready(client, "turn/t1", only("README", "new.txt", "quiet"))
    readme = next(f for f in turn["files"] if f["id"].endswith("README"))
    assert readme["edit"]["diff"] == {"added": 1, "removed": 1}
    assert (await read(client, readme, "before"), await read(client, readme, "after")) == ("hello\n", "hello2")
    new = next(f for f in turn["files"] if f["id"].endswith("new.txt"))
    assert "before" not in new["edit"]
    for name in ("session", "uncommitted"):
        assert names(await ready(client, name)) == ["README", "new.txt", "quiet"]
    listed = await client.request("listSessions", ROOT)
    assert listed["items"][0]["changes"] == {"additions": 3, "deletions": 1, "files": 3}


async def test_two_clients_see_equal_changesets(world: World, client: Client, make: Any) -> None:
    chat, other = await session(client, make()), await world.client()
    for name in ("session", "uncommitted"):
        await ready(client, name)
        await ready(other, name)
    await client.turn(chat, "do write a 1 ; write b 2")
    for one in (client, other):
        await ready(one, "uncommitted", only("a", "b"))
        await ready(one, "session", only("a", "b"))
    world.check_mirrors(client, other)
    assert client.states[f"{S}/changeset/session"] == other.states[f"{S}/changeset/session"]


async def test_what_the_user_edits_between_turns_is_not_the_second_turns(client: Client, make: Any) -> None:
    """S16."""
    repository = make()
    chat = await session(client, repository)
    await client.turn(chat, "do write a 1", "t1")
    await ready(client, "turn/t1", only("a"))
    repository.write("mine", "by hand")
    await client.turn(chat, "do write b 1", "t2")
    assert names(await ready(client, "turn/t2", only("b"))) == ["b"]
    assert names(await ready(client, "uncommitted", only("a", "b", "mine"))) == ["a", "b", "mine"]


async def test_turns_that_overlap_each_show_what_they_did(
    world: World, client: Client, stage: Stage, make: Any
) -> None:
    """S17, as §10.11 and the issue decide: shared files under both, silent ones under every turn, nothing lost."""
    repository = make()
    repository.write("shared", "0\n")
    repository.commit()
    first = await session(client, repository)
    await client.request("createChat", S, chat="ahp-chat:/2")
    second = "ahp-chat:/2"
    await client.subscribe(second)
    client.start_turn(first, "do wait begin ; write only-1 x ; write shared 0\n1\n ; wait one ; shell silent x", "t1")
    client.start_turn(second, "do wait begin2 ; wait two ; write shared 0\n1\n2\n ; write only-2 x", "t2")
    await stage.at("begin").wait()
    await stage.at("begin2").wait()
    stage.gate("begin").set()
    stage.gate("begin2").set()
    await stage.at("one").wait()
    await ready(client, "turn/t1", only("only-1", "shared"))
    stage.gate("two").set()
    await client.ended(second, "t2")
    two = await ready(client, "turn/t2", only("only-2", "shared"))
    stage.gate("one").set()
    await client.ended(first, "t1")
    one = await ready(client, "turn/t1", only("only-1", "shared", "silent"))
    kinds = {f["id"].rpartition("/")[2]: f["_meta"]["x-innkeeper/attribution"]["kind"] for f in one["files"]}
    assert kinds == {"only-1": "own", "shared": "shared", "silent": "unattributed"}
    mine, theirs = (next(f for f in state["files"] if f["id"].endswith("shared")) for state in (one, two))
    assert (await read(client, mine, "before"), await read(client, mine, "after")) == ("0\n", "0\n1\n")
    assert (await read(client, theirs, "before"), await read(client, theirs, "after")) == ("0\n1\n", "0\n1\n2\n")
    assert mine["edit"]["diff"] == theirs["edit"]["diff"] == {"added": 1, "removed": 0}
    assert mine["_meta"]["x-innkeeper/attribution"]["sharedWith"] == ["t2"]
    survivor = await world.crash()
    again = await survivor.client()
    try:
        assert names(await ready(again, "turn/t1")) == ["only-1", "shared", "silent"], "and after a kill"
        assert names(await ready(again, "turn/t2")) == ["only-2", "shared"]
    finally:
        await survivor.close()


async def test_without_a_repository_there_is_what_tools_reported(client: Client, tmp_path: Path) -> None:
    """S18: a silent edit is not seen, and there is nothing uncommitted."""
    place = tmp_path / "plain"
    place.mkdir()
    (place / "old").write_text("1\n")
    chat = await session(client, place)
    assert [c["changeKind"] for c in client.states[S]["changesets"]] == ["session", "turn"]
    await client.turn(chat, "do write old 2 ; write new x ; rm old ; shell silent x")
    turn = await ready(client, "turn/t1", only("new", "old"))
    gone = next(f for f in turn["files"] if f["id"].endswith("old"))
    assert "after" not in gone["edit"]
    assert await read(client, gone, "before") == "1\n"
    assert names(await ready(client, "session", only("new", "old"))) == ["new", "old"]
    assert (await failure(client.subscribe(f"{S}/changeset/uncommitted"))).code == -32008


async def test_a_silent_edit_in_a_repository_is_seen(client: Client, make: Any) -> None:
    """S18, with git."""
    chat = await session(client, make())
    await client.turn(chat, "do shell x 1")
    assert names(await ready(client, "turn/t1", only("x"))) == ["x"]


async def test_a_comparison_of_two_turns_and_one_without_a_checkpoint(client: Client, make: Any) -> None:
    """S19."""
    chat = await session(client, make())
    await client.turn(chat, "do write a 1", "t1")
    await client.turn(chat, "do write b 1", "t2")
    assert names(await ready(client, "compare/t1/t2", only("b"))) == ["b"]
    missing = await ready(client, "compare/t1/nope")
    assert (missing["status"], missing["error"]["errorType"]) == ("error", "computeFailed")
    assert (await failure(client.subscribe(f"{S}/changeset/turn/nope"))).code == -32008


async def test_ten_edits_in_a_running_turn_are_one_computation(client: Client, stage: Stage, make: Any) -> None:
    """S20, with the delay of this test."""
    chat = await session(client, make())
    await ready(client, "uncommitted")
    count = len(client.actions(f"{S}/changeset/uncommitted", "changeset/statusChanged"))
    writes = " ; ".join(f"write f{n} x" for n in range(4))
    client.start_turn(chat, f"do {writes} ; wait here")
    await ready(client, "uncommitted", lambda s: len(s["files"]) == 4)
    statuses = [a["action"]["status"] for a in client.actions(f"{S}/changeset/uncommitted", "changeset/statusChanged")]
    assert statuses[count:] in (["recomputing", "ready"], ["recomputing", "ready"] * 2)
    stage.gate("here").set()
    await client.ended(chat)


async def test_a_running_turn_shows_what_it_did_so_far(client: Client, stage: Stage, make: Any) -> None:
    chat = await session(client, make())
    client.start_turn(chat, "do write a 1 ; wait here ; write b 1")
    await stage.at("here").wait()
    assert names(await ready(client, "turn/t1", only("a"))) == ["a"]
    stage.gate("here").set()
    assert names(await ready(client, "turn/t1", only("a", "b"))) == ["a", "b"]


async def test_a_cancelled_turn_has_no_checkpoint_but_its_files_are_in_view(
    client: Client, stage: Stage, make: Any
) -> None:
    """C10."""
    repository = make()
    chat = await session(client, repository)
    client.start_turn(chat, "do write a 1 ; wait here")
    await stage.at("here").wait()
    client.dispatch(chat, "chat/turnCancelled", turnId="t1", duration=0)
    await client.ended(chat)
    assert names(await ready(client, "uncommitted", only("a"))) == ["a"]
    assert names(await ready(client, "turn/t1", only("a"))) == ["a"], "from the edit log"
    await client.turn(chat, "do write b 1", "t2")
    await ready(client, "turn/t2", only("b"))
    refs = repository.git("for-each-ref", "--format=%(refname)", prefix_of(S)).split()
    assert [ref.rpartition("/")[2] for ref in refs] == ["0", "1"]


async def test_a_resumable_failure_keeps_the_turn_open_and_one_for_good_ends_it(client: Client, make: Any) -> None:
    """C11, §3.6."""
    repository = make()
    chat = await session(client, repository)
    await client.turn(chat, "do write a 1 ; fail")
    assert names(await ready(client, "uncommitted", only("a"))) == ["a"]
    prefix = prefix_of(S)
    assert repository.git("for-each-ref", "--format=%(refname)", f"{prefix}1") == ""
    client.dispatch(chat, "chat/turnResume", turnId="t1")
    await client.state(chat, lambda s: s["turns"] and s["turns"][-1]["state"] == "complete")
    assert names(await ready(client, "turn/t1", only("a"))) == ["a"]
    await client.until(lambda: repository.git("for-each-ref", "--format=%(refname)", f"{prefix}1") or None)
    await client.turn(chat, "do write b 1 ; break", "t2")
    assert names(await ready(client, "turn/t2", only("b"))) == ["b"]


async def test_files_of_every_kind(client: Client, make: Any) -> None:
    """Binary, rename, symlink, executable, submodule, LFS pointer, a name that is not ASCII."""
    repository = make()
    inner = make("inner")
    repository.write("old name.txt", "line\n" * 20)
    repository.git("submodule", "--quiet", "add", inner.path, "sub")
    repository.commit()
    await session(client, repository)
    repository.git("mv", "old name.txt", "neü.txt")
    repository.write("bin", b"\0\1\2")
    (repository.root / "link").symlink_to("README")
    repository.write("run.sh", "#!/bin/sh\n").chmod(0o755)
    repository.write(
        "model.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:" + "a" * 64 + "\nsize 12345\n"
    )
    RealRepository(repository.root / "sub", repository.variables).commit("inner change")
    state = await ready(client, "uncommitted", lambda s: len(s["files"]) == 6)
    files = {file["id"].rpartition("/")[2]: file for file in state["files"]}
    renamed = files["ne%C3%BC.txt"]["edit"]
    assert renamed["before"]["uri"].endswith("/old%20name.txt")
    assert renamed["diff"] == {"added": 0, "removed": 0}
    assert "diff" not in files["bin"]["edit"]
    metas = {name: file.get("_meta", {}) for name, file in files.items()}
    assert metas["bin"] == {"x-innkeeper/binary": True}
    assert metas["link"]["x-innkeeper/kind"] == "symlink"
    assert metas["run.sh"]["x-innkeeper/kind"] == "executable"
    assert metas["model.bin"]["x-innkeeper/lfs"] is True
    assert metas["sub"]["x-innkeeper/kind"] == "submodule"
    assert await read(client, files["link"], "after") == "README"
    assert (await read(client, files["sub"], "after")).startswith("Subproject commit ")
    content = files["bin"]["edit"]["after"]["content"]
    found = await client.request("resourceRead", ROOT, uri=content["uri"])
    assert base64.b64decode(found["data"]) == b"\0\1\2"
    assert content["sizeHint"] == 3


@pytest.mark.parametrize("state", ["empty", "detached"])
async def test_repositories_without_a_commit_or_a_branch(client: Client, make: Any, state: str) -> None:
    repository = make(commit=state != "empty")
    if state == "detached":
        repository.git("checkout", "--quiet", "--detach")
    chat = await session(client, repository)
    await client.turn(chat, "do write a 1")
    for name in ("turn/t1", "session", "uncommitted"):
        assert names(await ready(client, name, only("a"))) == ["a"]
    result = await invoke(client, "commit")
    assert "Committed" in result["message"]
    assert names(await ready(client, "uncommitted", only())) == []


async def test_the_session_is_compared_with_where_its_branch_left_the_base(client: Client, make: Any) -> None:
    """§5.9: the merge base with the branch that work starts from; so commits of the branch are in view."""
    repository = make()
    repository.git("checkout", "--quiet", "-b", "topic")
    repository.write("committed", "x")
    repository.commit()
    chat = await session(client, repository)
    await client.turn(chat, "do write a 1")
    assert names(await ready(client, "session", only("a", "committed"))) == ["a", "committed"]
    assert names(await ready(client, "uncommitted", only("a"))) == ["a"]
