"""How git is run: found, bounded, without what asks or runs, and ended with the host (reference §10.12)."""

# ruff: noqa: ASYNC110 - small files of a test, which nothing announces

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from harness.repositories import RealRepository
from innkeeper.errors import ERRORS
from innkeeper.ports.git import Git, GitError
from innkeeper.workspace.git import LocalGit
from innkeeper.workspace.git.faults import fault
from innkeeper.workspace.git.local import GitLimits
from innkeeper.workspace.git.program import portions

pytestmark = pytest.mark.anyio
Make = Callable[..., RealRepository]


def a_git(folder: Path, script: str) -> dict[str, str]:
    """An environment whose git is this shell script."""
    folder.mkdir()
    (folder / "git").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "git").chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


async def test_without_git_every_method_says_so(tmp_path: Path) -> None:
    missing: Git = LocalGit({"PATH": str(tmp_path)})
    for work in (missing.discover(str(tmp_path)), missing.snapshot(str(tmp_path)), missing.commit(str(tmp_path), "x")):
        with pytest.raises(GitError) as caught:
            await work
        assert caught.value.code == "GIT_MISSING"
    assert "2.34" in caught.value.message()


async def test_a_git_that_is_too_old_is_no_git_and_one_installed_later_is_found(tmp_path: Path) -> None:
    adapter = LocalGit(a_git(tmp_path / "bin", "echo git version 2.17.1"))
    with pytest.raises(GitError) as caught:
        await adapter.discover(str(tmp_path))
    assert caught.value.code == "GIT_MISSING"
    (tmp_path / "bin" / "git").unlink()
    assert await adapter.discover(str(tmp_path)) is None
    await adapter.close()


async def test_another_users_repository_is_refused_with_the_remedy(
    repository: RealRepository, variables: dict[str, str], tmp_path: Path
) -> None:
    """The installed git, which its own test variable makes believe that the owner is someone else."""
    real = f'GIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec {shutil.which("git")} "$@"'
    adapter = LocalGit({**variables, **a_git(tmp_path / "bin", real)})
    with pytest.raises(GitError) as caught:
        await adapter.discover(repository.path)
    assert caught.value.code == "GIT_OWNER"
    assert repository.path in caught.value.message() and "safe.directory" in caught.value.remedy()
    await adapter.close()


async def test_past_the_limit_the_command_and_what_it_started_end(tmp_path: Path) -> None:
    script = f"sleep 600 & echo $! > '{tmp_path}/child'; wait"
    environment = a_git(tmp_path / "bin", 'case "$*" in *version*) echo git version 2.39.5; exit;; esac\n' + script)
    adapter = LocalGit(environment, limits=GitLimits(short=0.5))
    began = time.monotonic()
    with pytest.raises(GitError) as caught:
        await adapter.status(str(tmp_path))
    assert (caught.value.code, caught.value.values["seconds"]) == ("GIT_TIMEOUT", "0.5")
    assert "limits.git_seconds" in caught.value.remedy()
    assert time.monotonic() - began < 3
    child = int((tmp_path / "child").read_text())
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE
    await adapter.close()


async def test_a_cancelled_command_ends(tmp_path: Path, repository: RealRepository) -> None:
    environment = a_git(
        tmp_path / "bin", 'case "$*" in *version*) echo git version 2.39.5; exit;; esac\n'
        f"echo $$ > '{tmp_path}/pid'; trap '' TERM; while :; do sleep 0.1; done",
    )  # fmt: skip
    adapter = LocalGit(environment)
    work = asyncio.create_task(adapter.snapshot(repository.path))
    async with asyncio.timeout(10):
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            await asyncio.sleep(0.01)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert not psutil.pid_exists(int((tmp_path / "pid").read_text()))
    await adapter.close()


async def test_git_ends_with_a_host_that_was_killed(tmp_path: Path, repository: RealRepository) -> None:
    """No process outlives the host: the guardian knows a git command like any other child."""
    repository.write(".gitattributes", "slow filter=slow\n")
    repository.write("slow", "1")
    repository.git("config", "--global", "filter.slow.clean", f"echo $$ > '{tmp_path}/pid'; sleep 600")
    code = f"""
        import asyncio, os
        from innkeeper.workspace.git import LocalGit
        asyncio.run(LocalGit(os.environ).snapshot({repository.path!r}))
    """
    host = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], env=repository.variables)  # noqa: ASYNC220
    deadline = time.monotonic() + 30
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert time.monotonic() < deadline and host.poll() is None
        await asyncio.sleep(0.01)
    host.send_signal(signal.SIGKILL)
    host.wait()
    pid = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 5
    while psutil.pid_exists(pid) and time.monotonic() < deadline:
        await asyncio.sleep(0.02)
    assert not psutil.pid_exists(pid)


