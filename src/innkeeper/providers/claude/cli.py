"""One running agent: the SDK's client on a process, its control requests, and a pump that reads whatever it says.

Rules
* The messages are always read, whether a turn runs or not: a full pipe would stop the answers of control requests too.
* What is not public in the SDK is named in `NEEDED` and looked for before anything is started (M7.8).
* A control request has a limit; an agent that does not answer is not waited for.
"""

import asyncio
import contextlib
import importlib
import json
import logging
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from innkeeper.ports.processes import Command, Processes
from innkeeper.providers.claude.process import Ended, Message, ProcessTransport

log = logging.getLogger(__name__)

_FORGOTTEN: Final = re.compile(r"No (conversation|message) found")

START_SECONDS: Final = 40.0
CONTROL_SECONDS: Final = 20.0

NEEDED: Final = (
    ("claude_agent_sdk", "ClaudeSDKClient.connect"),
    ("claude_agent_sdk", "ClaudeAgentOptions"),
    ("claude_agent_sdk", "HookMatcher"),
    ("claude_agent_sdk", "PermissionResultAllow"),
    ("claude_agent_sdk", "PermissionResultDeny"),
    ("claude_agent_sdk._internal.transport.subprocess_cli", "SubprocessCLITransport._build_command"),
    ("claude_agent_sdk._internal.query", "Query._send_control_request"),
    ("claude_agent_sdk._internal.query", "Query.receive_messages"),
)
"""What is called of the SDK, public and not."""


class Unanswered(Exception):
    """A control request was refused, or not answered in time. The text is the agent's and goes no further."""


def lacking() -> list[str]:
    """What this SDK does not have of `NEEDED`. Imports it."""
    gone = []
    for module, path in NEEDED:
        try:
            found: Any = importlib.import_module(module)
            for name in path.split("."):
                found = getattr(found, name)
        except (ImportError, AttributeError):
            gone.append(path)
    return gone


class Forgotten(Exception):
    """The agent does not know the conversation, or the place in it, that it was to go on from."""


class Cli:
    """`heard` is called with each message, `ended` once with the exit code when the process is gone by itself."""

    def __init__(
        self, client: Any, transport: ProcessTransport, heard: Callable[[Message], None], ended: Callable[[Ended], None]
    ) -> None:
        self._client = client
        self._transport = transport
        self._heard = heard
        self._ended = ended
        self._pump: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        self.about: Mapping[str, Any] = {}
        """What the agent said of itself at its start: models, commands, version."""

    @property
    def pid(self) -> int | None:
        return None if self._transport.process is None else self._transport.process.pid

    @property
    def alive(self) -> bool:
        return self._transport.is_ready()

    async def start(self) -> None:
        """Ready for a message when this returns. Raises Ended, Forgotten, OSError, TimeoutError, Unanswered."""
        try:
            async with asyncio.timeout(START_SECONDS):
                await self._client.connect()
        except (OSError, TimeoutError, asyncio.CancelledError):
            await self.close()
            raise
        except Exception as error:
            code = None if self._transport.process is None else self._transport.process.exit_code
            await self.close()
            if _FORGOTTEN.search(self._transport.refusal):
                raise Forgotten from error
            if isinstance(error, Ended) or code is not None:
                raise Ended(code) from error
            raise Unanswered(str(error)) from error
        self.about = self._client._query._initialization_result or {}
        self._pump = asyncio.get_running_loop().create_task(self._read(), name=f"claude {self.pid}")

    async def send(self, content: Any, uuid: str, *, priority: str | None = None) -> None:
        """A message of the user. Raises Ended."""
        message: Message = {
            "type": "user",
            "message": {"role": "user", "content": content},
            "parent_tool_use_id": None,
            "session_id": "default",
            "uuid": uuid,
        }
        if priority is not None:
            message["priority"] = priority
        await self._transport.write(json.dumps(message) + "\n")

    async def control(self, subtype: str, *, seconds: float = CONTROL_SECONDS, **request: Any) -> Mapping[str, Any]:
        """Raises Unanswered."""
        try:
            async with asyncio.timeout(seconds):
                answer = await self._client._query._send_control_request({"subtype": subtype, **request})
        except asyncio.CancelledError:
            raise
        except Exception as error:
            raise Unanswered(f"{subtype}: {type(error).__name__}: {error}") from error
        return answer if isinstance(answer, Mapping) else {}

    def serve_tools(self, name: str, server: Any) -> None:
        """An MCP server inside this process: what `handle(message)` of it answers."""
        self._client._query._sdk_mcp_bridges[name] = server

    async def close(self) -> None:
        """End the process with its tree. Idempotent; a caller that is cancelled does not stop it."""
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._close(), name=f"close claude {self.pid}")
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        await self._transport.close()
        if self._pump is not None:
            self._pump.cancel()
            await asyncio.wait([self._pump])
        with contextlib.suppress(Exception):  # the process is gone; this ends the SDK's own tasks
            await self._client.disconnect()

    async def _read(self) -> None:
        ended = Ended(None)
        try:
            async for message in self._client._query.receive_messages():
                try:
                    self._heard(message)
                except Exception:
                    log.exception("a %s message of the agent could not be used", message.get("type"))
        except asyncio.CancelledError:
            raise
        except Ended as error:
            ended = error
        except Exception as error:
            log.warning("the messages of the agent ended: %s", type(error).__name__)
            process = self._transport.process
            ended = Ended(process.exit_code if process is not None else None)
        if self._closing is None:
            self._ended(ended)


def make(
    options: Any, processes: Processes, environment: Mapping[str, str], directory: str, program: str
) -> tuple[Any, ProcessTransport]:
    """The SDK's client for these options, on a process that is not started yet. The SDK makes the command line."""
    from dataclasses import replace

    from claude_agent_sdk import ClaudeSDKClient
    from claude_agent_sdk._internal.transport.subprocess_cli import SubprocessCLITransport

    asking = replace(options, cli_path=program, permission_prompt_tool_name="stdio" if options.can_use_tool else None)
    command = SubprocessCLITransport("", asking)._build_command()
    transport = ProcessTransport(processes, Command(command[0], command[1:], environment, directory))
    return ClaudeSDKClient(options, transport=transport), transport  # type: ignore[arg-type]  # a Transport by its methods
