"""Archive, return, deletion and sudden death of worktrees, with real repositories (reference §5.7, §5.3, S15)."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.repositories import RealRepository
from innkeeper.host.worktrees import WorktreesOutside
from innkeeper.host.worktrees.records import Record, Records
from innkeeper.ports.notes import MemoryNotes
from innkeeper.workspace.git import LocalGit
from innkeeper.workspace.git.folders import LocalFolders
from innkeeper.workspace.note_file import NoteFile
from scripted.world import Client, World

pytestmark = pytest.mark.anyio
# ruff: noqa: ASYNC240 - small files of a test


class Session:
    """A session with a worktree, at work on `agents/hello`."""

    def __init__(self, world: World, client: Client, uri: str, chat: str, place: Path, main: RealRepository) -> None:
        self.world, self.client, self.uri, self.chat, self.place, self.main = world, client, uri, chat, place, main

    @classmethod
    async def begun(cls, world: World, main: RealRepository, **config: Any) -> "Session":
        client = await world.client()
        uri, chat = await client.new_session(workingDirectories=[main.root.as_uri()], config=config)
        await client.turn(chat, "hello")
        (directory,) = client.states[uri]["workingDirectories"]
        return cls(world, client, uri, chat, Path(directory.removeprefix("file://")), main)

    @property
    def inside(self) -> RealRepository:
        return RealRepository(self.place, self.main.variables)

    def archive(self, archived: bool = True) -> None:
        self.client.dispatch(self.uri, "session/isArchivedChanged", isArchived=archived)

    async def away(self) -> None:
        """Put away, and the record says so."""
        await self.world.until(lambda: self.stage == "archived")
        assert not self.place.exists()

    async def gone(self) -> None:
        """Deleted with its record."""
        await self.world.until(lambda: self.stage is None)
        assert not self.place.exists()

    @property
    def stage(self) -> str | None:
        record = self.world.service._worktrees._records.get(self.uri)
        return None if record is None else record.stage

    async def back(self) -> None:
        await self.world.until(lambda: self.stage == "made")

    def log(self, branch: str = "agents/hello") -> list[str]:
        return self.main.git("log", "--format=%s", branch).split("\n")


async def test_s15_uncommitted_work_is_committed_and_comes_back_with_the_session(
    world: World, repository: RealRepository
) -> None:
    repository.write(".gitignore", ".env\n")
    repository.commit()
    repository.write(".env", "1")
    session = await Session.begun(world, repository, includeFiles=[".env"])
    session.inside.write("new file ü", "work")
    session.inside.write("README", "edited\n")
    session.archive()
    await session.away()
    assert session.log()[0] == "Saved before archiving"
    assert len(repository.git("worktree", "list").split("\n")) == 1
    assert not (repository.root.parent / "repo.worktrees").exists()
    assert world.scripted.closed == [session.uri]
    session.archive(False)
    await session.back()
    assert (session.place / "new file ü").read_text() == "work"
    assert (session.place / ".env").read_text() == "1"
    turn = await session.client.turn(session.chat, "hello", "t2")
    assert turn["state"] == "complete"
    assert world.scripted.opened[-1].directories == [str(session.place)]


async def test_without_changes_nothing_is_committed(world: World, repository: RealRepository) -> None:
    session = await Session.begun(world, repository)
    session.archive()
    await session.away()
    assert session.log() == ["first"]


async def test_the_branch_that_is_checked_out_is_what_comes_back(world: World, repository: RealRepository) -> None:
    session = await Session.begun(world, repository)
    session.inside.git("checkout", "--quiet", "-b", "renamed-by-agent")
    session.inside.write("work", "1")
    session.archive()
    await session.away()
    assert session.log("renamed-by-agent")[0] == "Saved before archiving"
    session.archive(False)
    await session.back()
    assert session.inside.git("branch", "--show-current") == "renamed-by-agent"


@pytest.mark.parametrize("state", ["detached", "branch gone", "unmerged", "dirty submodule"])
async def test_rather_than_lose_something_a_worktree_stays(
    world: World, repository: RealRepository, tmp_path: Path, state: str
) -> None:
    session = await Session.begun(world, repository)
    inside = session.inside
    inside.write("work", "1")
    if state == "detached":
        inside.git("checkout", "--quiet", "--detach")
    elif state == "branch gone":
        inside.git("update-ref", "-d", "refs/heads/agents/hello")
    elif state == "unmerged":
        inside.commit("ours")
        inside.git("checkout", "--quiet", "-b", "theirs", "main")
        inside.write("work", "2")
        inside.commit("theirs")
        inside.git("merge", "agents/hello", check=False)
    else:
        part = RealRepository.made(tmp_path / "part", repository.variables)
        inside.git("submodule", "--quiet", "add", part.path, "part")
        inside.commit("with a part")
        inside.write("part/new", "1")
    session.archive()
    assert not await world.service._worktrees.archive(session.uri)
    assert (session.place / "work").exists()
    session.archive(False)
    assert (await session.client.turn(session.chat, "hello", "t2"))["state"] == "complete"


async def test_a_running_turn_ends_before_the_worktree_goes(world: World, repository: RealRepository) -> None:
    session = await Session.begun(world, repository)
    session.client.start_turn(session.chat, "wait-for-abort", "t2")
    await session.client.state(session.chat, lambda s: s.get("activeTurn"))
    session.archive()
    await session.client.action(session.uri, "session/isArchivedChanged")
    assert session.place.exists()
    session.client.dispatch(session.chat, "chat/turnCancelled", turnId="t2", duration=1)
    await session.away()
    assert session.log() == ["first"]


async def test_a_branch_that_is_checked_out_elsewhere_meanwhile_is_said_at_the_next_turn(
    world: World, repository: RealRepository
) -> None:
    session = await Session.begun(world, repository)
    session.archive()
    await session.away()
    repository.git("checkout", "--quiet", "agents/hello")
    session.archive(False)
    await session.client.action(session.uri, "session/isArchivedChanged", 2)
    error = _error(await session.client.turn(session.chat, "hello", "t2"))
    assert error["errorType"] == "workingDirectoryFailed" and "agents/hello" in error["message"]
    repository.git("checkout", "--quiet", "main")
    assert (await session.client.turn(session.chat, "hello", "t3"))["state"] == "complete"


async def test_a_deleted_session_takes_its_worktree_and_an_empty_branch_with_it(
    world: World, repository: RealRepository
) -> None:
    session = await Session.begun(world, repository)
    await session.client.request("disposeSession", session.uri)
    await session.gone()
    assert repository.git("branch", "--list", "agents/*") == ""
    assert world.worktrees is not None and world.worktrees.notes.load() == {"version": 1, "worktrees": []}


async def test_a_deleted_sessions_work_stays_on_its_branch(world: World, repository: RealRepository) -> None:
    session = await Session.begun(world, repository)
    session.inside.write("work", "1")
    await session.client.request("disposeSession", session.uri)
    await session.gone()
    assert session.log()[0] == "Saved before deleting the session"


async def test_a_host_that_restarts_knows_its_worktrees(world: World, repository: RealRepository) -> None:
    session = await Session.begun(world, repository)
    later = await world.crash()
    client = await later.client()
    await client.subscribe(session.uri)
    await client.subscribe(session.chat)
    await later.until(lambda: later.service._worktrees.branch(session.uri) == "agents/hello")
    turn = await client.turn(session.chat, "hello", "t2")
    assert turn["state"] == "complete" and len(list((repository.root.parent / "repo.worktrees").iterdir())) == 1
    place = later.service.place(session.uri, session.place.as_uri())
    assert place.repository == repository.root.as_uri()
    await later.close()


@pytest.mark.parametrize("reached", ["nothing", "branch", "directory", "all", "files", "taken by a person"])
async def test_what_was_being_made_is_taken_back_at_the_next_start(
    outside: WorktreesOutside, repository: RealRepository, reached: str
) -> None:
    head = repository.git("rev-parse", "HEAD")
    path = repository.root.parent / "repo.worktrees" / "hello"
    record = _record(repository, path, head)
    await _written(outside, record)
    if reached == "branch":
        repository.git("branch", "agents/hello")
    elif reached == "directory":
        path.mkdir(parents=True)
    elif reached == "all":
        repository.git("worktree", "add", "--quiet", "-b", "agents/hello", str(path))
    elif reached == "files":
        repository.git("branch", "agents/hello")
        path.mkdir(parents=True)
        (path / "README").write_text("hello\n")
    elif reached == "taken by a person":
        repository.git("worktree", "add", "--quiet", "-b", "mine", str(path))
    world = await World(worktrees=outside).start()
    await world.until(lambda: world.service._worktrees._swept.is_set())
    if reached == "taken by a person":
        assert (path / "README").exists()
        assert repository.git("branch", "--list", "mine") != ""
    else:
        assert not path.exists() and len(repository.git("worktree", "list").split("\n")) == 1
    assert repository.git("branch", "--list", "agents/*") == ""
    assert outside.notes.load()["worktrees"] == []
    await world.close()


async def cut_short(world: World, session: Session, stage: Any) -> World:
    """The host dies in that stage of the session's worktree; the next one has put things right."""
    assert world.worktrees is not None
    records = Records(world.worktrees.notes)
    await records.load()
    record = records.get(session.uri)
    assert record is not None
    await records.put(replace(record, stage=stage))
    later = await world.crash()
    await later.until(lambda: later.service._worktrees._swept.is_set())
    return later


