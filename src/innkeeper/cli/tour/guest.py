"""What the tour does as a client: find the host, talk, answer, look."""

import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from innkeeper.cli.tour.stage import Stage, StepFailed
from innkeeper.cli.words import text
from innkeeper.client import Channel, Client, Rejected, connect, turns
from innkeeper.edge.discovery import find_running
from innkeeper.protocol.chat.state import ChatState
from innkeeper.protocol.session.state import SessionState
from innkeeper.settings.paths import find_paths

STEP_SECONDS = 12.0
EXAMPLE = "example"
CALL = '/call example add {"a": 2, "b": 3}'


@asynccontextmanager
async def visit(stage: Stage, name: str) -> AsyncIterator[Client]:
    """A client of the host that runs on the stage, found by its endpoint file."""
    endpoint = find_running(find_paths({"INNKEEPER_HOME": str(stage.home)}).state)
    if endpoint is None:
        raise StepFailed(text("cli.tour.notFound"))
    info = {"name": f"innkeeper-tour-{name}"}
    async with connect(endpoint.target, token=endpoint.token, client_info=info, reconnect=False) as client:
        yield client


class Guest:
    """A client in the session of the tour."""

    def __init__(self, client: Client, session: Channel[SessionState], chat: Channel[ChatState]) -> None:
        self.client, self.session, self.chat = client, session, chat

    @classmethod
    async def join(cls, client: Client, session_uri: str) -> "Guest":
        session = await client.subscribe_session(session_uri)
        state = await session.wait_for(lambda state: state["lifecycle"] == "ready" and state.get("defaultChat"))
        return cls(client, session, await client.subscribe_chat(state["defaultChat"]))

    async def say(self, message: str, decide: str | None = None) -> Mapping[str, Any]:
        """The turn that a message begins, when it has ended. `decide` (approve, deny) answers a question by the first
        option of that kind; a question without a decision is a failure."""
        turn_id = secrets.token_hex(12)
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        outcome = await self.chat.dispatch(turns.turn_started(turn_id, message, now))
        if isinstance(outcome, Rejected):
            raise StepFailed(outcome.reason)
        while True:
            state = await self.chat.wait_for(
                lambda chat: turns.tool_calls_to_confirm(chat) or "activeTurn" not in chat, STEP_SECONDS
            )
            waiting = turns.tool_calls_to_confirm(state)
            if not waiting:
                break
            await self._answer(turn_id, waiting[0], decide)
        turn = turns.turn_of(self.chat.state, turn_id)
        if turn is None:
            raise StepFailed(text("cli.tour.noTurn"))
        return turn

    async def _answer(self, turn_id: str, call: Mapping[str, Any], decide: str | None) -> None:
        options: Sequence[Mapping[str, Any]] = call.get("options") or ()
        chosen = next((option["id"] for option in options if option["kind"] == decide), None)
        if chosen is None:
            raise StepFailed(text("cli.tour.unexpectedQuestion"))
        await self.chat.dispatch(turns.tool_call_confirmed(turn_id, call, chosen))

    def server(self, name: str = EXAMPLE) -> Mapping[str, Any]:
        """The published item of a server. Raises StepFailed when it is not declared."""
        for item in self.session.state.get("customizations") or ():
            if item.get("type") == "mcpServer" and item["name"] == name:
                return item
        raise StepFailed(text("cli.tour.notDeclared", name=name))

    async def ask(self, verb: str, **params: Any) -> Any:
        return await self.client.request(
            f"x-innkeeper/mcp/{verb}", {"channel": self.session.uri, **params}, STEP_SECONDS
        )


class Company:
    """The clients of the tour, and what they have learned."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.doors = AsyncExitStack()
        self.first: Guest | None = None
        self.second: Guest | None = None
        self.session_uri = ""
        self.before: Mapping[str, Any] = {}
        self.running: list[int] = []

    @property
    def guest(self) -> Guest:
        assert self.first is not None
        return self.first

    async def leave(self) -> None:
        await self.doors.aclose()
        self.first = self.second = None


def calls_of(turn: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The tool calls of a turn."""
    return [part["toolCall"] for part in turn["responseParts"] if part["kind"] == "toolCall"]


def words_of(turn: Mapping[str, Any]) -> str:
    """What the agent said in a turn, tool results included."""
    from innkeeper.cli.chat.transcript import content_text

    said = [str(part.get("content", "")) for part in turn["responseParts"] if part["kind"] == "markdown"]
    return "\n".join([*said, *(content_text(call.get("content") or ()) for call in calls_of(turn))])
