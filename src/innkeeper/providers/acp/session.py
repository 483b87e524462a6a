"""One session with an agent: one process, its chats, what may reach them (C6.2, M6.3c).

Rules
* A process is one session's, because some agents share their servers between sessions. What is on is given when a
  session of the agent begins or is taken up; when it is another, the process is started again as soon as no turn runs.
* What is taken away loses its endpoint at once: it is refused, and an agent that listens is told that its list is
  empty.
* A process that does not stop when it is told to, that is lost, or that wants a login is ended; the next turn has a new
  one, which finds a login that was made meanwhile.
* Of the ways to sign in that an agent has, the host goes those that take nothing but a key of its environment, and none
  where the person's own folders would be written.
"""

import asyncio
import hashlib
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from innkeeper.ports.customizations import Eligible
from innkeeper.ports.endpoints import CallSigns, EndpointOffer
from innkeeper.ports.mcp import ServerTools
from innkeeper.ports.questions import Caller
from innkeeper.protocol.chat.state import Message
from innkeeper.providers.acp.choosing import PLAN
from innkeeper.providers.acp.conversation import LOGIN_NEEDED, Conversation, turn_of
from innkeeper.providers.acp.launch import command
from innkeeper.providers.acp.profiles import Profile
from innkeeper.providers.acp.updates import Server
from innkeeper.providers.acp.wire import PROTOCOL, Failed, Foreign, Gone, Peer
from innkeeper.providers.mounted import Mounts
from innkeeper.providers.spi import (
    BackingChanged,
    Notice,
    ProviderError,
    SessionOpening,
    Surroundings,
    TurnOutput,
    TurnRequest,
)
from innkeeper.providers.telling import ending, exited, failed_to_start, masked, refused, unresponsive
from innkeeper.texts import text
from innkeeper.wire.json import encode

log = logging.getLogger(__name__)

PATIENCE_SECONDS: Final = None
"""ACP has no word for how long an agent waits for a tool."""
CALL_IDS: Final = ("claudecode/toolUseId", "callId", "toolCallId")
"""Where agents put their id of a call in the request to a server."""


class Reports(Protocol):
    """What a provider hears from its sessions."""

    def learnt(self, options: Mapping[str, Any], version: str | None) -> None:
        """What the agent offers to choose, and which it is."""
        ...

    def signed_in(self, found: bool) -> None:
        """Whether the agent found a login."""
        ...


