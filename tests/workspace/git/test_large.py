"""50,000 files: made with `fast-import`, one test, bounded in time.

Measured on two busy cores: snapshot of an unchanged tree 0.4 s, with 5,000 edits 0.8 s; difference of those 0.3 s.
The limits below are those of the settings, far above.
"""

import time
from collections.abc import Callable

import pytest

from harness.repositories import RealRepository
from innkeeper.limits import GIT_SECONDS
from innkeeper.workspace.git import LocalGit

pytestmark = pytest.mark.anyio
FILES = 50_000
EDITED = 5_000


@pytest.mark.timeout(240)  # a busy machine takes its time to write them
async def test_a_tree_of_50_000_files_is_snapshotted_and_compared_in_time(
    git: LocalGit, make: Callable[..., RealRepository], record_property: Callable[[str, object], None]
) -> None:
    repository = make(commit=False)
    lines = [b"commit refs/heads/main\ncommitter A <a@b> 0 +0000\ndata 1\nx\n"]
    lines += [b"M 100644 inline d%d/f%d\ndata 6\n%05d\n\n" % (n % 500, n, n) for n in range(FILES)]
    repository.git("fast-import", "--quiet", stdin=b"".join(lines))
    repository.git("reset", "--quiet", "--hard")
    took: dict[str, float] = {}

    async def timed(name: str, tree: str) -> str:
        began = time.monotonic()
        snapshot = await git.snapshot(repository.path)
        took[name] = time.monotonic() - began
        assert snapshot.complete and (snapshot.tree == tree) == (name == "unchanged")
        return snapshot.tree

    head = await git.tree_of(repository.path, "HEAD")
    assert head is not None
    await timed("unchanged", head)
    for number in range(EDITED):
        repository.write(f"d{number % 500}/f{number}", f"edited {number}\n")
    repository.write("new", "1")
    edited = await timed("edited", head)
    began = time.monotonic()
    changes = await git.diff(repository.path, head, edited)
    took["difference"] = time.monotonic() - began
    assert (len(changes.files), changes.left_out) == (5_000, 1)
    assert {change.kind for change in changes.files} == {"edited"}
    for name, seconds in took.items():
        record_property(name, round(seconds, 3))
        print(f"{name}: {seconds:.3f} s")
        assert seconds < GIT_SECONDS, name
