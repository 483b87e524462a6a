"""A host that is killed: nothing acknowledged is lost, no number comes twice, nobody misses anything in silence.

Architecture §7, AHP §2.4; a real process, a real file, SIGKILL at random points. 20 rounds, 200 under `just soak`.
"""

import asyncio
import contextlib
import json
import os
import random
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from harness.host_process import WAIT, BareClient, HostProcess
from innkeeper.limits import SHUTDOWN_SECONDS

LIMIT = 7200 if os.environ.get("INNKEEPER_SOAK") == "1" else 900
"""Seconds, on a busy machine."""
pytestmark = [pytest.mark.anyio, pytest.mark.timeout(LIMIT)]
SESSION = "ahp-session:/s"
DRAFT = "chat/draftChanged"
LONG = "words that stream for a while " * 600


async def test_killed_while_deltas_run_ahead_of_the_log_it_loses_nothing_acknowledged(
    tmp_path: Path, kill_rounds: int
) -> None:
    """Issue 2, section 4."""
    async with HostProcess(tmp_path / "home") as host:
        resumed = await many_lives(host, tmp_path, kill_rounds, random.Random(20261130))
    assert "unknown" not in resumed
    assert "replay" in resumed


async def many_lives(host: HostProcess, folder: Path, rounds: int, chance: random.Random) -> list[str]:
    """How the client was resumed after each death."""
    writer = await BareClient("writer").open(host.url)
    await writer.initialize()
    await writer.ask("createSession", channel=SESSION, provider="console", workingDirectories=[folder.as_uri()])
    chat = (await writer.subscribe(SESSION))["defaultChat"]
    await writer.subscribe(chat)
    resumed: list[str] = []
    for round_number in range(rounds):
        await one_life(host, writer, chat, round_number, chance)
        await writer.close()
        acknowledged = dict(writer.envelopes)
        await host.start()
        await writer.open(host.url)
        resumed.append(await writer.reconnect())
        await everything_acknowledged_is_there(host, writer, chat, acknowledged)
        await writer.until(lambda: not writer.states[chat].get("activeTurn"))
    assert await host.end() == 0
    await writer.close()
    return resumed


async def one_life(host: HostProcess, writer: BareClient, chat: str, number: int, chance: random.Random) -> None:
    """A turn streams, titles and drafts are dispatched meanwhile; then the host is killed."""
    await writer.dispatch(chat, turn_started(f"t{number}"))
    for step in range(chance.randrange(30)):
        await writer.dispatch(SESSION, {"type": "session/titleChanged", "title": f"{number}.{step}"})
        draft = {"text": f"{number}.{step}", "origin": {"kind": "user"}}
        await writer.dispatch(chat, {"type": "chat/draftChanged", "draft": draft})
        await asyncio.sleep(chance.random() * 0.002)
    await asyncio.sleep(chance.random() * 0.02)
    await host.end(signal.SIGKILL)


def turn_started(turn: str) -> dict[str, Any]:
    message = {"text": LONG, "origin": {"kind": "user"}}
    return {"type": "chat/turnStarted", "turnId": turn, "startedAt": "2026-11-30T12:00:00.000Z", "message": message}


async def everything_acknowledged_is_there(
    host: HostProcess, writer: BareClient, chat: str, acknowledged: dict[int, dict[str, Any]]
) -> None:
    other = await BareClient("other").open(host.url)
    await other.initialize()
    for channel in (SESSION, chat):
        fresh = await other.subscribe(channel)
        await writer.until(lambda c=channel: writer.states[c] == other.states[c])
        for kind, field in (("session/titleChanged", "title"), ("chat/draftChanged", "draft")):
            own = [e for e in acknowledged.values() if e["channel"] == channel and e["action"]["type"] == kind]
            if own:
                newest = max(own, key=lambda envelope: envelope["serverSeq"])["action"][field]
                assert position(fresh[field]) >= position(newest)
    await other.close()


def position(value: Any) -> tuple[int, ...]:
    text = value["text"] if isinstance(value, dict) else value
    return tuple(int(part) for part in text.split("."))


# -- with everything that runs beside the log --------------------------------------------------------------------------


MARK = "LIFE_OF_A_TEST"
"""In the environment of the host, and so of every process that it starts; a server is given it by its declaration. Its
name is none of the host's own, which no shell is given."""
COMMAND = "sleep 300"
SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    known = {"capabilities": {}, "serverInfo": {"name": "small", "version": "1"}}
    if asked.get("method") == "initialize":
        answer = {"result": {**known, "protocolVersion": asked["params"]["protocolVersion"]}}
    else:
        answer = {"error": {"code": -32601, "message": "not here"}}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""


