"""What the scripted agents of the browser tests do. A scene that waits does so for a file `go-NAME` in the host's home,
so that a test decides when it goes on."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from innkeeper.ports.customizations import Eligible
from innkeeper.protocol.chat.state import Message
from innkeeper.protocol.root.state import AgentInfo
from innkeeper.protocol.session.state import SessionConfigSchema
from innkeeper.providers.spi import (
    Backing,
    ReasoningDelta,
    SessionOpening,
    TextDelta,
    TurnOutput,
    TurnRequest,
    Unavailable,
)

Scene = Callable[["StagedSession", TurnRequest, TurnOutput, str], Awaitable[None]]


class StagedProvider:
    def __init__(self, name: str, display: str, home: Path) -> None:
        self.name, self.display, self.home = name, display, home

    @property
    def info(self) -> AgentInfo:
        models = [("sonnet", "Sonnet"), ("opus", "Opus")]
        return {
            "provider": self.name,
            "displayName": self.display,
            "description": "Plays scenes.",
            "models": [
                {"id": id, "provider": self.name, "name": name, "maxContextWindow": 200_000} for id, name in models
            ],
            "capabilities": {"multipleChats": {"fork": True, "sideChat": True}},
        }

    @property
    def unavailable(self) -> Unavailable | None:
        return None

    def watch(self, changed: Callable[[], None]) -> None:
        return

    def can_resume(self, backing: Backing | None) -> bool:
        return True

    def config_schema(self, directory: str | None, values: Mapping[str, object]) -> SessionConfigSchema:
        mode = {
            "type": "string",
            "title": "Permission mode",
            "enum": ["default", "acceptEdits", "plan"],
            "enumLabels": ["Ask before edits", "Edit without asking", "Plan only"],
            "default": "default",
            "sessionMutable": True,
        }
        return {"type": "object", "properties": {"permissionMode": mode}}  # type: ignore[typeddict-item]

    async def open_session(self, opening: SessionOpening) -> "StagedSession":
        return StagedSession(self.home)

    async def close(self) -> None:
        return


class StagedSession:
    def __init__(self, home: Path) -> None:
        self.home = home
        self.steered: asyncio.Queue[tuple[str, Message]] = asyncio.Queue()

    async def run_turn(self, request: TurnRequest, output: TurnOutput) -> None:
        asked = request.text.rsplit("</side-conversation>", 1)[-1].strip()
        word, _, rest = asked.partition(" ")
        await SCENES.get(word, say)(self, request, output, rest if word in SCENES else asked)

    async def until(self, name: str) -> None:
        """Waits for the test."""
        while not (self.home / f"go-{name}").exists():  # noqa: ASYNC110 - another process says so
            await asyncio.sleep(0.02)

    async def reconcile(self, customizations: Eligible) -> Sequence[str] | None:
        return None

    async def steer(self, chat: str, message_id: str, message: Message) -> bool:
        self.steered.put_nowait((message_id, message))
        return True

    async def close(self) -> None:
        return


def done(words: str, verb: str = "Done", **more: object) -> dict[str, object]:
    return {"success": True, "pastTenseMessage": verb, "content": [{"type": "text", "text": words}], **more}


async def say(session: StagedSession, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    """The words, in pieces."""
    for start in range(0, len(rest), 12):
        output.emit(TextDelta(rest[start : start + 12], "t"))
        await asyncio.sleep(0)


async def slow(session: StagedSession, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    """Paragraphs, one after the other, and the last one when the test says so: `slow NAME COUNT`."""
    name, _, count = rest.partition(" ")
    output.emit(ReasoningDelta("First this, then that.", "r"))
    for number in range(int(count or 20)):
        for word in f"Paragraph {number} has **some** words and `code`.\n\n".split(" "):
            output.emit(TextDelta(word + ("" if word.endswith("\n\n") else " "), "t"))
            await asyncio.sleep(0.004)
    await session.until(name)
    output.emit(TextDelta("The end.", "t"))


SCENES: dict[str, Scene] = {"say": say, "slow": slow}
