"""Changesets as two clients see them, over the whole host and real repositories (AHP §4, §7; reference §5.9)."""

import asyncio
import base64
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from harness.repositories import RealRepository
from innkeeper.engine.effects import Act
from innkeeper.host.changesets.checkpoints import prefix_of
from innkeeper.host.changesets.service import ChangesOutside
from innkeeper.ports.edits import EditStore
from innkeeper.ports.git import GitError
from innkeeper.providers.spi import (
    ProviderError,
    SubagentEnded,
    SubagentStarted,
    ToolCompleted,
    ToolRunning,
    ToolStarted,
    TurnOutput,
    TurnRequest,
)
from innkeeper.workspace.edit_files import EditFiles
from innkeeper.workspace.files import LocalFiles
from innkeeper.workspace.git import LocalGit
from scripted import provider
from scripted.world import Client, RpcFailure, World

pytestmark = pytest.mark.anyio
ROOT = "ahp-root://"
S = "ahp-session:/1"
Start = Callable[..., Any]


class Stage:
    """What an agent of these tests does: each prompt is a line of steps.

    `write NAME TEXT` reports the edit, `shell NAME TEXT` does not, `rm NAME`, `wait KEY` until the test says so, `fail`
    can be resumed, `break` cannot."""

    def __init__(self) -> None:
        self.gates: dict[str, asyncio.Event] = {}
        self.reached: dict[str, asyncio.Event] = {}
        self.calls = 0

    def gate(self, key: str) -> asyncio.Event:
        return self.gates.setdefault(key, asyncio.Event())

    def at(self, key: str) -> asyncio.Event:
        return self.reached.setdefault(key, asyncio.Event())

    async def run(self, session: Any, request: TurnRequest, output: TurnOutput, rest: str) -> None:
        directory = Path(session.provider.opened[-1].directories[0])
        for step in rest.split(" ; "):
            word, _, more = step.partition(" ")
            name, _, content = more.partition(" ")
            if word == "wait":
                self.at(name).set()
                await self.gate(name).wait()
            elif word == "fail":
                raise ProviderError("overloaded", "try again", resumable=True)
            elif word == "break":
                raise ProviderError("broken", "no")
            else:
                self._edit(word, directory / name, content, output)
                await asyncio.sleep(0.01)

    def _edit(self, word: str, file: Path, content: str, output: TurnOutput) -> None:
        self.calls += 1
        call = f"call-{self.calls}"
        before = file.read_bytes() if file.exists() else None
        output.emit(ToolStarted(call, word, word))
        output.emit(ToolRunning(call, word))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink() if word == "rm" else file.write_text(content)
        edit: dict[str, Any] = {"type": "fileEdit"}
        if before is not None:
            data = base64.b64encode(before).decode()
            edit["before"] = {"uri": file.as_uri(), "content": {"uri": f"data:;base64,{data}"}}
        if word != "rm":
            edit["after"] = {"uri": file.as_uri(), "content": {"uri": file.as_uri()}}
        reported = [] if word == "shell" else [edit]
        result: Any = {"success": True, "pastTenseMessage": word, "content": reported}
        output.emit(ToolCompleted(call, result))


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    stage = Stage()
    monkeypatch.setitem(provider.PROMPTS, "do", stage.run)
    return stage


@pytest.fixture
def edits(tmp_path: Path) -> EditStore:
    return EditFiles(tmp_path / "data" / "sessions")


@pytest.fixture
async def world(git: LocalGit, edits: EditStore, stage: Stage) -> AsyncIterator[World]:
    world = await World(changes=ChangesOutside(git, edits, LocalFiles(), delay=0.05)).start()
    yield world
    await world.close()


@pytest.fixture
async def client(world: World) -> Client:
    return await world.client()


async def session(client: Client, place: RealRepository | Path) -> str:
    root = place.root if isinstance(place, RealRepository) else place
    _, chat = await client.new_session(S, workingDirectories=[root.as_uri()])
    await client.state(S, lambda s: s.get("changesets"))
    return chat


async def ready(client: Client, name: str, holds: Callable[[Any], Any] = lambda s: True) -> Any:
    """The changeset, computed, once it holds."""
    uri = f"{S}/changeset/{name}"
    if uri not in client.states:
        await client.subscribe(uri)
    return await client.state(uri, lambda s: s["status"] in ("ready", "error") and holds(s))


def names(state: Any) -> list[str]:
    return sorted(file["id"].rpartition("/")[2] for file in state["files"])


def only(*wanted: str) -> Callable[[Any], bool]:
    return lambda state: names(state) == sorted(wanted)


async def read(client: Client, file: Any, side: str) -> str:
    found = await client.request("resourceRead", ROOT, uri=file["edit"][side]["content"]["uri"])
    assert found["encoding"] == "utf-8"
    return str(found["data"])