async def test_after_the_end_of_the_host_nothing_is_started(git: LocalGit, repository: RealRepository) -> None:
    assert (await git.status(repository.path)).clean
    await git.close()
    with pytest.raises(GitError, match="closing"):
        await git.snapshot(repository.path)
    await git.close()


async def test_variables_that_point_git_elsewhere_do_not_count(
    make: Make, variables: dict[str, str], tmp_path: Path
) -> None:
    repository, other = make("one"), make("other")
    pointing = {
        "GIT_DIR": f"{other.path}/.git", "GIT_WORK_TREE": other.path, "GIT_INDEX_FILE": str(tmp_path / "index"),
        "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.bare", "GIT_CONFIG_VALUE_0": "true",
        "GIT_CEILING_DIRECTORIES": repository.path, "GIT_PREFIX": "x", "GIT_TRACE": "1",
    }  # fmt: skip
    adapter = LocalGit({**variables, **pointing})
    found = await adapter.discover(repository.path)
    assert found is not None and found.root == repository.path
    assert (await adapter.status(repository.path)).clean
    await adapter.close()


async def test_a_file_system_monitor_that_the_repository_names_is_not_run(
    git: LocalGit, repository: RealRepository, tmp_path: Path
) -> None:
    """What an agent writes into `.git/config` is no way to run a program unasked."""
    for name in ("core.fsmonitor", "core.pager", "core.editor", "core.askPass", "diff.external", "gpg.program"):
        repository.git("config", name, f"touch '{tmp_path}/ran';")
    repository.write("a", "1")
    snapshot = await git.snapshot(repository.path)
    await git.status(repository.path)
    await git.diff(repository.path, "HEAD", snapshot.tree)
    await git.commit(repository.path, "one", unattended=True)
    await git.branches(repository.path)
    assert not (tmp_path / "ran").exists()


def test_every_code_of_the_area_has_a_text_that_its_values_fill() -> None:
    values = dict.fromkeys(
        ("path", "operation", "seconds", "revision", "ref", "branch", "size", "limit", "reason", "version", "filter"),
        "‹x›",
    )
    codes = [error.code for error in ERRORS.values() if error.area == "git"]
    assert len(codes) == 17
    for code in codes:
        assert GitError(code, **values).message() and GitError(code, **values).message("zh-Hans")


@pytest.mark.parametrize(
    ("said", "code", "value"),
    [
        ("fatal: detected dubious ownership in repository at '/x'", "GIT_OWNER", "/root"),
        ("fatal: 'x' is already checked out at '/y'", "GIT_BRANCH_IN_USE", "x"),
        ("fatal: 'x' is already used by worktree at '/y'", "GIT_BRANCH_IN_USE", "x"),
        ("fatal: Unable to create '/x/.git/index.lock': File exists.\n\nAnother git", "GIT_LOCKED", None),
        ("hint: try this\nfatal: cannot reach https://ada:secret@host/x\nhint: more", "GIT_FAILED", "status"),
        ("", "GIT_FAILED", "status"),
    ],
)
def test_what_git_says_becomes_a_code_without_secrets(said: str, code: str, value: str | None) -> None:
    error = fault("status", said, "/root")
    assert error.code == code
    assert value is None or value in error.values.values()
    assert "secret" not in str(error) and error.message()


def test_many_paths_become_command_lines_that_the_system_takes() -> None:
    paths = [f"{'ü' * 100}/{number}" for number in range(5000)]
    parts = list(portions(paths))
    assert [path for part in parts for path in part] == paths
    assert all(sum(len(os.fsencode(path)) + 1 for path in part) <= 96 * 1024 for part in parts)
    assert list(portions([])) == []


def test_the_parts_of_the_adapter_share_no_name_by_accident() -> None:
    """They are one object: a private method of one part must not stand for that of another."""
    owners: dict[str, str] = {}
    for part in LocalGit.__mro__[1:-1]:
        if part.__name__ != "Part":
            for name in vars(part):
                assert name.startswith("__") or name not in owners, f"{name}: {part.__name__}, {owners[name]}"
                owners[name] = part.__name__
    assert owners["snapshot"] == "Trees"
