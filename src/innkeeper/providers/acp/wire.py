"""One process of an agent and the SDK's connection to it. Importing this module imports the SDK.

Rules
* The process is the host's: its standard error is read and kept nowhere but in memory, a line may be long, and it ends
  with its tree.
* What the agent says of a session goes to who listens to that session; what it says of another one is dropped: that is
  how a loaded session's replay is not taken for news.
* The host offers the agent no files and no terminals of its own.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

import acp
from acp import schema
from acp.client.connection import ClientSideConnection
from acp.exceptions import RequestError

from innkeeper._version import running_version
from innkeeper.ports.endpoints import EndpointOffer
from innkeeper.ports.processes import Process
from innkeeper.wire.json import JsonError, decode, encode
from innkeeper.wire.limits import Limits

log = logging.getLogger(__name__)

START_SECONDS: Final = 60.0
"""An agent on Node may have to unpack itself first."""
CONTROL_SECONDS: Final = 60.0
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


class Gone(Exception):
    """The process has ended."""


class _Pipes:
    """The SDK's transport over a process of ours."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._lines = process.output()
        self._writing = asyncio.Lock()

    async def send(self, message: dict[str, Any]) -> None:
        try:
            async with self._writing:
                await self._process.write(encode(message) + b"\n")
        except (BrokenPipeError, ConnectionResetError):
            raise ConnectionError("the agent does not read any more") from None

    async def receive(self) -> dict[str, Any] | None:
        async for line in self._lines:
            try:
                message = decode(line, LINES) if line.strip() else None
            except JsonError:
                log.warning("agent %d: a line of %d bytes is no message", self._process.pid, len(line))
                continue
            if isinstance(message, dict):
                return message
        return None

    async def close(self) -> None:
        return None


class Peer:
    """A running agent. `served` is what its sessions are given; another one needs another process."""

    def __init__(self, process: Process, served: Mapping[str, tuple[EndpointOffer, str]]) -> None:
        self.process = process
        self.served = served
        self.capabilities = schema.AgentCapabilities()
        self.version = "?"
        self.logins: Sequence[str] = ()
        self._listeners: dict[str, Listener] = {}
        self._connection = ClientSideConnection(_Client(self._listeners), _Pipes(process))  # type: ignore[arg-type]

    @property
    def alive(self) -> bool:
        return self.process.exit_code is None

    async def introduce(self) -> None:
        """Raises Failed, Gone and TimeoutError."""
        answer = await self.call(
            self._connection.initialize(
                protocol_version=acp.PROTOCOL_VERSION,
                client_capabilities=schema.ClientCapabilities(),
                client_info=schema.Implementation(name="innkeeper", title="Innkeeper", version=running_version()),
            ),
            START_SECONDS,
        )
        self.capabilities = answer.agent_capabilities or schema.AgentCapabilities()
        self.version = answer.agent_info.version if answer.agent_info is not None else "?"
        self.logins = [method.name for method in answer.auth_methods or ()]

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

    def servers(self) -> list[Any]:
        """The host's endpoints, as a session is given them."""
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

    async def session_update(self, session_id: str, update: Any, **more: Any) -> None:
        listener = self._listeners.get(session_id)
        if listener is not None:
            listener.update(_plain(update))

    async def request_permission(self, session_id: str, tool_call: Any, options: list[Any], **more: Any) -> Any:
        listener = self._listeners.get(session_id)
        chosen = None
        if listener is not None:
            chosen = await listener.permission(_plain(tool_call), [_plain(option) for option in options])
        if chosen is None:
            return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))
        return schema.RequestPermissionResponse(outcome=schema.AllowedOutcome(outcome="selected", option_id=chosen))

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        raise RequestError.method_not_found(method)

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        return None

    def on_connect(self, conn: Any) -> None:
        return None


def blocks(parts: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Content of a prompt as the SDK takes it."""
    kinds: dict[str, Any] = {
        "text": schema.TextContentBlock,
        "image": schema.ImageContentBlock,
        "resource": schema.EmbeddedResourceContentBlock,
        "resource_link": schema.ResourceContentBlock,
    }
    return [kinds[part["type"]].model_validate(part) for part in parts]


def _plain(value: Any) -> Mapping[str, Any]:
    dumped: Mapping[str, Any] = value.model_dump(mode="json", by_alias=True, exclude_none=True)
    return dumped


def _message(error: RequestError) -> str:
    data = error.data if isinstance(error.data, Mapping) else {}
    said = data.get("details") or data.get("message")
    return f"{error} {said}" if said and str(said) not in str(error) else str(error)
