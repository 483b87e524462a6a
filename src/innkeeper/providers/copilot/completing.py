"""A question to a model outside every conversation: no tools, no customizations, nothing kept (K18)."""

import asyncio
import contextlib
from typing import Any

from innkeeper.providers.copilot.install import AGENT
from innkeeper.providers.copilot.opening import QUIET
from innkeeper.providers.copilot.runtime import Refused, Runtime
from innkeeper.providers.copilot.service import Service
from innkeeper.providers.spi import Completion, ProviderError
from innkeeper.providers.telling import refused, unresponsive


async def complete(runtime: Runtime, service: Service, completion: Completion, directory: str, id: str) -> str:
    """Raises ProviderError."""
    over: asyncio.Future[str | ProviderError] = asyncio.get_running_loop().create_future()
    listening = _Listening(over)
    runtime.listeners.add(listening)
    options: dict[str, Any] = {
        **QUIET,
        **service.options(None),
        "working_directory": completion.directory or directory,
        "available_tools": [],
        "enable_skills": False,
        "included_builtin_skills": [],
        "infinite_sessions": {"enabled": False},
        "system_message": {"mode": "replace", "content": completion.instructions},
        "on_event": listening.heard,
    }
    try:
        async with asyncio.timeout(completion.seconds):
            session = await runtime.ask(runtime.client.create_session(session_id=id, **options))
            await runtime.ask(session.send(completion.text))
            answer = await over
    except TimeoutError:
        raise unresponsive(AGENT) from None
    except Refused as error:
        raise refused(AGENT, str(error)) from None
    finally:
        runtime.listeners.discard(listening)
        await asyncio.shield(runtime.keep(_forget(runtime, id)))
    if isinstance(answer, ProviderError):
        raise answer
    return answer.strip()


async def _forget(runtime: Runtime, id: str) -> None:
    with contextlib.suppress(Refused, ProviderError):
        await runtime.ask(runtime.client.delete_session(id))


class _Listening:
    """The one answer, or why there is none."""

    def __init__(self, over: "asyncio.Future[str | ProviderError]") -> None:
        self._over = over
        self._said: list[str] = []
        self._error: ProviderError | None = None
        self._taken = False

    def heard(self, event: Any) -> None:
        data = event.data.to_dict()
        match str(event.type.value):
            case "assistant.turn_start":
                self._taken = True
            case "assistant.message":
                self._said.append(str(data.get("content") or ""))
            case "session.error":
                self._error = refused(AGENT, str(data.get("message") or data.get("errorType")))
            case "session.idle" if (self._taken or self._error) and not self._over.done():
                self._over.set_result(self._error or "".join(self._said))

    def lost(self, error: ProviderError) -> None:
        if not self._over.done():
            self._over.set_result(error)
