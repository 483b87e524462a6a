"""What is edited inside a submodule, of which git sees one commit, is in view as all else is (issue 5, section 4)."""

from typing import Any

import pytest

from harness.changeset_stage import Stage, invoke, names, only, read, ready, session
from harness.repositories import RealRepository
from scripted.world import Client

pytestmark = pytest.mark.anyio


@pytest.fixture
def repository(make: Any) -> RealRepository:
    """With a submodule `sub` that is behind its origin."""
    inner = make("inner")
    inner.write("deep", "1\n")
    inner.commit()
    repository: RealRepository = make()
    repository.git("submodule", "--quiet", "add", inner.path, "sub")
    repository.git("-C", "sub", "checkout", "--quiet", "--detach")
    repository.commit()
    inner.write("later", "1\n")
    inner.commit()
    repository.git("-C", "sub", "fetch", "--quiet")
    return repository


async def test_a_silent_edit_in_a_submodule_is_in_the_turn_the_session_and_uncommitted(
    client: Client, repository: RealRepository
) -> None:
    chat = await session(client, repository)
    await client.turn(chat, "do shell sub/deep 2 ; write sub/new 1 ; shell top 1")
    for name in ("turn/t1", "session", "uncommitted"):
        state = await ready(client, name, only("deep", "new", "top"))
        deep = next(file for file in state["files"] if file["id"].endswith("/sub/deep"))
        assert (await read(client, deep, "before"), await read(client, deep, "after")) == ("1\n", "2")
        assert deep["edit"]["diff"] == {"added": 1, "removed": 1}


async def test_a_commit_of_everything_commits_in_the_submodule_and_then_around_it(
    client: Client, repository: RealRepository
) -> None:
    repository.git("switch", "--quiet", "--create", "topic")
    chat = await session(client, repository)
    await client.turn(chat, "do shell sub/deep 2")
    await ready(client, "uncommitted", only("deep"))
    result = await invoke(client, "commit", {"x-innkeeper/message": "both"})
    await ready(client, "uncommitted", only())
    assert len(result["message"].splitlines()) == 2
    assert repository.git("status", "--porcelain") == ""
    assert repository.git("-C", "sub", "show", "--format=%s", "--name-only", "HEAD").split() == ["both", "deep"]
    assert repository.git("show", "--format=%s", "--name-only", "HEAD").split() == ["both", "sub"]
    await ready(client, "session", only("deep", "sub"))


async def test_a_file_in_a_submodule_can_be_discarded_alone(client: Client, repository: RealRepository) -> None:
    chat = await session(client, repository)
    await client.turn(chat, "do shell sub/deep 2 ; shell sub/new 1 ; shell top 1")
    state = await ready(client, "uncommitted", only("deep", "new", "top"))
    deep = next(file["id"] for file in state["files"] if file["id"].endswith("/sub/deep"))
    await invoke(client, "discard", target={"kind": "resource", "resource": deep})
    await ready(client, "uncommitted", only("new", "top"))
    await invoke(client, "discard")
    await ready(client, "uncommitted", only())
    assert (repository.root / "sub" / "deep").read_text() == "1\n"
    assert sorted(path.name for path in (repository.root / "sub").iterdir()) == [".git", "README", "deep"]


async def test_two_turns_in_one_submodule_are_told_apart(
    client: Client, repository: RealRepository, stage: Stage
) -> None:
    chat = await session(client, repository)
    _, other = await client.new_session("ahp-session:/2", workingDirectories=[repository.root.as_uri()])
    client.start_turn(chat, "do wait one ; write sub/mine 1 ; wait end")
    await stage.at("one").wait()
    await client.turn(other, "do write sub/theirs 1", "u1")
    stage.gate("one").set()
    await stage.at("end").wait()
    stage.gate("end").set()
    await client.ended(chat)
    state = await ready(client, "turn/t1", only("mine"))
    assert [file["_meta"]["x-innkeeper/attribution"]["kind"] for file in state["files"]] == ["own"]


async def test_a_submodule_that_is_not_checked_out_stops_nothing(
    client: Client, repository: RealRepository, make: Any
) -> None:
    repository.git("submodule", "--quiet", "add", make("more").path, "gone")
    repository.commit()
    repository.git("submodule", "--quiet", "deinit", "gone")
    chat = await session(client, repository)
    await client.turn(chat, "do shell top 1")
    state = await ready(client, "turn/t1", lambda s: "top" in names(s))
    assert state["status"] == "ready"