class AcpSession:
    def __init__(
        self, opening: SessionOpening, given: Surroundings, profile: Profile, directory: Path, reports: Reports
    ) -> None:
        self._session = opening.session
        self._cwd = opening.directories[0] if opening.directories else str(directory)
        self._given = given
        self._profile = profile
        self._directory = directory
        self._reports = reports
        self._eligible = opening.customizations
        self._mounts = Mounts(opening.session, given.gateway, given.endpoints, PATIENCE_SECONDS, self._who)
        self._conversations: dict[str, Conversation] = {}
        self._offered: dict[str, tuple[EndpointOffer, str]] = {}
        self._servers: list[Server] = []
        self._peer: Peer | None = None
        self._turns = 0
        """How many turns use the process."""
        self._changing = asyncio.Lock()
        self._said: set[str] = set()
        self._closed = False

    # -- ProviderSession -----------------------------------------------------------------------------------------

    async def run_turn(self, request: TurnRequest, output: TurnOutput) -> None:
        self._eligible = request.customizations
        conversation = self._conversations.setdefault(request.chat, Conversation(self._profile, self._cwd))
        conversation.remember(request.backing)
        async with conversation.busy:
            async with self._changing:
                await self._serve()
                peer = await self._ready_peer()
                self._turns += 1
            try:
                await self._run(peer, conversation, request, output)
            except (Failed, Gone, TimeoutError) as error:
                raise await self._failure(peer, error) from None
            finally:
                self._turns -= 1
                if conversation.stuck:
                    conversation.stuck = False
                    await self._drop(peer)

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
        await self._drop(self._peer)
        await self._mounts.close()

    # -- inside --------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """The agent is there. Raises ProviderError."""
        async with self._changing:
            await self._serve()
            await self._ready_peer()

    async def _run(self, peer: Peer, conversation: Conversation, request: TurnRequest, output: TurnOutput) -> None:
        said = await self._opened(peer, conversation, request)
        self._reports.learnt(conversation.options, peer.version)
        output.emit(BackingChanged({**conversation.backing(), "last": request.turn_id}))
        if self._offered and not peer.takes_servers:
            self._say_once(output, text("acp.noServers"))
        if request.config.get("mode") == PLAN and conversation.offered.plan is None:
            self._say_once(output, text("acp.noPlan"))
        await conversation.choose(peer, "model", _chosen_model(request))
        await conversation.choose(peer, "mode", _chosen_mode(request))
        turn = turn_of(output, request.turn_id, tuple(self._servers), self._cwd)
        try:
            await conversation.prompt(peer, request, turn, said)
        finally:
            for call in turn.updates.open_calls():
                self._given.endpoints.give_up(self._session, call)
        self._reports.signed_in(True)

    def _say_once(self, output: TurnOutput, what: str) -> None:
        if what not in self._said:
            self._said.add(what)
            output.emit(Notice(what))

    async def _opened(self, peer: Peer, conversation: Conversation, request: TurnRequest) -> list[dict[str, Any]]:
        """The agent's session is there, with a login if a key of the environment is one."""
        try:
            return await conversation.ready(peer, request)
        except Failed as error:
            method = self._signing_in(peer) if error.code == LOGIN_NEEDED else None
            if method is None:
                raise
        await peer.call(peer.agent.authenticate(method))
        return await conversation.ready(peer, request)

    def _signing_in(self, peer: Peer) -> str | None:
        """The agent's id of a way to sign in by a key that it was given."""
        if self._given.share_login:
            return None
        keys = {name for name in self._profile.keys if self._given.environment.get(name)}
        for id, variables in peer.logins.items():
            if self._profile.methods.get(id) in keys or (variables and keys.issuperset(variables)):
                return id
        return None

    async def _serve(self) -> None:
        """The servers that are on and connected, each with its endpoint; the others have none any more."""
        mounted = await self._mounts.look(self._eligible)
        self._offered = {server.customization_id: (offer, self._address(offer, server)) for server, offer in mounted}
        self._servers = [
            Server(offer.name, server.customization_id, frozenset(tool["name"] for tool in server.tools))
            for server, offer in mounted
        ]

    def _address(self, offer: EndpointOffer, server: ServerTools) -> str:
        """Another one for another list, where the agent does not read a list twice."""
        if self._profile.follows_lists:
            return offer.url
        return f"{offer.url}?tools={hashlib.sha256(encode(server.tools)).hexdigest()[:16]}"

    async def _ready_peer(self) -> Peer:
        """A process that has what is wanted, or has a turn running that it must not be taken from. Raises
        ProviderError."""
        peer = self._peer
        if peer is not None and peer.alive and (self._turns or peer.served == self._offered):
            return peer
        await self._drop(peer)
        self._peer = await self._spawned()
        return self._peer

    async def _spawned(self) -> Peer:
        given, agent = self._given, self._profile.title
        try:
            process = await given.processes.spawn(
                command(self._profile, given.environment, self._directory, self._cwd, share_login=given.share_login)
            )
        except OSError as error:
            raise failed_to_start(agent, error.strerror or type(error).__name__) from None
        peer = Peer(process, dict(self._offered))
        try:
            await peer.introduce()
        except (Failed, Foreign, Gone, TimeoutError) as error:
            why = await self._not_started(peer, error)
            await peer.close()
            raise why from None
        except BaseException:
            await peer.close()
            raise
        return peer

    async def _drop(self, peer: Peer | None) -> None:
        """This process is over, unless another one has taken its place."""
        if peer is not None:
            if self._peer is peer:
                self._peer = None
            await peer.close()

    def _who(self, signs: CallSigns) -> Caller | None:
        """By the agent's own id of the call where it gives one, else by the call that waits for this tool (M6.3c)."""
        id = next((signs.meta[name] for name in CALL_IDS if isinstance(signs.meta.get(name), str)), None)
        running = [one.turn for one in self._conversations.values() if one.turn is not None]
        for turn in running:
            known = turn.updates.calls.get(str(id)) if id is not None else None
            call = known or turn.updates.matching(signs.tool, signs.arguments)
            if call is not None:
                return turn.output.caller(call.id, subagent=call.subagent)
        return running[0].output.caller(str(id or self._given.ids.new())) if len(running) == 1 else None

    # -- errors --------------------------------------------------------------------------------------------------

    async def _failure(self, peer: Peer, error: Exception) -> ProviderError:
        """Why the turn failed; a process that is of no more use is ended."""
        agent = self._profile.title
        if isinstance(error, Failed) and error.code != LOGIN_NEEDED:
            return refused(agent, error.message)
        code = await peer.exit_code() if isinstance(error, Gone) else None
        await self._drop(peer)
        match error:
            case Failed():
                return self._logged_out()
            case Gone():
                return exited(agent, code)
            case _:
                return unresponsive(agent)

    async def _not_started(self, peer: Peer, error: Exception) -> ProviderError:
        agent = self._profile.title
        match error:
            case Failed(code=code) if code == LOGIN_NEEDED:
                return self._logged_out()
            case Failed(message=message):
                return failed_to_start(agent, masked(message))
            case Foreign():
                lacking = text("acp.protocol", version=PROTOCOL)
                why = text("error.AGENT_UNSUPPORTED.meaning", agent=agent, missing=lacking)
                return ProviderError("AGENT_UNSUPPORTED", why)
            case Gone():
                return failed_to_start(agent, ending(await peer.exit_code()))
            case _:
                return failed_to_start(agent, text("agent.startTimeout"))

    def _logged_out(self) -> ProviderError:
        self._reports.signed_in(False)
        why = text("error.AGENT_LOGIN_MISSING.meaning", agent=self._profile.title)
        how = self._profile.signing_in(self._directory, share_login=self._given.share_login)
        return ProviderError("AGENT_LOGIN_MISSING", f"{why} {how}".strip())


def _chosen_model(request: TurnRequest) -> str | None:
    model = request.message.get("model")
    return None if model is None or model["id"] == "default" else str(model["id"])


def _chosen_mode(request: TurnRequest) -> str | None:
    if request.config.get("mode") == PLAN:
        return PLAN
    chosen = request.config.get("agentMode")
    return str(chosen) if chosen else None