async def failure(request: Any) -> RpcFailure:
    with pytest.raises(RpcFailure) as failed:
        await request
    return failed.value


async def invoke(client: Client, operation: str, meta: Any = None, **more: Any) -> Any:
    params = {"operationId": operation, **more, **({} if meta is None else {"_meta": meta})}
    return await client.request("invokeChangesetOperation", f"{S}/changeset/uncommitted", **params)


# -- what is shown ---------------------------------------------------------------------------------------------------


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


# -- review ----------------------------------------------------------------------------------------------------------


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


# -- operations ------------------------------------------------------------------------------------------------------


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


# -- truncation and the end ------------------------------------------------------------------------------------------


async def test_a_truncated_turn_takes_its_checkpoint_and_changeset_with_it(client: Client, make: Any) -> None:
    """§4.6."""
    repository = make()
    chat = await session(client, repository)
    await client.turn(chat, "do write a 1", "t1")
    await client.turn(chat, "do write b 1", "t2")
    await ready(client, "turn/t2", only("b"))
    await ready(client, "session", only("a", "b"))
    client.dispatch(chat, "chat/truncated", turnId="t1")
    await client.state(chat, lambda s: len(s["turns"]) == 1)
    prefix = prefix_of(S)

    def kept() -> list[str]:
        listed = repository.git("for-each-ref", "--format=%(refname)", prefix).split()
        return [ref.removeprefix(prefix) for ref in listed]

    async with asyncio.timeout(10):
        while kept() != ["0", "1"]:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    assert (await failure(client.request("subscribe", f"{S}/changeset/turn/t2"))).code == -32008
    assert names(await ready(client, "session")) == ["a", "b"], "the files are still there"


async def test_a_session_takes_its_refs_and_records_with_it(
    world: World, client: Client, make: Any, edits: EditStore
) -> None:
    repository = make()
    chat = await session(client, repository)
    await client.turn(chat, "do write a 1")
    await ready(client, "turn/t1", only("a"))
    assert edits.read(S)
    await client.request("disposeSession", S)
    await world.until(lambda: not repository.git("for-each-ref", prefix_of(S)) and not edits.sessions())
    assert (await failure(client.request("subscribe", f"{S}/changeset/session"))).code == -32008
    assert (repository.root / "a").exists()


async def test_what_a_killed_host_left_of_sessions_that_are_gone_is_swept(
    world: World, make: Any, edits: EditStore, git: LocalGit
) -> None:
    edits.append("ahp-session:/gone", [{"kind": "state", "turn": "t", "chat": "c", "state": "discarded"}])
    survivor = await world.crash()
    try:
        await survivor.until(lambda: not edits.sessions())
    finally:
        await survivor.close()
    assert edits.sessions() == ()


async def test_a_turn_that_a_kill_interrupted_is_captured_by_the_next_host(
    world: World, client: Client, stage: Stage, make: Any
) -> None:
    """Nothing that was acknowledged is lost: the files of the interrupted turn are in its changeset."""
    chat = await session(client, make())
    client.start_turn(chat, "do write a 1 ; shell b 1 ; wait here")
    await stage.at("here").wait()
    await client.state(chat, lambda s: len(s["activeTurn"]["responseParts"]) == 2)
    survivor = await world.crash()
    again = await survivor.client()
    try:
        await again.subscribe(chat)
        assert (await again.ended(chat))["state"] == "error"
        assert names(await ready(again, "turn/t1", only("a", "b"))) == ["a", "b"]
    finally:
        await survivor.close()


# -- order, bounds, failures -----------------------------------------------------------------------------------------


async def test_a_turn_that_nobody_looks_at_is_not_computed_and_the_order_is_turn_session_uncommitted(
    client: Client, make: Any
) -> None:
    """§5.9."""
    chat = await session(client, make())
    await ready(client, "session")
    await ready(client, "uncommitted")
    await client.turn(chat, "do write a 1", "t1")
    await ready(client, "uncommitted", only("a"))
    assert client.actions(f"{S}/changeset/turn/t1") == []
    await ready(client, "turn/t1")
    client.start_turn(chat, "do write b 1", "t2")
    await client.state(chat, lambda s: s.get("activeTurn") or len(s["turns"]) == 2)
    await ready(client, "turn/t2", only("b"))
    await ready(client, "uncommitted", only("a", "b"))
    last = {
        name: max(
            e["serverSeq"]
            for e in client.actions(f"{S}/changeset/{name}")
            if e["action"]["type"] == "changeset/fileSet" and e["action"]["file"]["id"].endswith("/b")
        )
        for name in ("turn/t2", "session", "uncommitted")
    }
    assert last["session"] < last["uncommitted"]