@pytest.mark.parametrize("stage", ["removing", "deleting"])
async def test_a_removal_that_was_cut_short_goes_on_and_commits_no_half_directory(
    world: World, repository: RealRepository, stage: str
) -> None:
    session = await Session.begun(world, repository)
    session.inside.write("work", "1")
    session.inside.commit("work")
    (session.place / "README").unlink()
    later = await cut_short(world, session, stage)
    assert not session.place.exists()
    assert session.log() == ["work", "first"]
    await later.close()


async def test_a_removal_that_was_cut_short_is_no_deletion_for_a_later_archive_either(
    world: World, repository: RealRepository
) -> None:
    session = await Session.begun(world, repository)
    service = world.service._worktrees
    await service._records.put(replace(service._records.get(session.uri), stage="removing"))
    (session.place / "README").unlink()
    assert await service.archive(session.uri)
    assert session.log() == ["first"]


async def test_an_archiving_that_was_cut_short_goes_on(world: World, repository: RealRepository) -> None:
    session = await Session.begun(world, repository)
    session.inside.write("work", "1")
    later = await cut_short(world, session, "archiving")
    assert not session.place.exists()
    assert session.log()[0] == "Saved before archiving"
    assert await later.service._worktrees.restore(session.uri)
    assert (session.place / "work").read_text() == "1"
    await later.close()


