"""A worktree at the first turn, in a whole host with real repositories (reference §5.7, §4.1, S14)."""

import os
from pathlib import Path
from typing import Any

import pytest

from harness.repositories import RealRepository
from innkeeper.host.worktrees import WorktreesOutside
from innkeeper.host.worktrees.naming import candidates
from innkeeper.ports.notes import MemoryNotes
from innkeeper.providers.spi import Completion, ProviderError
from innkeeper.workspace.git import LocalGit
from innkeeper.workspace.git.folders import LocalFolders
from scripted.provider import ScriptedProvider
from scripted.world import Client, World, text_of

pytestmark = pytest.mark.anyio


async def session_in(client: Client, directory: Path, uri: str = "ahp-session:/1", **config: Any) -> tuple[str, str]:
    return await client.new_session(uri, workingDirectories=[directory.as_uri()], config=config)


def worktree(client: Client, session: str) -> Path:
    (uri,) = client.states[session]["workingDirectories"]
    return Path(uri.removeprefix("file://"))


async def test_nothing_is_made_before_the_first_turn_and_the_agent_is_opened_in_the_worktree(
    world: World, repository: RealRepository
) -> None:
    client = await world.client()
    session, chat = await session_in(client, repository.root)
    assert not (repository.root.parent / "repo.worktrees").exists()
    assert world.scripted.opened == []
    turn = await client.turn(chat, "hello Fix the  Größe, now!")
    place = worktree(client, session)
    assert place == repository.root.parent / "repo.worktrees" / "hello-fix-the-grosse-now"
    assert (place / "README").read_text() == "hello\n"
    assert RealRepository(place, repository.variables).git("branch", "--show-current") == f"agents/{place.name}"
    assert [opening.directories for opening in world.scripted.opened] == [[str(place)]]
    assert turn["responseParts"][0]["content"] == f"### Worktree on branch `agents/{place.name}`\n\n"
    assert repository.git("branch", "--show-current") == "main"
    world.check_mirrors(client)


async def test_it_is_made_and_announced_once_however_many_turns_and_chats(
    world: World, repository: RealRepository
) -> None:
    client = await world.client()
    session, chat = await session_in(client, repository.root)
    peer = "ahp-chat:/peer"
    await client.request("createChat", session, chat=peer)
    await client.subscribe(peer)
    client.start_turn(chat, "hello one", "t1")
    client.start_turn(peer, "hello two", "t2")
    turns = [await client.ended(chat, "t1"), await client.ended(peer, "t2"), await client.turn(chat, "hello", "t3")]
    assert sum("Worktree on branch" in text_of(turn) for turn in turns) == 1
    assert len(client.actions(session, "session/workingDirectoryReplaced")) == 1
    assert len(list((repository.root.parent / "repo.worktrees").iterdir())) == 1


async def test_s14_a_name_that_is_taken_gets_the_sessions_id_and_then_a_number(
    world: World, repository: RealRepository
) -> None:
    client = await world.client()
    repository.git("branch", "agents/hello")
    first = list(candidates("hello", "ahp-session:/1"))
    (repository.root.parent / "repo.worktrees" / first[1]).mkdir(parents=True)
    session, chat = await session_in(client, repository.root)
    await client.turn(chat, "hello")
    assert worktree(client, session).name == first[2] == f"{first[1]}-2"
    assert (repository.root.parent / "repo.worktrees" / first[1]).exists()


async def test_s14_after_a_hundred_tries_the_turn_ends_with_an_error_and_a_later_one_works(
    world: World, repository: RealRepository
) -> None:
    client = await world.client()
    names = list(candidates("hello", "ahp-session:/1"))
    assert len(names) == len(set(names)) == 100
    for name in names:
        (repository.root.parent / "repo.worktrees" / name).mkdir(parents=True)
    session, chat = await session_in(client, repository.root)
    turn = await client.turn(chat, "hello")
    assert _error(turn)["errorType"] == "workingDirectoryFailed" and "100" in _error(turn)["message"]
    assert client.states[session]["workingDirectories"] == [repository.root.as_uri()]
    assert world.scripted.requests == []
    (repository.root.parent / "repo.worktrees" / names[7]).rmdir()
    assert (await client.turn(chat, "hello", "t2"))["state"] == "complete"
    assert worktree(client, session).name == names[7]


