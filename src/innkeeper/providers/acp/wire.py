"""One process of an agent and the SDK's connection to it. Importing this module imports the SDK.

Rules
* The process is the host's: its standard error is read and kept nowhere but in memory, a line may be long, and it ends
  with its tree.
* What the agent says of a session goes to who listens to that session; what it says of another one is dropped: that is
  how a loaded session's replay is not taken for news.
* What is no message, or news of a kind that this version of the protocol does not have, is passed over and said once;
  the SDK would log what is in it. What the agent says is in no log.
* A connection that is lost is as good as a process that has ended.
* The host offers the agent no files and no terminals of its own.
"""

import asyncio
import contextlib
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from acp import schema
from acp.client.connection import ClientSideConnection
from acp.exceptions import RequestError

from innkeeper._version import running_version
from innkeeper.ports.endpoints import EndpointOffer
from innkeeper.ports.processes import Process
from innkeeper.wire.json import JsonError, decode, encode
from innkeeper.wire.limits import Limits

log = logging.getLogger(__name__)

PROTOCOL: Final = 1
"""The version of the protocol that is spoken here."""
START_SECONDS: Final = 60.0
"""An agent on Node may have to unpack itself first."""
CONTROL_SECONDS: Final = 60.0
GONE_SECONDS: Final = 2.0
NEWS: Final = "session/update"
KINDS: Final = 20
"""How many kinds of what is passed over are said."""
MALFORMED: Final = -32603
LINES: Final = Limits(64 * 1024 * 1024, 512)

Update = Mapping[str, Any]


class Listener(Protocol):
    """A conversation, while it is interested."""

    def update(self, update: Update) -> None: ...

    async def permission(self, call: Update, options: Sequence[Update]) -> str | None:
        """The id of the chosen option; None: cancelled."""
        ...


class Failed(Exception):
    """The agent answered with an error. `code` -32000 wants a login."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Malformed(Failed):
    """The agent answered with what is no answer."""


class Gone(Exception):
    """The process has ended, or cannot be spoken to any more."""


class Foreign(Exception):
    """The agent speaks another version of the protocol, or none."""


class _Pipes:
    """The SDK's transport over a process of ours. News of sessions go to their listeners at once, in their order."""

    def __init__(self, process: Process, listeners: Mapping[str, Listener]) -> None:
        self.lost = False
        """Nothing more can be heard or said."""
        self._process = process
        self._listeners = listeners
        self._lines = process.output()
        self._writing = asyncio.Lock()
        self._said: set[str] = set()

    async def send(self, message: dict[str, Any]) -> None:
        try:
            async with self._writing:
                await self._process.write(encode(message) + b"\n")
        except (BrokenPipeError, ConnectionResetError):
            if "method" not in message:
                return  # an answer that nobody waits for any more
            raise ConnectionError("the agent does not read any more") from None

    async def receive(self) -> dict[str, Any] | None:
        """A request of the agent's, or an answer of its."""
        try:
            async for line in self._lines:
                message = self._message(line) if line.strip() else None
                if message is None:
                    continue
                if "method" not in message or "id" in message:
                    return message
                if message["method"] == NEWS:
                    self._tell(message.get("params"))
        except BaseException:
            self.lost = True
            raise
        self.lost = True
        return None

    async def close(self) -> None:
        return None

    def _message(self, line: bytes) -> dict[str, Any] | None:
        try:
            message = decode(line, LINES)
        except JsonError:
            message = None
        if isinstance(message, dict):
            if isinstance(message.get("method"), str):
                return message
            error = message.get("error")
            if "method" not in message and isinstance(message.get("id"), int) and isinstance(error, dict | None):
                return message
        self._once("a line of its output is no message")
        return None

    def _tell(self, params: object) -> None:
        try:
            news = schema.SessionNotification.model_validate(params)
        except ValueError:
            self._once(f"news of a kind that is not known here ({_kind(params)}) is passed over")
            return
        listener = self._listeners.get(news.session_id)
        if listener is not None:
            try:
                listener.update(_plain(news.update))
            except Exception:
                log.exception("agent %d: news could not be taken", self._process.pid)

    def _once(self, what: str) -> None:
        if what not in self._said and len(self._said) < KINDS:
            self._said.add(what)
            log.warning("agent %d: %s", self._process.pid, what)