async def test_the_lines_of_a_session_survive_a_restart_and_are_not_told_twice(
    world: World, client: Client, make: Any
) -> None:
    chat = await session(client, make())
    await client.turn(chat, "do write a 1")
    await client.until(lambda: [n for n in client.notices("root/sessionSummaryChanged") if "changes" in n["changes"]])
    survivor = await world.crash()
    again = await survivor.client()
    try:
        listed = await again.request("listSessions", ROOT)
        assert listed["items"][0]["changes"] == {"additions": 1, "deletions": 0, "files": 1}
        await ready(again, "session")
        await asyncio.sleep(0.05)
        assert [n for n in again.notices("root/sessionSummaryChanged") if "changes" in n["changes"]] == []
    finally:
        await survivor.close()


async def test_more_files_than_are_shown_are_a_number(
    client: Client, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("innkeeper.host.changesets.computing.CHANGESET_FILES", 3)
    repository = make()
    chat = await session(client, repository)
    for number in range(10):
        repository.write(f"f{number}", "x\n")
    await client.turn(chat, "do shell g x")
    assert len((await ready(client, "uncommitted", lambda s: s["files"]))["files"]) == 3
    state = await client.state(S, lambda s: all("description" in c for c in s["changesets"][:2]))
    assert [c["description"] for c in state["changesets"][:2]] == ["8 more files are not shown"] * 2
    listed = await client.request("listSessions", ROOT)
    assert listed["items"][0]["changes"]["files"] == 11


async def test_a_content_that_is_too_large_is_refused_and_a_large_edit_is_still_shown(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Any
) -> None:
    monkeypatch.setattr("innkeeper.host.changesets.edits.EDIT_BYTES", 100)
    monkeypatch.setattr("innkeeper.host.changesets.service.CONTENT_BYTES", 1000)
    repository = make()
    chat = await session(client, repository)
    repository.write(".gitignore", "ignored\n")
    await client.turn(chat, f"do write big {'x' * 2000} ; write ignored {'y' * 500}")
    turn = await ready(client, "turn/t1", only("big", "ignored"))
    big = next(f for f in turn["files"] if f["id"].endswith("big"))
    too_large = await failure(client.request("resourceRead", ROOT, uri=big["edit"]["after"]["content"]["uri"]))
    assert too_large.data["code"] == "CONTENT_TOO_LARGE"


class Failing:
    """A git that cannot take snapshots while `broken`."""

    def __init__(self, git: LocalGit) -> None:
        self._git = git
        self.broken = True

    async def snapshot(self, root: str, *, seconds: float | None = None) -> Any:
        if self.broken:
            raise GitError("GIT_TIMEOUT", operation="status", seconds=30)
        return await self._git.snapshot(root)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._git, name)


async def test_a_failed_capture_is_visible_and_the_changesets_are_computed_all_the_same(
    git: LocalGit, edits: EditStore, stage: Stage, make: Any
) -> None:
    """C9, §10.12: said once in the conversation and by the turn's changeset, which shows what tools reported."""
    failing: Any = Failing(git)
    world = await World(changes=ChangesOutside(failing, edits, LocalFiles(), delay=0.05)).start()
    try:
        client = await world.client()
        chat = await session(client, make())
        turn = await client.turn(chat, "do write a 1 ; shell b 1", "t1")
        notices = [part["content"] for part in turn["responseParts"] if part["kind"] == "systemNotification"]
        assert len(notices) == 1
        assert "GIT_TIMEOUT" in notices[0]
        state = await ready(client, "turn/t1", only("a"))
        assert (state["status"], state["error"]["errorType"]) == ("error", "checkpointFailed")
        broken = await ready(client, "uncommitted")
        assert (broken["status"], broken["error"]["errorType"]) == ("error", "computeFailed")
        failing.broken = False
        again = await client.turn(chat, "do write c 1", "t2")
        assert not [part for part in again["responseParts"] if part["kind"] == "systemNotification"]
        healed = await ready(client, "uncommitted", only("a", "b", "c"))
        assert (healed["status"], healed.get("error")) == ("ready", None)
    finally:
        await world.close()


async def test_sessions_with_several_directories_show_them_all(
    client: Client, world: World, make: Any, tmp_path: Path
) -> None:
    """Two repositories and a plain folder: each is captured, committed and discarded by itself."""
    one, two = make("one"), make("two")
    plain = tmp_path / "plain"
    plain.mkdir()
    world.scripted.directories = True
    root = world.hub.head(ROOT)
    assert root is not None
    world.driver.post(Act(ROOT, {"type": "root/agentsChanged", "agents": [world.scripted.info]}))
    uris = [one.root.as_uri(), two.root.as_uri(), plain.as_uri()]
    _, chat = await client.new_session(S, workingDirectories=uris)
    await client.turn(chat, f"do write a 1 ; write ../two/b 1 ; write {plain}/c 1")
    turn = await ready(client, "turn/t1", only("a", "b", "c"))
    assert turn["status"] == "ready"
    assert names(await ready(client, "uncommitted", only("a", "b"))) == ["a", "b"]
    assert names(await ready(client, "session", only("a", "b", "c"))) == ["a", "b", "c"]
    assert (await invoke(client, "commit", {"x-innkeeper/message": "both"}))["message"].count("\n") == 1
    assert one.git("log", "-1", "--format=%s") == two.git("log", "-1", "--format=%s") == "both"