async def test_a_session_in_a_folder_below_works_in_the_same_folder_of_the_worktree(
    world: World, repository: RealRepository
) -> None:
    client = await world.client()
    repository.write("packages/one/a", "1")
    repository.commit()
    (repository.root / "untracked").mkdir()
    session, chat = await session_in(client, repository.root / "packages" / "one")
    await client.turn(chat, "hello")
    assert worktree(client, session).parts[-3:] == ("hello", "packages", "one")
    other, chat = await session_in(client, repository.root / "untracked", "ahp-session:/2")
    await client.turn(chat, "hello other")
    assert worktree(client, other).name == "hello-other"


async def test_the_chosen_branch_prefix_and_ignored_files_are_taken_over(
    world: World, repository: RealRepository
) -> None:
    client = await world.client()
    repository.write(".gitignore", ".env*\nbuild/\n")
    base = repository.commit()
    repository.git("branch", "base")
    repository.write("later", "1")
    repository.commit()
    repository.write(".env", "SECRET=1")
    repository.write("deep/.env.local", "2")
    repository.write("build/x", "3")
    os.symlink("/etc/hostname", repository.root / ".env-link")
    config = {"branch": "base", "branchPrefix": "ada/", "trackBranch": True, "includeFiles": ["**/.env*"]}
    session, chat = await session_in(client, repository.root, **config)
    await client.turn(chat, "hello")
    place = worktree(client, session)
    inside = RealRepository(place, repository.variables)
    assert inside.git("branch", "--show-current") == "ada/agents/hello"
    assert inside.git("rev-parse", "HEAD") == base
    assert inside.git("rev-parse", "--abbrev-ref", "@{upstream}") == "base"
    assert (place / ".env").read_text() == "SECRET=1" and (place / "deep" / ".env.local").read_text() == "2"
    assert os.readlink(place / ".env-link") == "/etc/hostname"
    assert not (place / "build").exists()


async def test_an_existing_branch_is_worked_on_unless_it_is_checked_out_elsewhere(
    world: World, repository: RealRepository
) -> None:
    client = await world.client()
    repository.git("branch", "feature/x")
    session, chat = await session_in(client, repository.root, branch="feature/x", createBranch=False)
    await client.turn(chat, "hello")
    assert worktree(client, session).name == "feature-x"
    _, chat = await session_in(client, repository.root, "ahp-session:/2", branch="main", createBranch=False)
    error = _error(await client.turn(chat, "hello"))
    assert (error["errorType"], "main" in error["message"]) == ("workingDirectoryFailed", True)
    assert [branch.split()[-1] for branch in repository.git("branch").split("\n")] == ["feature/x", "main"]
    assert len(list((repository.root.parent / "repo.worktrees").iterdir())) == 1


async def test_a_session_in_its_folder_has_none_and_one_whose_folder_is_gone_is_told(
    world: World, repository: RealRepository, tmp_path: Path
) -> None:
    client = await world.client()
    session, chat = await session_in(client, repository.root, isolation="folder")
    await client.turn(chat, "hello")
    assert worktree(client, session) == repository.root
    (tmp_path / "short-lived").mkdir()
    session, chat = await session_in(client, tmp_path / "short-lived", "ahp-session:/2")
    (tmp_path / "short-lived").rmdir()
    error = _error(await client.turn(chat, "hello"))
    assert error["errorType"] == "workingDirectoryMissing" and "short-lived" in error["message"]
    (tmp_path / "short-lived").mkdir()
    assert (await client.turn(chat, "hello", "t2"))["state"] == "complete"


