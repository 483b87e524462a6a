"""One session with an agent: one process, its chats, what may reach them (C6.2, M6.3c).

Rules
* A process is one session's, because some agents share their servers between sessions. What is on is given when a
  session of the agent begins or is taken up; when it is another, the process is started again as soon as no turn runs.
* What is taken away loses its endpoint at once: it is refused, and an agent that listens is told that its list is
  empty.
* A process that does not stop when it is told to is ended; the next turn has a new one.
"""

import asyncio
import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from innkeeper.ports.customizations import Eligible
from innkeeper.ports.endpoints import CallSigns, EndpointOffer
from innkeeper.ports.mcp import McpRefused, ServerTools
from innkeeper.ports.questions import Caller
from innkeeper.protocol.chat.state import Message
from innkeeper.providers.acp.conversation import LOGIN_NEEDED, Conversation, turn_of
from innkeeper.providers.acp.launch import command
from innkeeper.providers.acp.profiles import Profile
from innkeeper.providers.acp.updates import Server
from innkeeper.providers.acp.wire import Failed, Gone, Peer
from innkeeper.providers.spi import (
    BackingChanged,
    ProviderError,
    SessionOpening,
    Surroundings,
    TurnOutput,
    TurnRequest,
)
from innkeeper.texts import text
from innkeeper.wire.json import encode

log = logging.getLogger(__name__)

PATIENCE_SECONDS: Final = None
"""ACP has no word for how long an agent waits for a tool."""
CALL_IDS: Final = ("claudecode/toolUseId", "callId", "toolCallId")
"""Where agents put their id of a call in the request to a server."""

Learnt = Callable[[Mapping[str, Any]], None]


