"""What an agent that speaks MCP is given of a session's servers (architecture §5, M6.3c): loopback endpoints.

One endpoint is one upstream server for one agent: the session's own, or one child agent of it. Whoever holds the offer
can use the server within the gate, so an offer is a secret: it goes to the agent's process and nowhere else.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from innkeeper.ports.questions import Caller
from innkeeper.protocol.chat.state import ChatInputAnswer, ChatInputRequest, ChatInputResponseKind


@dataclass(frozen=True, slots=True)
class EndpointOffer:
    """Where the agent connects, by Streamable HTTP, and the headers that each of its requests needs. `name` is the name
    to give the server in the agent's configuration: the agent's own `mcp__<name>__<tool>` is then the host's (M2.10).
    """

    name: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)


class CallSigns(NamedTuple):
    """What a call that came in shows of where it belongs: the tool by the server's own name, its arguments, and the
    `_meta` of the request, which some agents fill with their id of the call."""

    tool: str
    arguments: Mapping[str, object]
    meta: Mapping[str, object]


Who = Callable[[CallSigns], Caller | None]
"""A provider says whose call it is, by `TurnOutput.caller`; None where it cannot tell: then the main agent calls."""


class McpEndpoints(Protocol):
    async def offer(
        self,
        session: str,
        server: str,
        *,
        subagent: str | None = None,
        patience: float | None = None,
        who: Who | None = None,
    ) -> EndpointOffer:
        """The endpoint of the server (id or name) for the session's agent, or for a child agent of it; the same one
        until it is withdrawn, then one with another address. `patience`: seconds until that agent gives a call up,
        where its provider knows (M6.4b). `who` is asked about each call (M6.3c). Raises McpRefused where the server is
        unknown, off or not connected."""
        ...

    async def withdraw(self, session: str, server: str | None = None, *, subagent: str | None = None) -> None:
        """From now on these endpoints list nothing and refuse every call, and their agents are told so; a call that
        runs goes on. Without `server` those of all servers; without `subagent` those of all agents of the session.
        Idempotent."""
        ...

    def give_up(self, session: str, call: str) -> None:
        """The agent of the session does not wait for the running call of that id any more: end it. For agents that drop
        a call without telling its server."""
        ...


CurrentTurn = Callable[[str, str | None], Caller | None]
"""Who calls: given a session and its child agent, the running turn with an id for this one call, or None."""


class Asked(Protocol):
    """The answer to an input request; anything but `accept` carries no answers."""

    @property
    def response(self) -> ChatInputResponseKind: ...

    @property
    def answers(self) -> Mapping[str, ChatInputAnswer]: ...


Ask = Callable[[Caller, ChatInputRequest], Awaitable[Asked]]
"""Puts a server's question to a person in the caller's conversation (AHP §9.8)."""