async def test_a_worktree_that_is_gone_is_made_again_with_its_branch(world: World, repository: RealRepository) -> None:
    client = await world.client()
    session, chat = await session_in(client, repository.root)
    await client.turn(chat, "hello")
    place = worktree(client, session)
    inside = RealRepository(place, repository.variables)
    inside.write("work", "1")
    inside.commit()
    repository.git("worktree", "remove", "--force", str(place))
    turn = await client.turn(chat, "hello", "t2")
    assert turn["state"] == "complete" and "Worktree on" not in text_of(turn)
    assert (place / "work").read_text() == "1"
    assert len(world.scripted.opened) == 2
    repository.git("worktree", "remove", "--force", str(place))
    repository.git("branch", "-D", f"agents/{place.name}")
    error = _error(await client.turn(chat, "hello", "t3"))
    assert error["errorType"] == "workingDirectoryMissing" and f"agents/{place.name}" in error["message"]


async def test_sessions_of_one_repository_wait_for_each_other(world: World, repository: RealRepository) -> None:
    client = await world.client()
    chats = []
    for number in range(5):
        session, chat = await session_in(client, repository.root, f"ahp-session:/{number}")
        chats.append((session, chat))
    for _, chat in chats:
        client.start_turn(chat, "hello")
    for _, chat in chats:
        assert (await client.ended(chat))["state"] == "complete"
    assert len({worktree(client, session) for session, _ in chats}) == 5


async def test_a_turn_that_is_cancelled_meanwhile_leaves_nothing_and_the_next_one_makes_it(
    world: World, repository: RealRepository, tmp_path: Path
) -> None:
    client = await world.client()
    repository.write(".gitattributes", "slow filter=slow\n")
    repository.write("slow", "1")
    repository.commit()
    repository.git("config", "--global", "filter.slow.smudge", f"touch '{tmp_path}/started'; sleep 60; cat")
    _, chat = await session_in(client, repository.root)
    client.start_turn(chat, "hello")
    await world.until((tmp_path / "started").exists)
    client.dispatch(chat, "chat/turnCancelled", turnId="t1", duration=1)
    await client.ended(chat)
    folder = repository.root.parent / "repo.worktrees"
    await world.until(lambda: not folder.exists())
    await world.until(lambda: repository.git("branch", "--list", "agents/*") == "")
    repository.git("config", "--global", "filter.slow.smudge", "cat")
    turn = await client.turn(chat, "hello", "t2")
    assert turn["state"] == "complete" and text_of(turn).count("Worktree on branch") == 1


async def test_a_filter_that_only_the_repository_names_is_told_and_leaves_nothing(
    world: World, repository: RealRepository, tmp_path: Path
) -> None:
    """Its program does not run; the person learns how to let it."""
    client = await world.client()
    repository.write(".gitattributes", "secret filter=own\n")
    repository.write("secret", "1")
    repository.commit()
    repository.git("config", "filter.own.smudge", f"touch '{tmp_path}/ran'; cat")
    _, chat = await session_in(client, repository.root)
    error = _error(await client.turn(chat, "hello"))
    assert error["errorType"] == "workingDirectoryFailed"
    assert "own" in error["message"] and "git config --global filter." in error["message"]
    assert not (repository.root.parent / "repo.worktrees").exists() and not (tmp_path / "ran").exists()
    repository.git("config", "--global", "filter.own.smudge", "cat")
    assert (await client.turn(chat, "hello", "t2"))["state"] == "complete"


