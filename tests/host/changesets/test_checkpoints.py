"""Checkpoints around turns, in real repositories (reference §5.8, S16, C9, C10; §10.11-12)."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from harness.repositories import RealRepository
from innkeeper.host.changesets.book import TurnRecord
from innkeeper.host.changesets.books import Books
from innkeeper.host.changesets.checkpoints import Checkpoints, prefix_of
from innkeeper.ports.edits import MemoryEdits
from innkeeper.ports.git import GitError, Snapshot
from innkeeper.workspace.git import LocalGit

SESSION = "ahp-session:/1"
pytestmark = pytest.mark.anyio


class Bench:
    """Checkpoints over a git, and what they told."""

    def __init__(self, git: Any, store: MemoryEdits | None = None, *, seconds: float = 30) -> None:
        self.store = store or MemoryEdits()
        self.books = Books(self.store)
        self.told: list[tuple[str, ...]] = []
        self.checkpoints = Checkpoints(
            git, self.books, self._spawn, seconds=seconds, failed=lambda *what: self.told.append(what)
        )

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> "asyncio.Task[None]":
        return asyncio.get_running_loop().create_task(work, name=name)

    async def begin(self, turn: str, *repositories: RealRepository, chat: str = "c", session: str = SESSION) -> None:
        self.checkpoints.begin(session, chat, turn, [repository.path for repository in repositories])
        await self.checkpoints.ready(session, turn)

    async def record(self, turn: str, session: str = SESSION) -> TurnRecord:
        return (await self.books.of(session)).turns[turn]


def refs(repository: RealRepository) -> list[str]:
    prefix = prefix_of(SESSION)
    listed = repository.git("for-each-ref", "--format=%(refname)", prefix).split()
    return sorted(ref.removeprefix(prefix) for ref in listed)


def changed(repository: RealRepository, end: str) -> set[str]:
    """The files of a turn, by its end commit and the start under it."""
    return set(repository.git("diff", "--name-only", f"{end}^", end).split())


async def test_a_turn_has_a_start_and_an_end_and_neither_index_nor_head_is_touched(git: LocalGit, make: Any) -> None:
    repository = make()
    repository.write("README", "changed by the user\n")
    repository.write("new", "untracked\n")
    before = repository.untouched()
    bench = Bench(git)
    await bench.begin("t1", repository)
    await bench.checkpoints.end(SESSION, "t1")
    index, head, _, status = repository.untouched()
    assert (index, head, status) == (before[0], before[1], before[3])
    assert refs(repository) == ["0", "1"]
    assert (await bench.record("t1")).state == "ended"


async def test_what_the_user_edits_between_two_turns_is_of_neither(git: LocalGit, make: Any) -> None:
    """S16."""
    repository, bench = make(), Bench(git)
    await bench.begin("t1", repository)
    repository.write("first", "by the agent")
    await bench.checkpoints.end(SESSION, "t1")
    repository.write("between", "by the user")
    await bench.begin("t2", repository)
    repository.write("second", "by the agent")
    await bench.checkpoints.end(SESSION, "t2")
    ends = {turn: (await bench.record(turn)).ends[repository.path] for turn in ("t1", "t2")}
    assert changed(repository, ends["t1"].commit) == {"first"}
    assert changed(repository, ends["t2"].commit) == {"second"}
    parents = repository.git("rev-parse", f"{ends['t2'].commit}^^")
    assert parents == ends["t1"].commit, "the checkpoints are a chain"


async def test_capturing_twice_is_capturing_once(git: LocalGit, make: Any) -> None:
    repository, bench = make(), Bench(git)
    await bench.begin("t1", repository)
    await bench.begin("t1", repository)
    await asyncio.gather(bench.checkpoints.end(SESSION, "t1"), bench.checkpoints.end(SESSION, "t1"))
    assert refs(repository) == ["0", "1"]


async def test_a_cancelled_turn_has_no_checkpoint(git: LocalGit, make: Any) -> None:
    """C10, T7: also while its start is being captured."""
    repository, bench = make(), Bench(git)
    bench.checkpoints.begin(SESSION, "c", "t0", [repository.path])
    await bench.checkpoints.discard(SESSION, "c", "t0")
    await bench.begin("t1", repository)
    discarded, ended = bench.checkpoints.discard(SESSION, "c", "t1"), bench.checkpoints.end(SESSION, "t1")
    await asyncio.gather(discarded, ended)
    assert (await bench.record("t1")).state == "discarded"
    assert "1" not in refs(repository)
    assert bench.checkpoints.working_in(repository.path) == ()


async def test_a_failed_turn_that_is_resumed_keeps_its_start_and_another_turn_replaces_it(
    git: LocalGit, make: Any
) -> None:
    """C11, reference §4.6."""
    repository, bench = make(), Bench(git)
    await bench.begin("t1", repository)
    repository.write("one", "before the failure")
    await bench.checkpoints.pause(SESSION, "t1")
    assert bench.checkpoints.working_in(repository.path) == ()
    await bench.begin("t1", repository)
    assert bench.checkpoints.working_in(repository.path) == ((SESSION, "t1"),)
    await bench.checkpoints.end(SESSION, "t1")
    assert changed(repository, (await bench.record("t1")).ends[repository.path].commit) == {"one"}
    await bench.begin("t2", repository)
    await bench.checkpoints.pause(SESSION, "t2")
    await bench.begin("t3", repository)
    assert (await bench.record("t2")).state == "discarded"


async def test_the_next_turn_begins_after_the_end_of_the_one_before(git: LocalGit, make: Any) -> None:
    """The queue starts the next turn at once: its start is captured after the end, so what it writes is its own."""
    repository, bench = make(), Bench(git)
    await bench.begin("t1", repository)
    repository.write("one", "1")
    end = bench.checkpoints.end(SESSION, "t1")
    await bench.begin("t2", repository)
    assert end.done()
    repository.write("two", "2")
    await bench.checkpoints.end(SESSION, "t2")
    assert changed(repository, (await bench.record("t1")).ends[repository.path].commit) == {"one"}
    assert changed(repository, (await bench.record("t2")).ends[repository.path].commit) == {"two"}


async def test_turns_that_overlap_know_of_each_other_across_sessions(git: LocalGit, make: Any) -> None:
    repository, other, bench = make(), make("other"), Bench(git)
    await bench.begin("a", repository, chat="c1")
    await bench.begin("b", repository, chat="c2")
    await bench.begin("far", repository, session="ahp-session:/2", chat="c3")
    await bench.begin("elsewhere", other, chat="c4")
    await bench.checkpoints.end(SESSION, "a")
    await bench.begin("late", repository, chat="c1")
    assert (await bench.record("a")).beside == {(SESSION, "b"), ("ahp-session:/2", "far")}
    assert (await bench.record("b")).beside == {(SESSION, "a"), ("ahp-session:/2", "far"), (SESSION, "late")}
    assert (await bench.record("elsewhere")).beside == set()
    again = Bench(git, bench.store)
    assert (await again.record("a")).beside == (await bench.record("a")).beside, "and after a restart"


class Broken:
    """A git whose snapshots of some roots fail, or never end."""

    def __init__(self, git: LocalGit, *, fails: str = "", hangs: str = "") -> None:
        self._git, self._fails, self._hangs = git, fails, hangs

    async def snapshot(self, root: str, *, seconds: float | None = None) -> Snapshot:
        if root == self._fails:
            raise GitError("GIT_FAILED", operation="snapshot", reason="no")
        if root == self._hangs:
            await asyncio.sleep(3600)
        return await self._git.snapshot(root)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._git, name)


async def test_one_repository_that_fails_does_not_affect_another(git: LocalGit, make: Any) -> None:
    good, bad = make("good"), make("bad")
    bench = Bench(Broken(git, fails=bad.path))
    await bench.begin("t1", good, bad)
    await bench.checkpoints.end(SESSION, "t1")
    record = await bench.record("t1")
    assert set(record.ends) == {good.path}
    assert record.failed == {bad.path: "GIT_FAILED"}
    assert bench.told == [(SESSION, "c", "t1", bad.path, "GIT_FAILED")]


async def test_a_snapshot_that_takes_too_long_is_told_and_holds_nobody_up(git: LocalGit, make: Any) -> None:
    """§10.12: the limit is a setting, and its passing is visible."""
    slow, good = make("slow"), make("good")
    bench = Bench(Broken(git, hangs=slow.path), seconds=2)
    await asyncio.wait_for(bench.begin("t1", slow, good), 10)
    assert bench.told == [(SESSION, "c", "t1", slow.path, "GIT_TIMEOUT")]
    assert set((await bench.record("t1")).starts) == {good.path}


async def test_checkpoints_of_forgotten_turns_and_of_ended_sessions_go(git: LocalGit, make: Any) -> None:
    repository, bench = make(), Bench(git)
    for turn in ("t1", "t2", "t3"):
        await bench.begin(turn, repository)
        await bench.checkpoints.end(SESSION, turn)
    await bench.checkpoints.forget(SESSION, ["t2", "unknown"])
    assert refs(repository) == ["0", "1", "3"]
    assert (await bench.record("t2")).ends == {}
    await bench.checkpoints.drop(SESSION)
    assert refs(repository) == []


@pytest.mark.parametrize("state", ["no commit", "detached", "submodule", "unmerged", "linked worktree"])
async def test_every_state_of_a_repository_has_checkpoints(git: LocalGit, make: Any, state: str, tmp_path: Any) -> None:
    repository = make(commit=state != "no commit")
    if state == "detached":
        repository.git("checkout", "--quiet", "--detach")
    elif state == "submodule":
        inner = make("inner")
        repository.git("submodule", "--quiet", "add", inner.path, "sub")
        repository.commit()
    elif state == "unmerged":
        repository.git("checkout", "--quiet", "-b", "side")
        repository.write("README", "side\n")
        repository.commit()
        repository.git("checkout", "--quiet", "main")
        repository.write("README", "main\n")
        repository.commit()
        repository.git("merge", "side", check=False)
    elif state == "linked worktree":
        repository.git("worktree", "add", "--quiet", "-b", "topic", str(tmp_path / "linked"))
        repository = RealRepository(tmp_path / "linked", repository.variables)
    bench = Bench(git)
    await bench.begin("t1", repository)
    repository.write("ünï.txt", "x")
    await bench.checkpoints.end(SESSION, "t1")
    record = await bench.record("t1")
    assert record.failed == {}
    end = record.ends[repository.path]
    assert (
        repository.git("-c", "core.quotePath=false", "diff", "--name-only", f"{end.commit}^", end.commit) == "ünï.txt"
    )
    await bench.checkpoints.drop(SESSION)
    assert refs(repository) == []