async def test_a_session_that_is_gone_leaves_no_worktree(outside: WorktreesOutside, repository: RealRepository) -> None:
    head = repository.git("rev-parse", "HEAD")
    path = repository.root.parent / "repo.worktrees" / "hello"
    repository.git("worktree", "add", "--quiet", "-b", "agents/hello", str(path))
    (path / "work").write_text("1")
    await _written(outside, replace(_record(repository, path, head), stage="made"))
    world = await World(worktrees=outside).start()
    await world.until(lambda: world.service._worktrees._swept.is_set())
    assert not path.exists()
    assert repository.git("log", "-1", "--format=%s", "agents/hello") == "Saved before deleting the session"
    await world.close()


async def test_without_its_record_a_worktree_is_a_folder_like_any_other(
    world: World, outside: WorktreesOutside, repository: RealRepository
) -> None:
    """By the host's own record, never by what `.git` says: nothing is made of it, and nothing taken away."""
    session = await Session.begun(world, repository)
    later = await world.crash(worktrees=replace(outside, notes=MemoryNotes()))
    client = await later.client()
    await client.subscribe(session.uri)
    await client.subscribe(session.chat)
    assert (await client.turn(session.chat, "hello", "t2"))["state"] == "complete"
    client.dispatch(session.uri, "session/isArchivedChanged", isArchived=True)
    await client.action(session.uri, "session/isArchivedChanged")
    assert later.scripted.opened[-1].directories == [str(session.place)]
    assert len(list((repository.root.parent / "repo.worktrees").iterdir())) == 1
    await later.close()