class Peer:
    """A running agent. `served` is what its sessions are given; another one needs another process."""

    def __init__(self, process: Process, served: Mapping[str, tuple[EndpointOffer, str]]) -> None:
        self.process = process
        self.served = served
        self.capabilities = schema.AgentCapabilities()
        self.version: str | None = None
        self.logins: Mapping[str, Sequence[str]] = {}
        """Ways to sign in without a person: their ids, and the variables of the environment that each needs, where it
        says so."""
        self._listeners: dict[str, Listener] = {}
        self._pipes = _Pipes(process, self._listeners)
        self._connection = ClientSideConnection(_Client(self._listeners), self._pipes)  # type: ignore[arg-type]

    @property
    def alive(self) -> bool:
        return self.process.exit_code is None and not self._pipes.lost

    async def introduce(self) -> None:
        """Raises Failed, Foreign, Gone and TimeoutError."""
        try:
            answer = await self.call(
                self._connection.initialize(
                    protocol_version=PROTOCOL,
                    client_capabilities=schema.ClientCapabilities(plan=schema.PlanCapabilities()),
                    client_info=schema.Implementation(name="innkeeper", title="Innkeeper", version=running_version()),
                ),
                START_SECONDS,
            )
        except Malformed:
            raise Foreign from None
        if answer.protocol_version != PROTOCOL:
            raise Foreign
        self.capabilities = answer.agent_capabilities or schema.AgentCapabilities()
        self.version = answer.agent_info.version if answer.agent_info is not None else None
        self.logins = {method.id: _variables(method) for method in answer.auth_methods or ()}

    @property
    def agent(self) -> ClientSideConnection:
        return self._connection

    async def call(self, work: Any, seconds: float | None = CONTROL_SECONDS) -> Any:
        """The answer to a request of `agent`. Raises Failed, Gone and TimeoutError."""
        try:
            async with asyncio.timeout(seconds):
                return await work
        except RequestError as error:
            raise Failed(error.code, _message(error)) from None
        except ConnectionError:
            raise Gone("the process has ended") from None
        except ValueError:
            raise Malformed(MALFORMED, "its answer is not what the protocol says") from None

    async def exit_code(self) -> int | None:
        """How the process ended; it may not have been seen yet. None where it goes on."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GONE_SECONDS):
                await self.process.wait()
        return self.process.exit_code

    @property
    def takes_servers(self) -> bool:
        """Whether it can be given the host's endpoints."""
        can = self.capabilities.mcp_capabilities
        return bool(can and can.http)

    def servers(self) -> list[Any]:
        """The host's endpoints, as a session is given them; none where the agent cannot take any."""
        if not self.takes_servers:
            return []
        return [
            schema.HttpMcpServer(
                type="http",
                name=offer.name,
                url=url,
                headers=[schema.HttpHeader(name=name, value=value) for name, value in offer.headers.items()],
            )
            for offer, url in self.served.values()
        ]

    def listen(self, session: str, listener: Listener | None) -> None:
        if listener is None:
            self._listeners.pop(session, None)
        else:
            self._listeners[session] = listener

    async def close(self) -> None:
        self._listeners.clear()
        await self.process.close()
        await self._connection.close()


class _Client:
    """What the agent may ask the host."""

    def __init__(self, listeners: Mapping[str, Listener]) -> None:
        self._listeners = listeners

    async def request_permission(self, session_id: str, tool_call: Any, options: list[Any], **more: Any) -> Any:
        listener = self._listeners.get(session_id)
        chosen = None
        if listener is not None:
            chosen = await listener.permission(_plain(tool_call), [_plain(option) for option in options])
        if chosen is None:
            return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))
        return schema.RequestPermissionResponse(outcome=schema.AllowedOutcome(outcome="selected", option_id=chosen))


def blocks(parts: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Content of a prompt as the SDK takes it."""
    kinds: dict[str, Any] = {
        "text": schema.TextContentBlock,
        "image": schema.ImageContentBlock,
        "resource": schema.EmbeddedResourceContentBlock,
        "resource_link": schema.ResourceContentBlock,
    }
    return [kinds[part["type"]].model_validate(part) for part in parts]


def _variables(method: Any) -> Sequence[str]:
    return [one.name for one in getattr(method, "vars", None) or () if not one.optional]


def _kind(params: object) -> str:
    update = params.get("update") if isinstance(params, Mapping) else None
    return str(update.get("sessionUpdate"))[:40] if isinstance(update, Mapping) else "?"


def _plain(value: Any) -> Mapping[str, Any]:
    dumped: Mapping[str, Any] = value.model_dump(mode="json", by_alias=True, exclude_none=True)
    return dumped


def _message(error: RequestError) -> str:
    data = error.data if isinstance(error.data, Mapping) else {}
    said = data.get("details") or data.get("message")
    return f"{error} {said}" if said and str(said) not in str(error) else str(error)
