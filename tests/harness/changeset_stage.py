"""An agent that edits files as its prompt says, and what tests of changesets do all the time."""

import asyncio
import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.repositories import RealRepository
from innkeeper.providers.spi import ProviderError, ToolCompleted, ToolRunning, ToolStarted, TurnOutput, TurnRequest
from scripted.world import Client, RpcFailure

ROOT = "ahp-root://"
S = "ahp-session:/1"


class Stage:
    """What an agent of these tests does: each prompt is a line of steps.

    `write NAME TEXT` reports the edit, `shell NAME TEXT` does not, `rm NAME`, `wait KEY` until the test says so, `fail`
    can be resumed, `break` cannot."""

    def __init__(self) -> None:
        self.gates: dict[str, asyncio.Event] = {}
        self.reached: dict[str, asyncio.Event] = {}
        self.calls = 0

    def gate(self, key: str) -> asyncio.Event:
        return self.gates.setdefault(key, asyncio.Event())

    def at(self, key: str) -> asyncio.Event:
        return self.reached.setdefault(key, asyncio.Event())

    async def run(self, session: Any, request: TurnRequest, output: TurnOutput, rest: str) -> None:
        directory = Path(session.provider.opened[-1].directories[0])
        for step in rest.split(" ; "):
            word, _, more = step.partition(" ")
            name, _, content = more.partition(" ")
            if word == "wait":
                self.at(name).set()
                await self.gate(name).wait()
            elif word == "fail":
                raise ProviderError("overloaded", "try again", resumable=True)
            elif word == "break":
                raise ProviderError("broken", "no")
            else:
                self._edit(word, directory / name, content, output)
                await asyncio.sleep(0.01)

    def _edit(self, word: str, file: Path, content: str, output: TurnOutput) -> None:
        self.calls += 1
        call = f"call-{self.calls}"
        before = file.read_bytes() if file.exists() else None
        output.emit(ToolStarted(call, word, word))
        output.emit(ToolRunning(call, word))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink() if word == "rm" else file.write_text(content)
        edit: dict[str, Any] = {"type": "fileEdit"}
        if before is not None:
            data = base64.b64encode(before).decode()
            edit["before"] = {"uri": file.as_uri(), "content": {"uri": f"data:;base64,{data}"}}
        if word != "rm":
            edit["after"] = {"uri": file.as_uri(), "content": {"uri": file.as_uri()}}
        reported = [] if word == "shell" else [edit]
        result: Any = {"success": True, "pastTenseMessage": word, "content": reported}
        output.emit(ToolCompleted(call, result))


async def session(client: Client, place: RealRepository | Path) -> str:
    root = place.root if isinstance(place, RealRepository) else place
    _, chat = await client.new_session(S, workingDirectories=[root.as_uri()])
    await client.state(S, lambda s: s.get("changesets"))
    return chat


async def ready(client: Client, name: str, holds: Callable[[Any], Any] = lambda s: True) -> Any:
    """The changeset, computed, once it holds."""
    uri = f"{S}/changeset/{name}"
    if uri not in client.states:
        await client.subscribe(uri)
    return await client.state(uri, lambda s: s["status"] in ("ready", "error") and holds(s))


def names(state: Any) -> list[str]:
    return sorted(file["id"].rpartition("/")[2] for file in state["files"])


def only(*wanted: str) -> Callable[[Any], bool]:
    return lambda state: names(state) == sorted(wanted)


async def read(client: Client, file: Any, side: str) -> str:
    found = await client.request("resourceRead", ROOT, uri=file["edit"][side]["content"]["uri"])
    assert found["encoding"] == "utf-8"
    return str(found["data"])


async def failure(request: Any) -> RpcFailure:
    with pytest.raises(RpcFailure) as failed:
        await request
    return failed.value


async def invoke(client: Client, operation: str, meta: Any = None, **more: Any) -> Any:
    params = {"operationId": operation, **more, **({} if meta is None else {"_meta": meta})}
    return await client.request("invokeChangesetOperation", f"{S}/changeset/uncommitted", **params)