class AcpSession:
    def __init__(
        self, opening: SessionOpening, given: Surroundings, profile: Profile, directory: Path, learnt: Learnt
    ) -> None:
        self._session = opening.session
        self._cwd = opening.directories[0] if opening.directories else str(directory)
        self._given = given
        self._profile = profile
        self._directory = directory
        self._learnt = learnt
        self._eligible = opening.customizations
        self._conversations: dict[str, Conversation] = {}
        self._offered: dict[str, tuple[EndpointOffer, str]] = {}
        self._servers: list[Server] = []
        self._peer: Peer | None = None
        self._changing = asyncio.Lock()
        self._closed = False

    # -- ProviderSession -----------------------------------------------------------------------------------------

    async def run_turn(self, request: TurnRequest, output: TurnOutput) -> None:
        self._eligible = request.customizations
        conversation = self._conversations.setdefault(request.chat, Conversation(self._profile, self._cwd))
        conversation.remember(request.backing)
        async with conversation.busy:
            try:
                await self._run(conversation, request, output)
            except Failed as error:
                raise self._failure(error) from None
            except Gone:
                raise self._exited() from None
            except TimeoutError:
                await self._drop()
                raise self._unresponsive() from None
            finally:
                if conversation.stuck:
                    conversation.stuck = False
                    await self._drop()

    async def reconcile(self, customizations: Eligible) -> Sequence[str] | None:
        self._eligible = customizations
        async with self._changing:
            await self._serve()
        return None

    async def steer(self, chat: str, message_id: str, message: Message) -> bool:
        return False

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        await self._drop()
        await self._given.endpoints.withdraw(self._session)

    # -- inside --------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """The agent is there. Raises ProviderError."""
        async with self._changing:
            await self._serve()
            await self._ready_peer()

    async def _run(self, conversation: Conversation, request: TurnRequest, output: TurnOutput) -> None:
        async with self._changing:
            await self._serve()
            peer = await self._ready_peer()
            said = await conversation.ready(peer, request)
        self._learnt(conversation.options)
        output.emit(BackingChanged({**conversation.backing(), "last": request.turn_id}))
        await conversation.choose(peer, "model", _chosen_model(request))
        await conversation.choose(peer, "mode", _chosen_mode(request))
        turn = turn_of(output, request.turn_id, tuple(self._servers), self._cwd)
        try:
            await conversation.prompt(peer, request, turn, said)
        finally:
            for call in turn.updates.open_calls():
                self._given.endpoints.give_up(self._session, call)

    async def _serve(self) -> None:
        """The servers that are on and connected, each with its endpoint; the others have none any more."""
        withheld = {item.id for item in self._eligible.withheld}
        try:
            connected = self._given.gateway.tools(self._session)
        except McpRefused:
            connected = ()
        wanted = {one.customization_id: one for one in connected if one.customization_id not in withheld}
        for id in [id for id in self._offered if id not in wanted]:
            del self._offered[id]
            await self._given.endpoints.withdraw(self._session, id)
        servers: list[Server] = []
        for id, server in wanted.items():
            try:
                offer = await self._given.endpoints.offer(self._session, id, patience=PATIENCE_SECONDS, who=self._who)
            except McpRefused as error:
                log.info("%s: a server is not offered (%s)", self._profile.name, error.code)
                continue
            self._offered[id] = (offer, self._address(offer, server))
            servers.append(Server(offer.name, id, frozenset(tool["name"] for tool in server.tools)))
        self._servers = servers

    def _address(self, offer: EndpointOffer, server: ServerTools) -> str:
        """Another one for another list, where the agent does not read a list twice."""
        if self._profile.follows_lists:
            return offer.url
        return f"{offer.url}?tools={hashlib.sha256(encode(server.tools)).hexdigest()[:16]}"

    async def _ready_peer(self) -> Peer:
        """A process that has what is wanted, or has a turn running that it must not be taken from. Raises
        ProviderError."""
        peer = self._peer
        busy = any(one.turn is not None for one in self._conversations.values())
        if peer is not None and peer.alive and (busy or peer.served == self._offered):
            return peer
        await self._drop()
        self._peer = await self._spawned()
        return self._peer

    async def _spawned(self) -> Peer:
        given = self._given
        try:
            process = await given.processes.spawn(
                command(self._profile, given.environment, self._directory, self._cwd, share_login=given.share_login)
            )
        except OSError as error:
            raise self._not_started(type(error).__name__) from None
        peer = Peer(process, dict(self._offered))
        try:
            await peer.introduce()
            if not (peer.capabilities.mcp_capabilities and peer.capabilities.mcp_capabilities.http):
                log.warning("%s takes no servers over HTTP: none of the host's reach it", self._profile.name)
        except BaseException as error:
            await peer.close()
            if isinstance(error, Failed):
                raise self._failure(error) from None
            if isinstance(error, Gone | TimeoutError):
                code = process.exit_code
                raise self._not_started("no answer" if code is None else f"exit code {code}") from None
            raise
        return peer

    async def _drop(self) -> None:
        peer, self._peer = self._peer, None
        if peer is not None:
            await peer.close()

    def _who(self, signs: CallSigns) -> Caller | None:
        """By the agent's own id of the call where it gives one, else by the call that waits for this tool (M6.3c)."""
        id = next((signs.meta[name] for name in CALL_IDS if isinstance(signs.meta.get(name), str)), None)
        running = [one.turn for one in self._conversations.values() if one.turn is not None]
        for turn in running:
            known = turn.updates.calls.get(str(id)) if id is not None else None
            call = known or turn.updates.matching(signs.tool, signs.arguments)
            if call is not None:
                return turn.output.caller(call.id)
        return running[0].output.caller(str(id or self._given.ids.new())) if len(running) == 1 else None

    # -- errors --------------------------------------------------------------------------------------------------

    def _failure(self, error: Failed) -> ProviderError:
        agent = self._profile.title
        if error.code == LOGIN_NEEDED:
            why = text("error.AGENT_LOGIN_MISSING.meaning", agent=agent)
            return ProviderError("AGENT_LOGIN_MISSING", f"{why} {self._profile.login}".strip())
        return ProviderError(
            "AGENT_REFUSED", text("error.AGENT_REFUSED.meaning", agent=agent, reason=masked(error.message))
        )

    def _exited(self) -> ProviderError:
        code = self._peer.process.exit_code if self._peer is not None else None
        why = text("error.AGENT_EXITED.meaning", agent=self._profile.title, reason=f"exit code {code}")
        return ProviderError("AGENT_EXITED", why, resumable=True)

    def _unresponsive(self) -> ProviderError:
        return ProviderError(
            "AGENT_UNRESPONSIVE", text("error.AGENT_UNRESPONSIVE.meaning", agent=self._profile.title), resumable=True
        )

    def _not_started(self, reason: str) -> ProviderError:
        why = text("error.AGENT_START_FAILED.meaning", agent=self._profile.title, reason=reason)
        return ProviderError("AGENT_START_FAILED", why)


def masked(message: str) -> str:
    """A service's own words, bounded, without what looks like a key."""
    return " ".join("[key]" if "sk-" in word or "Bearer" in word else word for word in message.split())[:2000]


def _chosen_model(request: TurnRequest) -> str | None:
    model = request.message.get("model")
    return None if model is None or model["id"] == "default" else str(model["id"])


def _chosen_mode(request: TurnRequest) -> str | None:
    if request.config.get("mode") == "plan":
        return "plan"
    chosen = request.config.get("agentMode")
    return str(chosen) if chosen else None
