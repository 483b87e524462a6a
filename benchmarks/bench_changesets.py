"""Checkpoints and changesets on a large repository (issue 5, point 4; reference §5.8, §5.9).

Run: python benchmarks/bench_changesets.py [--files N] [--rounds N]
A real repository with N files (50,000) in folders of 100, five of them changed in each turn, through the services as a
host has them: the start that a turn waits for, the capture of its end, the computation of each changeset, and the
attribution of two turns that overlapped. Prints the median and the best of all rounds, and the first start by itself:
it reads what later ones need not.
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

from innkeeper.host.changesets.attribution import attribute
from innkeeper.host.changesets.book import ABSENT, Content, Edit, git_id
from innkeeper.host.changesets.books import Books
from innkeeper.host.changesets.catalogue import Name
from innkeeper.host.changesets.checkpoints import Checkpoints
from innkeeper.host.changesets.computing import Computing
from innkeeper.ports.edits import MemoryEdits
from innkeeper.ports.git import FileChange, Side
from innkeeper.workspace.files import LocalFiles
from innkeeper.workspace.git import LocalGit

SESSION = "ahp-session:/bench"
GOAL_START = 2_000.0
"""Milliseconds that a turn may wait for its start on 50,000 files."""


class OneSession:
    """As much of a core as computing needs."""

    def __init__(self, root: Path) -> None:
        self._state = {"workingDirectories": [root.as_uri()], "chats": []}

    def head(self, _channel: str) -> Any:
        return self._state

    async def load(self, _channel: str) -> Any:
        return self._state


def make_repository(root: Path, files: int) -> None:
    for number in range(files):
        folder = root / f"d{number // 100:04}"
        if number % 100 == 0:
            folder.mkdir(parents=True)
        (folder / f"f{number:06}.txt").write_text(f"file {number}\n" * 10)
    environment = {**os.environ, "GIT_AUTHOR_NAME": "b", "GIT_AUTHOR_EMAIL": "b@b", "GIT_COMMITTER_NAME": "b"}
    environment["GIT_COMMITTER_EMAIL"] = "b@b"
    for arguments in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "-m", "first"]):
        subprocess.run(["git", *arguments], cwd=root, env=environment, check=True)


async def timed(work: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await work()
    return (time.perf_counter() - began) * 1000


async def measure(root: Path, rounds: int) -> dict[str, list[float]]:
    git = LocalGit(os.environ)
    books = Books(MemoryEdits())

    def spawn(work: Coroutine[Any, Any, None], name: str) -> "asyncio.Task[None]":
        return asyncio.get_running_loop().create_task(work, name=name)

    def failed(*what: str) -> None:
        raise RuntimeError(f"not captured: {what}")

    checkpoints = Checkpoints(git, books, spawn, seconds=120, failed=failed)
    core: Any = OneSession(root)
    computing = Computing(core, git, books, LocalFiles())
    found: dict[str, list[float]] = {}

    async def start(turn: str) -> None:
        checkpoints.begin(SESSION, "chat", turn, [str(root)])
        await checkpoints.ready(SESSION, turn)

    async def compute(name: Name) -> None:
        await computing.compute(name, await computing.look(SESSION))

    for number in range(rounds):
        turn = f"t{number}"
        label = "first start" if number == 0 else "start"
        found.setdefault(label, []).append(await timed(lambda turn=turn: start(turn)))
        for changed in range(5):
            (root / f"d{changed:04}" / f"f{changed * 100:06}.txt").write_text(f"round {number}\n")
        found.setdefault("end", []).append(await timed(lambda turn=turn: checkpoints.end(SESSION, turn)))
        for name in (Name(SESSION, "turn", (turn,)), Name(SESSION, "session"), Name(SESSION, "uncommitted")):
            found.setdefault(name.kind, []).append(await timed(lambda name=name: compute(name)))
    await checkpoints.drop(SESSION)
    await git.close()
    return found


def attribution(files: int) -> float:
    """Two turns that overlapped, each with half of the files reported."""
    changes, own, others = [], [], []
    for number in range(files):
        before, after = (Side("file", git_id(b"%d%s" % (number, end)), 9) for end in (b"-", b"+"))
        changes.append(FileChange("edited", f"f{number}", None, before, after, 1, 1))
        kept = Content("d", before.id, 9), Content("d", after.id, 9)
        edit = Edit("c", "t" if number % 2 else "o", "t", "call", f"/r/f{number}", *kept)
        (own if number % 2 else others).append(edit)
    assert ABSENT == ()
    began = time.perf_counter()
    shown = attribute("/r", changes, own, others, overlapped=True)
    assert len(shown) == len(own)
    return (time.perf_counter() - began) * 1000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=6)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve() / "repo"
        root.mkdir()
        make_repository(root, given.files)
        found = asyncio.run(measure(root, given.rounds))
    print(f"{given.files} files, 5 changed a turn, {given.rounds} rounds")
    for label, times in found.items():
        print(f"{label:12} {statistics.median(times):8.1f} ms median {min(times):8.1f} ms best")
    print(f"{'attribution':12} {attribution(2_000):8.1f} ms for 2,000 files")
    return 0 if min(found["start"]) <= GOAL_START else 1


if __name__ == "__main__":
    raise SystemExit(main())
