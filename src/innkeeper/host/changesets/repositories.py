"""Which repositories a directory stands for: the one that it is in, and its submodules (issue 5, section 4).

Rules
* Git sees a submodule as one commit, whatever is edited in it. So each that is checked out counts as a repository of
  its own, at most `SUBMODULES`; its files are not those of the repository around it.
* One that git does not touch affects no other.
"""

from collections.abc import Iterable, MutableMapping

from innkeeper.limits import SUBMODULES
from innkeeper.ports.git import GitError, GitRepositories, Repository


async def find_repositories(
    git: GitRepositories,
    directories: Iterable[str],
    failed: MutableMapping[str, str],
    *,
    submodules: bool = True,
    seconds: float | None = None,
) -> dict[str, Repository]:
    """By their roots, those of the directories first, in their order. `failed` gets the code of each place that git did
    not look at."""
    found: dict[str, Repository] = {}
    for directory in directories:
        await _add(git, directory, found, failed, seconds)
    for root in tuple(found) if submodules else ():
        for place in await git.submodules(root, limit=SUBMODULES, seconds=seconds):
            await _add(git, place, found, failed, seconds, exactly=True)
    return found


async def _add(
    git: GitRepositories,
    place: str,
    found: MutableMapping[str, Repository],
    failed: MutableMapping[str, str],
    seconds: float | None,
    *,
    exactly: bool = False,
) -> None:
    try:
        repository = await git.discover(place, seconds=seconds)
    except GitError as error:
        if error.code != "GIT_MISSING":  # without git there is the edit log, and nothing has failed (S18)
            failed[place] = error.code
        return
    if repository is not None and (repository.root == place or not exactly):
        found.setdefault(repository.root, repository)


def innermost_first(roots: Iterable[str]) -> list[str]:
    """So that a file is looked for in a submodule before the repository around it."""
    return sorted(roots, key=len, reverse=True)