async def test_killed_amid_queues_worktrees_terminals_and_servers_it_leaves_nothing_half_made(
    tmp_path: Path, kill_rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue 5, section 9."""
    mark = secrets.token_hex(8)
    monkeypatch.setenv(MARK, mark)
    # Its shells read no start-up files of whoever runs this: some leave locks behind when they are killed.
    monkeypatch.setenv("HOME", str(tmp_path))
    life = Life(a_repository(tmp_path / "project", mark), mark, random.Random(20261201))
    settings = tmp_path / "home" / "config" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('trust_mode = "all"\n')
    async with HostProcess(tmp_path / "home") as host:
        await life.begin(host)
        for number in range(kill_rounds):
            await life.one(host, number)
            await host.end(signal.SIGKILL)
            await nothing_runs(mark)
            await host.start()
            await life.check(host)
        assert life.seen["queued"] > kill_rounds / 2 and life.seen["worktrees"] and life.seen["servers"]
        assert life.seen["commands"] >= kill_rounds // 5
        assert await host.end() == 0
    await nothing_runs(mark)


def a_repository(folder: Path, mark: str) -> Path:
    """With a declared server in the folder, and none in a worktree, whose first turn is waited for less long so."""
    folder.mkdir()
    for name in range(40):
        (folder / f"file-{name}.txt").write_text(f"{name}\n" * 200)
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", ".")
    git(folder, "-c", "user.name=T", "-c", "user.email=t@example.invalid", "commit", "--quiet", "-m", "first")
    server = {"command": sys.executable, "args": ["-S", "-c", SERVER], "env": {MARK: mark}}
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"fixture": server}}))
    return folder


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


def running(mark: str) -> list[str]:
    """The processes of that life, by what they run."""
    found = []
    wanted = f"{MARK}={mark}".encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):  # it has ended meanwhile, or is somebody else's
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    words = (entry / "cmdline").read_bytes().split(b"\0")
                    found.append(b" ".join(words).strip().decode(errors="replace"))
    return found


async def nothing_runs(mark: str) -> None:
    """No orphan process: the guardian has ended what the host had started, and itself."""
    deadline = time.monotonic() + 10
    while left := running(mark):
        assert time.monotonic() < deadline, f"still running: {left}"
        await asyncio.sleep(0.02)


async def something_runs(mark: str, command: str) -> None:
    deadline = time.monotonic() + WAIT
    while command not in (run := running(mark)):
        assert time.monotonic() < deadline, f"only {run}"
        await asyncio.sleep(0.02)


class Life:
    """One client and its sessions, over all deaths of the host."""

    def __init__(self, project: Path, mark: str, chance: random.Random) -> None:
        self.project, self.mark, self.chance = project, mark, chance
        self.chats: dict[str, str] = {}
        self.queued: dict[str, str] = {}
        """Acknowledged, by what the message says: its chat."""
        self.draft: str | None = None
        """The newest that was acknowledged, of the chat with the queue."""
        self.created: set[str] = set()
        self.disposed: set[str] = set()
        self.seen = {"queued": 0, "worktrees": 0, "servers": 0, "commands": 0}

    async def begin(self, host: HostProcess) -> None:
        await self.come(host, "begin")
        for name in ("talk", "shell"):
            await self.create(f"ahp-session:/{name}", "folder")
        await self.writer.close()

    async def come(self, host: HostProcess, name: str) -> None:
        self.writer = await BareClient(name).open(host.url)
        await self.writer.initialize()

    async def create(self, uri: str, isolation: str) -> None:
        config = {"isolation": isolation, "autoApprove": "autoApprove"}
        directories = [self.project.as_uri()]
        answer = await self.writer.ask(
            "createSession", channel=uri, provider="console", workingDirectories=directories, config=config
        )
        assert "error" not in answer, answer
        self.created.add(uri)
        self.chats[uri] = (await self.writer.subscribe(uri))["defaultChat"]

    async def one(self, host: HostProcess, number: int) -> None:
        """A turn with a queue, a command in a terminal, a first turn in a worktree, a session that goes."""
        await self.come(host, f"writer-{number}")
        new, old = f"ahp-session:/tree-{number}", f"ahp-session:/tree-{number - 2}"
        with contextlib.suppress(ConnectionError):
            await self.create(new, "worktree")
            for chat in self.chats.values():
                await self.writer.subscribe(chat)
            await self.say(self.chats["ahp-session:/shell"], f"s{number}", f"!{COMMAND}")
            await self.say(self.chats[new], f"w{number}", "hello from a worktree")
            await self.say(self.chats["ahp-session:/talk"], f"t{number}", LONG)
            if old in self.created:
                self.disposed.add(old)
                self.chats.pop(old, None)
                gone = asyncio.create_task(self.writer.ask("disposeSession", channel=old))
                gone.add_done_callback(lambda task: task.exception())
            await self.queue(self.chats["ahp-session:/talk"], number)
            if number % 5 == 2:  # now and then it is killed with a worktree that is whole and a command that runs
                turns = self.chats[new]
                await self.writer.until(lambda: self.writer.states[turns]["turns"])
                await something_runs(self.mark, COMMAND)
            await asyncio.sleep(self.chance.random() ** 2)
        run = running(self.mark)
        self.seen["servers"] += any(line.startswith(f"{sys.executable} -S -c") for line in run)
        self.seen["commands"] += COMMAND in run
        self.acknowledge()

    async def say(self, chat: str, turn: str, text: str) -> None:
        message = {"text": text, "origin": {"kind": "user"}}
        action = {"type": "chat/turnStarted", "turnId": turn, "startedAt": "2026-11-30T12:00:00.000Z"}
        await self.writer.dispatch(chat, {**action, "message": message})

    async def queue(self, chat: str, number: int) -> None:
        for step in range(self.chance.randrange(1, 5)):
            message = {"text": f"queued {number}.{step}", "origin": {"kind": "user"}}
            action = {"type": "chat/pendingMessageSet", "kind": "queued", "id": f"q{number}.{step}", "message": message}
            await self.writer.dispatch(chat, action)
            draft = {"text": f"{number}.{step}", "origin": {"kind": "user"}}
            await self.writer.dispatch(chat, {"type": "chat/draftChanged", "draft": draft})
            await asyncio.sleep(self.chance.random() * 0.01)

    def acknowledge(self) -> None:
        for envelope in self.writer.envelopes.values():
            action = envelope["action"]
            if action["type"] == "chat/pendingMessageSet":
                self.queued[action["message"]["text"]] = envelope["channel"]
                self.seen["queued"] += 1
            elif action["type"] == DRAFT:
                self.draft = max(self.draft or "0", action["draft"]["text"], key=position)

    async def check(self, host: HostProcess) -> None:
        reader = await BareClient("reader").open(host.url)
        await reader.initialize()
        await self.sessions_are_there(reader)
        await self.queues_are_there(reader)
        await self.draft_is_there(reader)
        await self.worktrees_are_whole(reader)
        await reader.close()
        await self.writer.close()

    async def sessions_are_there(self, reader: BareClient) -> None:
        items = (await reader.ask("listSessions", channel="ahp-root://"))["result"]["items"]
        listed = {item["resource"]: item for item in items}
        assert self.created - self.disposed <= listed.keys() <= self.created
        assert not [uri for uri, item in listed.items() if item["status"] & 8], "nothing runs"

    async def queues_are_there(self, reader: BareClient) -> None:
        """What was acknowledged waits, or has become a turn; once."""
        for chat in set(self.queued.values()):
            state = await reader.subscribe(chat)
            waiting = [queued["message"]["text"] for queued in state.get("queuedMessages", [])]
            begun = [turn["message"]["text"] for turn in state["turns"]]
            for text in (text for text, of in self.queued.items() if of == chat):
                assert (waiting + begun).count(text) == 1, text
            assert "activeTurn" not in state

    async def draft_is_there(self, reader: BareClient) -> None:
        state = reader.states[self.chats["ahp-session:/talk"]]
        assert self.draft is None or position(state["draft"]) >= position(self.draft)

    async def worktrees_are_whole(self, reader: BareClient) -> None:
        """Each one that git knows is there and clean, each folder is known to git; the host may still be at it."""
        deadline = time.monotonic() + 10
        while why := self.half_made():
            assert time.monotonic() < deadline, why
            await asyncio.sleep(0.05)

    def half_made(self) -> str:
        trees: dict[Path, str] = {}
        for block in git(self.project, "worktree", "list", "--porcelain").strip().split("\n\n"):
            trees[Path(block.splitlines()[0].removeprefix("worktree "))] = block
        beside = self.project.with_name(f"{self.project.name}.worktrees")
        folders = set(beside.iterdir()) if beside.is_dir() else set()
        made = trees.keys() - {self.project}
        if made != folders:
            return f"git knows {sorted(made)}, there is {sorted(folders)}"
        for tree in made:
            if "locked" in trees[tree] or "prunable" in trees[tree]:
                return trees[tree]
            if status := git(tree, "status", "--porcelain"):
                return f"{tree}: {status[:200]}"
        self.seen["worktrees"] += len(made)
        return ""


# -- an orderly end ----------------------------------------------------------------------------------------------------


async def test_a_host_that_is_told_to_end_stores_what_it_took_and_ends_in_time(tmp_path: Path) -> None:
    """P8: SIGTERM while drafts are being written and a turn streams."""
    async with HostProcess(tmp_path / "home") as host:
        for number in range(3):
            writer = await BareClient(f"writer-{number}").open(host.url)
            await writer.initialize()
            session = f"ahp-session:/{number}"
            await writer.ask("createSession", channel=session, provider="console")
            chat = (await writer.subscribe(session))["defaultChat"]
            await writer.subscribe(chat)
            await writer.dispatch(chat, turn_started("t"))
            for step in range(300):
                draft = {"text": f"0.{step}", "origin": {"kind": "user"}}
                await writer.dispatch(chat, {"type": "chat/draftChanged", "draft": draft})
            began = time.monotonic()
            assert await host.end() == 0
            assert time.monotonic() - began < SHUTDOWN_SECONDS + 2, "about three seconds, on a busy machine"
            await writer.close()
            drafts = [e["action"]["draft"] for e in writer.envelopes.values() if e["action"]["type"] == DRAFT]
            await host.start()
            reader = await BareClient("reader").open(host.url)
            await reader.initialize()
            state = await reader.subscribe(chat)
            assert position(state["draft"]) >= max(map(position, drafts), default=(0, 0))
            assert [turn["id"] for turn in state["turns"]] == ["t"] and "activeTurn" not in state
            await reader.close()
