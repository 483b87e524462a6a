"""Where a session works, as properties of its configuration, in real repositories (reference §5.6, §5.7, S13)."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.repositories import RealRepository
from innkeeper.host.worktrees import WorktreesOutside
from innkeeper.protocol.check import check
from innkeeper.protocol.root.commands import ResolveSessionConfigResult, SessionConfigCompletionsResult
from innkeeper.workspace.git import LocalGit
from scripted.world import Client, RpcFailure, World

pytestmark = pytest.mark.anyio


async def resolved(client: Client, directory: Path, **config: Any) -> Any:
    uri = directory.as_uri()
    return await client.request("resolveSessionConfig", provider="scripted", workingDirectory=uri, config=config)


async def test_in_a_repository_with_a_commit_a_worktree_is_the_default_and_comes_first(
    world: World, repository: RealRepository
) -> None:
    client = await world.client()
    answer = await resolved(client, repository.root)
    check(ResolveSessionConfigResult, answer, "result")
    names = list(answer["schema"]["properties"])
    own = ["isolation", "branch", "branchPrefix", "trackBranch", "createBranch", "includeFiles"]
    assert names[:7] == [*own, "autoApprove"]
    values = answer["values"]
    assert (values["isolation"], values["branch"], values["createBranch"]) == ("worktree", "main", True)
    assert not any(prop["sessionMutable"] for name, prop in answer["schema"]["properties"].items() if name in own)


async def test_s13_without_a_commit_it_is_the_folder_read_only_and_there_is_no_branch(
    world: World, tmp_path: Path
) -> None:
    client = await world.client()
    (tmp_path / "plain").mkdir()
    empty = RealRepository.made(tmp_path / "empty", {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}, commit=False)
    for directory in (empty.root, tmp_path / "plain", tmp_path / "gone"):
        answer = await resolved(client, directory, isolation="worktree", branch="main")
        isolation = answer["schema"]["properties"]["isolation"]
        assert (isolation["readOnly"], isolation["enum"], answer["values"]["isolation"]) == (True, ["folder"], "folder")
        assert "branch" not in answer["schema"]["properties"] and "branch" not in answer["values"]


async def test_in_the_folder_the_branch_is_shown_read_only(world: World, repository: RealRepository) -> None:
    client = await world.client()
    answer = await resolved(client, repository.root, isolation="folder", branch="other")
    assert answer["schema"]["properties"]["branch"]["readOnly"]
    assert answer["values"]["branch"] == "main"
    assert "createBranch" not in answer["schema"]["properties"]


async def test_the_operator_may_make_the_folder_the_default(
    outside: WorktreesOutside, repository: RealRepository
) -> None:
    world = await World(worktrees=replace(outside, default="folder")).start()
    client = await world.client()
    assert (await resolved(client, repository.root))["values"]["isolation"] == "folder"
    assert (await resolved(client, repository.root, isolation="worktree"))["values"]["isolation"] == "worktree"
    await world.close()


async def test_branches_are_completed_from_the_repository(world: World, repository: RealRepository) -> None:
    client = await world.client()
    for name in ("feature/login", "feature/logout", "other", *(f"many{number}" for number in range(40))):
        repository.git("branch", name)
    directory = repository.root.as_uri()

    async def completed(query: str, **config: Any) -> list[str]:
        answer = await client.request(
            "sessionConfigCompletions", provider="scripted", workingDirectory=directory, config=config,
            property="branch", query=query,
        )  # fmt: skip
        check(SessionConfigCompletionsResult, answer, "result")
        return [item["value"] for item in answer["items"]]

    assert sorted(await completed("log")) == ["feature/login", "feature/logout"]
    assert len(await completed("")) == 25
    assert await completed("", isolation="folder") == []


async def test_a_branch_that_there_is_not_is_refused_before_anything_is_made(
    world: World, repository: RealRepository
) -> None:
    client = await world.client()
    for branch in ("nothing", "--all", ""):
        with pytest.raises(RpcFailure, match=r"config\.branch") as caught:
            await client.new_session(
                workingDirectories=[repository.root.as_uri()], config={"isolation": "worktree", "branch": branch}
            )
        assert caught.value.code == -32602
    assert world.driver.hub.known("session") == ()


async def test_without_git_there_is_the_folder(tmp_path: Path, outside: WorktreesOutside) -> None:
    world = await World(worktrees=replace(outside, git=LocalGit({"PATH": str(tmp_path)}))).start()
    client = await world.client()
    assert (await resolved(client, tmp_path))["values"]["isolation"] == "folder"
    _, chat = await client.new_session(workingDirectories=[tmp_path.as_uri()])
    assert (await client.turn(chat, "hello"))["state"] == "complete"
    await world.close()


async def test_nothing_of_it_changes_once_the_session_exists(world: World, repository: RealRepository) -> None:
    client = await world.client()
    session, _ = await client.new_session(workingDirectories=[repository.root.as_uri()])
    seq = client.dispatch(session, "session/configChanged", config={"isolation": "folder"})
    assert "isolation" in await client.rejection(seq)