async def test_declarations_are_read_in_the_worktree(outside: WorktreesOutside, repository: RealRepository) -> None:
    """K19: the stage comes first, so what is prepared after it is of the worktree."""
    world = await World(worktrees=outside).start()
    client = await world.client()
    seen: list[Any] = []
    real = world.service._servers.read_again

    def read_again(session: str) -> None:
        seen.append(world.driver.hub.head(session)["workingDirectories"])
        real(session)

    world.service._servers.read_again = read_again  # type: ignore[method-assign]
    session, chat = await session_in(client, repository.root)
    await client.turn(chat, "hello")
    await world.until(lambda: seen)
    assert seen[0] == client.states[session]["workingDirectories"]
    place = world.service.place(session, seen[0][0])
    assert place.repository == repository.root.as_uri() and place.accepts(repository.root.as_uri())
    assert place.workspace == world.service.place("other", repository.root.as_uri()).workspace
    await world.close()


async def test_a_record_that_cannot_be_written_stops_the_turn_before_git_is_asked(
    git: LocalGit, repository: RealRepository
) -> None:
    class FullDisk(MemoryNotes):
        def save(self, document: object) -> None:
            return

    world = await World(worktrees=WorktreesOutside(git, LocalFolders(), FullDisk())).start()
    client = await world.client()
    _, chat = await session_in(client, repository.root)
    assert _error(await client.turn(chat, "hello"))["errorType"] == "workingDirectoryFailed"
    assert not (repository.root.parent / "repo.worktrees").exists()
    assert repository.git("branch", "--list", "agents/*") == ""
    await world.close()


async def test_all_directories_but_the_first_stay(outside: WorktreesOutside, repository: RealRepository) -> None:
    world = await World(worktrees=outside, scripted=ScriptedProvider(directories=True)).start()
    client = await world.client()
    other = (repository.root.parent / "other").as_uri()
    session, chat = await client.new_session(workingDirectories=[repository.root.as_uri(), other])
    await client.turn(chat, "hello")
    first, second = client.states[session]["workingDirectories"]
    assert first.endswith("repo.worktrees/hello") and second == other
    await world.close()


async def test_a_name_comes_from_words_and_is_always_a_branch(git: LocalGit, repository: RealRepository) -> None:
    texts = [
        "",
        "你好，世界",
        "../../etc",
        "a" * 200,
        "-rf --force",
        "Fix #12: the\nthing.lock",
        "HEAD",
        "\0",
        "é" * 60,
    ]
    for text in texts:
        name = next(candidates(text, "ahp-session:/ü 1"))
        assert len(name) <= 48 and repository.git("check-ref-format", "--branch", f"agents/{name}"), text
    assert next(candidates("one two three four five six seven eight nine ten", "x")).count("-") == 7


class Naming(ScriptedProvider):
    """An agent that answers outside conversations."""

    def __init__(self, answer: str | Exception) -> None:
        super().__init__()
        self.answer = answer
        self.asked: list[Completion] = []

    async def complete(self, completion: Completion) -> str:
        self.asked.append(completion)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        ("Fix the log-in page", "fix-the-log-in-page"),
        ("short", "hello"),
        ("x" * 500, "x" * 48),
        (ProviderError("down", "no"), "hello"),
        (ValueError("a fault"), "hello"),
    ],
)
async def test_k18_an_agent_that_can_names_the_branch(
    outside: WorktreesOutside, repository: RealRepository, answer: str | Exception, name: str
) -> None:
    agent = Naming(answer)
    world = await World(worktrees=outside, scripted=agent).start()
    client = await world.client()
    session, chat = await session_in(client, repository.root)
    await client.turn(chat, "hello")
    assert worktree(client, session).name == name
    assert agent.asked[0].text == "hello" and agent.asked[0].seconds <= 5
    await world.close()


async def test_k18_the_setting_leaves_that_out(outside: WorktreesOutside, repository: RealRepository) -> None:
    agent = Naming("Fix the log-in page")
    world = await World(worktrees=outside, scripted=agent, options={"generate_titles": False}).start()
    client = await world.client()
    session, chat = await session_in(client, repository.root)
    await client.turn(chat, "hello")
    assert worktree(client, session).name == "hello" and agent.asked == []
    await world.close()


def _error(turn: Any) -> Any:
    part = next(part for part in turn["responseParts"] if part["kind"] == "error")
    return part.get("error") or part
