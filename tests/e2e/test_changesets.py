"""Checkpoints and changesets in a real host over WebSocket, in a worktree too, with a kill in between."""

import signal
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from harness.host_process import BareClient, HostProcess
from harness.repositories import RealRepository, environment

pytestmark = pytest.mark.anyio
S = "ahp-session:/changes"


async def turn(client: BareClient, chat: str, words: str, turn_id: str) -> None:
    message = {"text": words, "origin": {"kind": "user"}}
    started = {"turnId": turn_id, "startedAt": "2026-01-01T00:00:00.000Z", "message": message}
    await client.dispatch(chat, {"type": "chat/turnStarted", **started})
    await client.until(lambda: any(t["id"] == turn_id for t in client.states[chat]["turns"]))


async def shown(client: BareClient, name: str, *wanted: str) -> Any:
    uri = f"{S}/changeset/{name}"
    if uri not in client.states:
        await client.subscribe(uri)

    def found() -> Any:
        state = client.states[uri]
        ids = sorted(file["id"].rpartition("/")[2] for file in state["files"])
        return state if state["status"] == "ready" and ids == sorted(wanted) else None

    return await client.until(found)


@pytest.mark.parametrize("isolation", ["folder", "worktree"])
async def test_a_session_shows_commits_and_keeps_what_was_changed(tmp_path: Path, isolation: str) -> None:
    repository = RealRepository.made(tmp_path / "repo", environment(tmp_path / "user"))
    async with HostProcess(tmp_path / "home") as host:
        client = await BareClient("one").open(host.url)
        await client.initialize("ahp-root://")
        created = {"workingDirectories": [repository.root.as_uri()], "config": {"isolation": isolation}}
        answer = await client.ask("createSession", channel=S, provider="console", **created)
        assert "error" not in answer, answer
        chat = (await client.subscribe(S))["defaultChat"]
        await client.subscribe(chat)
        await client.until(lambda: client.states[S]["lifecycle"] == "ready")
        await turn(client, chat, "hello", "t1")
        directory = Path(unquote(urlsplit(client.states[S]["workingDirectories"][0]).path))
        assert (directory == repository.root) == (isolation == "folder")
        (directory / "by hand").write_text("1\n")
        await turn(client, chat, "hello", "t2")
        await shown(client, "turn/t2")
        await shown(client, "uncommitted", "by%20hand")
        await host.end(signal.SIGKILL)
        await client.close()
        await host.start()
        again = await BareClient("two").open(host.url)
        await again.initialize("ahp-root://")
        state = await shown(again, "uncommitted", "by%20hand")
        content = state["files"][0]["edit"]["after"]["content"]["uri"]
        read = await again.ask("resourceRead", channel="ahp-root://", uri=content)
        assert read["result"]["data"] == "1\n"
        here = RealRepository(directory, environment(tmp_path / "user"))
        here.git("config", "user.name", "Ada")
        here.git("config", "user.email", "ada@example.org")
        operation = {"operationId": "commit", "_meta": {"x-innkeeper/message": "what I wrote"}}
        done = await again.ask("invokeChangesetOperation", channel=f"{S}/changeset/uncommitted", **operation)
        assert "result" in done, done
        await shown(again, "uncommitted")
        assert here.git("log", "-1", "--format=%s") == "what I wrote"
        assert len(repository.git("for-each-ref", "refs/innkeeper/checkpoints/").splitlines()) == 3
        assert "error" not in await again.ask("disposeSession", channel=S)
        await again.close()
        await host.end()
    assert repository.git("for-each-ref", "refs/innkeeper/checkpoints/") == ""