async def test_a_damaged_record_is_left_out_and_its_worktree_alone(git: LocalGit, repository: RealRepository) -> None:
    path = repository.root.parent / "repo.worktrees" / "hello"
    repository.git("worktree", "add", "--quiet", "-b", "agents/hello", str(path))
    good = {"session": "s:/1", "stage": "making", "path": str(path)}
    for document in ([], {"worktrees": 3}, {"worktrees": [good, 4, {**good, "stage": "?"}, {"include": [1]}]}):
        world = await World(worktrees=WorktreesOutside(git, LocalFolders(), MemoryNotes(document))).start()
        await world.until(lambda world=world: world.service._worktrees._swept.is_set())
        assert (path / "README").exists()
        await world.close()


KILLED = """
    import asyncio, os, sys
    sys.path.insert(0, {tests!r})
    from pathlib import Path
    from innkeeper.host.worktrees import WorktreesOutside
    from innkeeper.workspace.git import LocalGit
    from innkeeper.workspace.git.folders import LocalFolders
    from innkeeper.workspace.note_file import NoteFile
    from scripted.world import World

    async def main():
        world = await World(
            worktrees=WorktreesOutside(LocalGit(os.environ), LocalFolders(), NoteFile(Path({note!r})))
        ).start()
        client = await world.client()
        for number in range(1000):
            session, chat = await client.new_session(
                f"ahp-session:/{{number}}", workingDirectories=[Path({repository!r}).as_uri()]
            )
            print("ready", flush=True)
            await client.turn(chat, "hello")
            client.dispatch(session, "session/isArchivedChanged", isArchived=True)

    asyncio.run(main())
"""


@pytest.mark.timeout(7200 if os.environ.get("INNKEEPER_SOAK") == "1" else 900)
async def test_killed_at_any_moment_no_half_made_worktree_is_left(
    tmp_path: Path, repository: RealRepository, git: LocalGit, kill_rounds: int
) -> None:
    """Real processes, real files, SIGKILL. The log of each host is in memory and dies with it, so that the next host
    knows none of its sessions: whatever it made goes, and nothing that it did not make."""
    for number in range(300):
        repository.write(f"files/{number}", "x" * 2000)
    repository.commit()
    note = tmp_path / "worktrees.json"
    code = KILLED.format(tests=str(Path(__file__).resolve().parents[2]), note=str(note), repository=repository.path)
    rounds = kill_rounds if kill_rounds > 20 else 8
    for number in range(rounds):
        host = subprocess.Popen(  # noqa: ASYNC220
            [sys.executable, "-c", textwrap.dedent(code)], env=repository.variables | _path(), stdout=subprocess.PIPE
        )
        assert host.stdout is not None and host.stdout.readline() == b"ready\n"
        time.sleep(0.013 * number % 0.4)  # noqa: ASYNC251 - the moment of death
        host.send_signal(signal.SIGKILL)
        host.wait()
        host.stdout.close()
        time.sleep(0.05)  # noqa: ASYNC251 - the guardian ends git
        world = await World(worktrees=WorktreesOutside(git, LocalFolders(), NoteFile(note))).start()
        await world.until(lambda world=world: world.service._worktrees._swept.is_set())
        await world.close()
        assert len(repository.git("worktree", "list").split("\n")) == 1, number
        assert not (repository.root.parent / "repo.worktrees").exists(), number
        assert repository.git("branch", "--list", "agents/*") == "", number
        records = repository.root / ".git" / "worktrees"
        assert not records.exists() or list(records.iterdir()) == [], number
        assert list((repository.root / ".git").rglob("*.lock")) == [], number


def _path() -> dict[str, str]:
    return {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def _record(repository: RealRepository, path: Path, at: str) -> Record:
    return Record(
        session="ahp-session:/1", stage="making", root=repository.path, common=str(repository.root / ".git"),
        path=str(path), branch="agents/hello", at=at, new_branch=True, directory=repository.root.as_uri(),
        place=path.as_uri(), source=repository.path,
    )  # fmt: skip


async def _written(outside: WorktreesOutside, record: Record) -> None:
    await Records(outside.notes).put(record)


def _error(turn: Any) -> Any:
    part = next(part for part in turn["responseParts"] if part["kind"] == "error")
    return part.get("error") or part