async def test_what_a_subagent_edits_is_of_the_turn_that_spawned_it(
    client: Client, stage: Stage, make: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    place = tmp_path / "plain"
    place.mkdir()

    async def spawn(of: Any, request: TurnRequest, output: TurnOutput, rest: str) -> None:
        output.emit(ToolStarted("task", "task", "Task"))
        output.emit(ToolRunning("task", "Task"))
        output.emit(SubagentStarted("task", "Helper"))
        file = place / "by-helper"
        file.write_text("x")
        content = {"type": "fileEdit", "after": {"uri": file.as_uri(), "content": {"uri": file.as_uri()}}}
        result: Any = {"success": True, "pastTenseMessage": "wrote", "content": [content]}
        output.emit(ToolStarted("inner", "write", "Write", subagent="task"))
        output.emit(ToolRunning("inner", "Write", subagent="task"))
        output.emit(ToolCompleted("inner", result, subagent="task"))
        output.emit(SubagentEnded("task"))
        output.emit(ToolCompleted("task", {"success": True, "pastTenseMessage": "done"}))
        await asyncio.sleep(0.01)

    monkeypatch.setitem(provider.PROMPTS, "spawn", spawn)
    chat = await session(client, place)
    await client.turn(chat, "spawn")
    assert names(await ready(client, "turn/t1", only("by-helper"))) == ["by-helper"]
    helper = next(c["resource"] for c in client.states[S]["chats"] if c["resource"] != chat)
    inner = (await client.subscribe(helper))["turns"][0]["id"]
    assert names(await ready(client, f"turn/{inner}", only("by-helper"))) == ["by-helper"]


async def test_a_forks_copied_turns_show_what_they_did(client: Client, make: Any, tmp_path: Path) -> None:
    place = tmp_path / "plain"
    place.mkdir()
    chat = await session(client, place)
    await client.turn(chat, "do write a 1")
    await client.request("createChat", S, chat="ahp-chat:/fork", source={"kind": "fork", "chat": chat, "turnId": "t1"})
    copied = (await client.subscribe("ahp-chat:/fork"))["turns"][0]["id"]
    assert copied != "t1"
    state = await ready(client, f"turn/{copied}", only("a"))
    assert await read(client, state["files"][0], "after") == "1"


async def test_an_edit_that_was_announced_is_known_as_it_was_before(
    world: World, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: Stage
) -> None:
    """ToolCall `edits` (AHP §9.2): a call that only says beforehand what it will change, without a repository."""
    place = tmp_path / "plain"
    place.mkdir()
    file = place / "a"
    file.write_text("before\n")

    async def announce(of: Any, request: TurnRequest, output: TurnOutput, rest: str) -> None:
        output.emit(ToolStarted("call", "edit", "Edit"))
        await asyncio.sleep(0.01)
        side = {"uri": file.as_uri(), "content": {"uri": file.as_uri()}}
        edits = {"items": [{"before": side, "after": side}]}
        ready: Any = {"type": "chat/toolCallReady", "turnId": "t1", "toolCallId": "call", "invocationMessage": "Edit"}
        world.driver.post(Act(chat, {**ready, "edits": edits}))
        stage.at("asked").set()
        await stage.gate("answered").wait()
        file.write_text("after\n")
        output.emit(ToolCompleted("call", {"success": True, "pastTenseMessage": "edited"}))
        await asyncio.sleep(0.01)

    monkeypatch.setitem(provider.PROMPTS, "announce", announce)
    chat = await session(client, place)
    client.start_turn(chat, "announce")
    await stage.at("asked").wait()
    await client.action(chat, "chat/toolCallReady")
    await asyncio.sleep(0.05)
    approval: Any = {"turnId": "t1", "toolCallId": "call", "approved": True, "confirmed": "user-action"}
    await client.echo(client.dispatch(chat, "chat/toolCallConfirmed", **approval))
    stage.gate("answered").set()
    await client.ended(chat)
    state = await ready(client, "turn/t1", only("a"))
    (shown,) = state["files"]
    assert (await read(client, shown, "before"), await read(client, shown, "after")) == ("before\n", "after\n")
    assert shown["edit"]["diff"] == {"added": 1, "removed": 1}
