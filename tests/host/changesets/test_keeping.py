"""What stays and what goes, bounds, order and failures (reference §3.6, §4.6, §5.8, §10.12)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from harness.changeset_stage import ROOT, S, Stage, failure, invoke, names, only, read, ready, session
from innkeeper.engine.effects import Act
from innkeeper.host.changesets.checkpoints import prefix_of
from innkeeper.host.changesets.service import ChangesOutside
from innkeeper.ports.edits import EditStore
from innkeeper.ports.git import GitError
from innkeeper.ports.questions import Confirmation, Intent
from innkeeper.providers.spi import (
    SubagentEnded,
    SubagentStarted,
    ToolCompleted,
    ToolRunning,
    ToolStarted,
    TurnOutput,
    TurnRequest,
)
from innkeeper.workspace.files import LocalFiles
from innkeeper.workspace.git import LocalGit
from scripted import provider
from scripted.world import Client, World

pytestmark = pytest.mark.anyio


async def test_a_truncated_turn_takes_its_checkpoint_and_changeset_with_it(
    world: World, client: Client, make: Any
) -> None:
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

    await world.until(lambda: world.driver.kind(f"{S}/changeset/turn/t2") is None and kept() == ["0", "1"])
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


async def test_a_call_that_was_asked_about_is_looked_at_before_it_writes(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: Stage
) -> None:
    """Without a repository and without contents in the report: as agents report, with the file itself on both sides."""
    place = tmp_path / "plain"
    place.mkdir()
    file = place / "a"
    file.write_text("before\n")

    async def ask(of: Any, request: TurnRequest, output: TurnOutput, rest: str) -> None:
        output.emit(ToolStarted("call", "edit", "Edit"))
        intent = Intent("write", directory=str(place), paths=["a"])
        answer = await output.confirm("call", Confirmation("Edit?", "Edit a", "{}", intent=intent))
        assert answer.approved
        file.write_text("after\n")
        side = {"uri": file.as_uri(), "content": {"uri": file.as_uri()}}
        content = {"type": "fileEdit", "before": side, "after": side, "diff": {"added": 1, "removed": 1}}
        result: Any = {"success": True, "pastTenseMessage": "edited", "content": [content]}
        output.emit(ToolCompleted("call", result))
        await asyncio.sleep(0.01)

    monkeypatch.setitem(provider.PROMPTS, "ask-write", ask)
    chat = await session(client, place)
    client.start_turn(chat, "ask-write")
    waiting = await client.until(lambda: client.actions(chat, "chat/toolCallReady") or client.states[chat]["turns"])
    if not client.states[chat]["turns"] and "confirmed" not in waiting[0]["action"]:
        approval: Any = {"turnId": "t1", "toolCallId": "call", "approved": True, "confirmed": "user-action"}
        client.dispatch(chat, "chat/toolCallConfirmed", **approval)
    await client.ended(chat)
    (shown,) = (await ready(client, "turn/t1", only("a")))["files"]
    assert (await read(client, shown, "before"), await read(client, shown, "after")) == ("before\n", "after\n")


async def test_lines_that_a_report_counted_are_shown_where_nobody_knows_the_contents(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: Stage
) -> None:
    place = tmp_path / "plain"
    place.mkdir()
    file = place / "a"
    file.write_text("before\n")

    async def edit(of: Any, request: TurnRequest, output: TurnOutput, rest: str) -> None:
        output.emit(ToolStarted("call", "edit", "Edit"))
        file.write_text("after\nmore\n")
        side = {"uri": file.as_uri(), "content": {"uri": file.as_uri()}}
        content = {"type": "fileEdit", "before": side, "after": side, "diff": {"added": 2, "removed": 1}}
        result: Any = {"success": True, "pastTenseMessage": "edited", "content": [content]}
        output.emit(ToolCompleted("call", result))
        await asyncio.sleep(0.01)

    monkeypatch.setitem(provider.PROMPTS, "edit-unasked", edit)
    chat = await session(client, place)
    await client.turn(chat, "edit-unasked")
    (shown,) = (await ready(client, "turn/t1", only("a")))["files"]
    assert shown["edit"]["diff"] == {"added": 2, "removed": 1}
    assert await read(client, shown, "after") == "after\nmore\n"


async def test_a_turn_is_shown_when_its_working_tree_has_gone(client: Client, make: Any, tmp_path: Path) -> None:
    """An archived session's worktree: the repository still has what the checkpoints keep."""
    main = make()
    linked = tmp_path / "linked"
    main.git("worktree", "add", "--quiet", "-b", "topic", str(linked))
    chat = await session(client, linked)
    await client.turn(chat, "do write README changed")
    await ready(client, "session", only("README"))
    main.git("worktree", "remove", "--force", str(linked))
    (shown,) = (await ready(client, "turn/t1", only("README")))["files"]
    assert (await read(client, shown, "before"), await read(client, shown, "after")) == ("hello\n", "changed")
    await client.request("disposeSession", S)
    async with asyncio.timeout(10):
        while main.git("for-each-ref", prefix_of(S)):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    assert main.git("for-each-ref", prefix_of(S)) == ""


class NoGit:
    """A machine without git."""

    def __getattr__(self, name: str) -> Any:
        async def missing(*arguments: Any, **more: Any) -> Any:
            raise GitError("GIT_MISSING", reason="no such program")

        return missing


async def test_without_git_on_the_machine_the_edit_log_is_all_and_nothing_has_failed(
    edits: EditStore, stage: Stage, make: Any
) -> None:
    """S18."""
    nothing: Any = NoGit()
    world = await World(changes=ChangesOutside(nothing, edits, LocalFiles(), delay=0.05)).start()
    try:
        client = await world.client()
        chat = await session(client, make())
        turn = await client.turn(chat, "do write a 1")
        assert not [part for part in turn["responseParts"] if part["kind"] == "systemNotification"]
        assert (await ready(client, "turn/t1", only("a")))["status"] == "ready"
        assert [c["changeKind"] for c in client.states[S]["changesets"]] == ["session", "turn"]
    finally:
        await world.close()


async def test_a_session_that_left_memory_comes_back_with_what_it_did(
    world: World, client: Client, make: Any, edits: EditStore
) -> None:
    """Its book is read again: checkpoints, and what the same turn reported."""
    chat = await session(client, make())
    await client.turn(chat, "do write a 1")
    await ready(client, "turn/t1", only("a"))
    assert world.service._changes is not None
    world.service._changes.left(S)
    assert world.service._changes._books.known(S) is None
    await client.turn(chat, "do write a 2 ; write b 1", "t2")
    assert names(await ready(client, "turn/t2", only("a", "b"))) == ["a", "b"]
    assert names(await ready(client, "compare/t1/t2", only("a", "b"))) == ["a", "b"]
