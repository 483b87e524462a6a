"""What real clients sent, sent again to our host (AHP §15): VS Code's web workbench, the Copilot CLI, ahpx.

Frames of the recorded client go out in their order; addresses that a host chooses are replaced by ours, and the agent
by the console. A client that offers nothing that 1.0 knows is refused as AHP §2.2 says.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.host_process import BareClient, HostProcess

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]
SERVED = [
    "web-client--vscode-host",
    "web-client--stub-host",
    "web-client--stub-host-restart",
    "copilot-tui--vscode-host",
    "copilot-tui--stub-host",
]
REFUSED = ["ahpx--vscode-host"]
NOT_SERVED = {-32601}
"""`extensions/…`, `getNetworkDiagnosticsInfo`, completions: the clients take "unknown method" for an answer."""


class Recording:
    """One recorded client: its frames, and what was answered."""

    def __init__(self, path: Path) -> None:
        self.rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        self.chats: dict[str, str] = {}

    def chat_of(self, session: str) -> str | None:
        """The default chat that the recorded host gave a session."""
        for row in self.rows:
            snapshot = ((row["frame"].get("result") or {}) if row["dir"] == "<" else {}) or {}
            state = (snapshot.get("snapshot") or {}).get("state") or {} if isinstance(snapshot, dict) else {}
            if (snapshot.get("snapshot") or {}).get("resource") == session and "lifecycle" in state:
                return state.get("defaultChat")
        return None

    def sent(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """(connection, frame); a connection number that is opened again is another connection."""
        opened = 0
        current: dict[int, int] = {}
        for row in self.rows:
            connection = row.get("conn", 0)
            if row["dir"] == "open" or connection not in current:
                opened += 1
                current[connection] = opened
            if row["dir"] == ">" and "method" in row["frame"]:
                yield current[connection], row["frame"]

    def translate(self, value: Any, folder: str) -> Any:
        if isinstance(value, dict):
            changed = {key: self.translate(child, folder) for key, child in value.items()}
            if "provider" in changed and isinstance(changed["provider"], str):
                changed["provider"] = "console"
            for key in ("workingDirectory", "workingDirectories"):
                if key in changed:
                    changed[key] = folder if key == "workingDirectory" else [folder]
            return changed
        if isinstance(value, list):
            return [self.translate(child, folder) for child in value]
        return self.chats.get(value, value) if isinstance(value, str) else value


class Replay:
    def __init__(self, host: HostProcess, recording: Recording, folder: str) -> None:
        self.host, self.recording, self.folder = host, recording, folder
        self.clients: dict[int, BareClient] = {}
        self.errors: list[tuple[str, int, str]] = []
        self.turns: list[tuple[BareClient, str, str]] = []
        self.refused: set[int] = set()
        self.joined: list[tuple[BareClient, str]] = []

    async def run(self) -> None:
        for connection, frame in self.recording.sent():
            if connection in self.refused:
                continue
            client = self.clients.get(connection)
            if client is None or client.ended:
                client = self.clients[connection] = await BareClient(f"recorded-{connection}").open(self.host.url)
            await self.send(client, frame)
            if frame["method"] == "initialize" and self.errors and self.errors[-1][1] == -32005:
                self.refused.add(connection)
                self.errors.pop()

    async def send(self, client: BareClient, frame: dict[str, Any]) -> None:
        method = frame["method"]
        params = self.recording.translate(frame.get("params"), self.folder)
        if method == "unsubscribe":  # the recorded client had seen the end of its turns by then
            for of, chat, turn in self.turns:
                if of is client:
                    await client.until(lambda u=chat, t=turn: turn_has_ended(client, u, t))
        if "id" not in frame:
            await client.notify(method, params)
            self.note(client, params or {})
            return
        answer = await client.ask_raw(method, params)
        if "error" in answer:
            self.errors.append((method, answer["error"]["code"], answer["error"]["message"]))
            return
        result = answer["result"]
        for snapshot in (result or {}).get("snapshots", ()) if isinstance(result, dict) else ():
            client.snapshot(snapshot)
        if method == "subscribe" and "snapshot" in result:
            client.snapshot(result["snapshot"])
            state = result["snapshot"]["state"]
            recorded = self.recording.chat_of(params["channel"])
            if "lifecycle" in state and recorded is not None:
                self.recording.chats[recorded] = state["defaultChat"]

    def note(self, client: BareClient, params: dict[str, Any]) -> None:
        action = params.get("action") or {}
        if action.get("type") == "chat/turnStarted":
            self.turns.append((client, params["channel"], action["turnId"]))
        if action.get("type") == "session/activeClientSet":
            self.joined.append((client, params["channel"]))


@pytest.mark.parametrize("name", SERVED)
async def test_a_recorded_client_is_served_to_the_end_of_its_turns(name: str, shared: Path, tmp_path: Path) -> None:
    """AHP §15: nothing that a real client sends breaks the host or hangs, and its turns complete."""
    recording = Recording(shared / "bench" / "transcripts" / f"{name}.jsonl")
    async with HostProcess(tmp_path / "home") as host:
        replay = Replay(host, recording, tmp_path.as_uri())
        await replay.run()
        assert {code for _, code, _ in replay.errors} <= NOT_SERVED | {-32008, -32602}, replay.errors
        for client, chat, turn in replay.turns:
            await client.until(lambda c=client, u=chat, t=turn: turn_has_ended(c, u, t))
        assert replay.turns
        probe = await BareClient("probe").open(host.url)
        assert "result" in await probe.initialize()
        await probe.close()
        for client in replay.clients.values():
            await client.close()
        assert await host.end() == 0


def turn_has_ended(client: BareClient, chat: str, turn: str) -> bool:
    ended = ("chat/turnComplete", "chat/error", "chat/turnCancelled")
    return any(
        e["channel"] == chat and e["action"].get("turnId") == turn and e["action"]["type"] in ended
        for e in client.envelopes.values()
    )


@pytest.mark.parametrize("name", REFUSED)
async def test_a_recorded_client_of_an_older_protocol_is_refused_with_what_is_supported(
    name: str, shared: Path, tmp_path: Path
) -> None:
    """AHP §2.2: -32005 with its data, then the connection ends."""
    recording = Recording(shared / "bench" / "transcripts" / f"{name}.jsonl")
    _, frame = next(recording.sent())
    async with HostProcess(tmp_path / "home") as host:
        client = await BareClient("old").open(host.url)
        answer = await client.ask_raw("initialize", {**frame["params"], "protocolVersions": ["0.6.0"]})
        assert answer["error"]["code"] == -32005
        assert "0.9.0" in " ".join(answer["error"]["data"]["supportedVersions"])
        await client.until(lambda: client.ended)
        assert await host.end() == 0
