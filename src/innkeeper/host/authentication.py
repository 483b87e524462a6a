"""Tokens in the protocol: `authenticate`, `auth/required`, tool calls that wait, sign-in by the host (AHP §8, §9.2).

Rules
* A token goes from the command to `ports.authentication` and nowhere else: no state, no log, no error has it.
* `auth/required` goes to the subscribers of the root channel, once for each need.
* A call that waits is in its chat's state (`auth-required`), and by `input_needed` in its session's; a client ends the
  wait by failing the call, a token by granting it. Only a call of an MCP server can wait (AHP §9.2).
"""

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Any

from innkeeper.host.commands import Asker, Handler
from innkeeper.host.core import Core, act
from innkeeper.host.faults import bad_params, no_session
from innkeeper.host.running import RunningTurns
from innkeeper.host.views import State, active_turn, mcp_servers, tool_call
from innkeeper.host.waits import Waits
from innkeeper.limits import QUESTION_SECONDS
from innkeeper.ports.authentication import (
    Authentication,
    Reason,
    ResourceUnknown,
    SignInRefused,
    TokenRefused,
)
from innkeeper.ports.questions import Caller
from innkeeper.protocol.common.state import ProtectedResourceMetadata
from innkeeper.protocol.errors import CONFLICT, NOT_FOUND, RpcError, auth_required
from innkeeper.protocol.session.state import McpAuthRequirement
from innkeeper.protocol.uris import ROOT

Params = Mapping[str, Any]


class TokenNotices:
    """The `AuthenticationListener` of a host."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def token_wanted(self, resource: ProtectedResourceMetadata, reason: Reason) -> None:
        self._core.notify(ROOT, "auth/required", {"resource": resource, "reason": reason})


class WaitingCalls:
    """The `ToolAuthentication` of a host. `timeout` in seconds bounds a wait, so that no call hangs (M6.4b)."""

    def __init__(self, core: Core, waits: Waits, running: RunningTurns, *, timeout: float = QUESTION_SECONDS) -> None:
        self._core = core
        self._waits = waits
        self._running = running
        self._timeout = timeout

    async def wait(self, caller: Caller, requirement: McpAuthRequirement, granted: Awaitable[object]) -> bool:
        turn = self._running.behind(caller.chat)
        if turn is None:
            return False
        if turn.output is not None:
            turn.output.flush()
        shown = active_turn(self._core.head(caller.chat))
        if shown is None or caller.turn_id not in (shown["id"], turn.turn_id):
            return False
        chat, turn_id, call = caller.chat, str(shown["id"]), caller.tool_call_id
        required = {"type": "chat/toolCallAuthRequired", "turnId": turn_id, "toolCallId": call, "auth": requirement}
        ended = self._waits.open(chat, turn_id, _Ended(call))
        try:
            act(self._core, chat, *_running(turn_id, tool_call(shown, call)), required)
            if self._status(chat, turn_id, call) != "auth-required":
                return False
            return await self._granted(granted, ended) and self._resolve(chat, turn_id, call)
        finally:
            ended.cancel()

    async def _granted(self, granted: Awaitable[object], ended: "asyncio.Future[Any]") -> bool:
        wanted = asyncio.ensure_future(granted)
        try:
            waited: set[asyncio.Future[Any]] = {wanted, ended}
            await asyncio.wait(waited, timeout=self._timeout, return_when=asyncio.FIRST_COMPLETED)
            return wanted.done() and not ended.done()
        finally:
            wanted.cancel()

    def _resolve(self, chat: str, turn_id: str, call: str) -> bool:
        """The call goes on, unless somebody failed it meanwhile."""
        act(self._core, chat, {"type": "chat/toolCallAuthResolved", "turnId": turn_id, "toolCallId": call})
        return self._status(chat, turn_id, call) == "running"

    def _status(self, chat: str, turn_id: str, call: str) -> str | None:
        state = tool_call(active_turn(self._core.head(chat), turn_id), call)
        return None if state is None else state.get("status")


class TokenCommands:
    """The commands of clients about tokens."""

    def __init__(self, core: Core, authentication: Authentication) -> None:
        self._core = core
        self._authentication = authentication

    def table(self) -> dict[str, Handler]:
        return {
            "authenticate": self.authenticate,
            "x-innkeeper/mcp/authorize": self.authorize,
            "x-innkeeper/mcp/authorized": self.authorized,
        }

    async def authenticate(self, asker: Asker, params: Params) -> object:
        """AHP's command: an empty token takes back what was given."""
        resource, token = params["resource"], params["token"]
        expires_in = params.get("expiresIn")
        if expires_in is not None and expires_in < 1:
            raise bad_params("params.expiresIn must be at least 1")
        try:
            if token:
                await self._authentication.accept(asker.client_id, resource, token, expires_in, params.get("scopes"))
            else:
                await self._authentication.revoke(asker.client_id, resource)
        except ResourceUnknown:
            raise bad_params("nothing on this host asks for a token for that resource") from None
        except TokenRefused as refused:
            raise auth_required(refused.resources, str(refused)) from None
        return {}

    async def authorize(self, asker: Asker, params: Params) -> object:
        """The address at which a person signs in for `server` of the session; the client opens it."""
        session, server = self._server(params)
        try:
            return {"url": await self._authentication.begin(session, server)}
        except SignInRefused as refused:
            raise RpcError(CONFLICT, str(refused), {"code": "SIGN_IN_REFUSED"}) from None

    async def authorized(self, asker: Asker, params: Params) -> object:
        """Waits for the end of the sign-in that `authorize` began."""
        session, server = self._server(params)
        try:
            outcome = await self._authentication.finished(session, server)
        except SignInRefused as refused:
            raise RpcError(CONFLICT, str(refused), {"code": "SIGN_IN_REFUSED"}) from None
        return {"completed": outcome.completed, **({} if outcome.reason is None else {"reason": outcome.reason})}

    def _server(self, params: Params) -> tuple[str, str]:
        """`server` is the name or the customization id of a server of the session."""
        session, wanted = params.get("channel"), params.get("server")
        if not isinstance(wanted, str) or not wanted:
            raise bad_params("params.server must be a non-empty string")
        state = self._core.head(session) if isinstance(session, str) else None
        if state is None or not isinstance(session, str) or self._core.kind(session) != "session":
            raise no_session(str(session))
        for server in mcp_servers(state):
            if wanted in (server["id"], server["name"]):
                return session, str(server["id"])
        raise RpcError(NOT_FOUND, f"there is no MCP server {wanted[:100]} in this session", {"code": "SERVER_UNKNOWN"})


class _Ended:
    """Sees the call wait, then sees it wait no longer."""

    __slots__ = ("_call_id", "_waited")

    def __init__(self, call_id: str) -> None:
        self._call_id = call_id
        self._waited = False

    def __call__(self, turn: State) -> State | None:
        call = tool_call(turn, self._call_id)
        if call is not None and call.get("status") == "auth-required":
            self._waited = True
            return None
        return call if self._waited and call is not None else None


def _running(turn_id: str, call: State | None) -> list[dict[str, Any]]:
    """A call whose agent has not told yet that it runs is running, since its request was sent."""
    if call is None or call.get("status") != "streaming":
        return []
    ready: dict[str, Any] = {
        "type": "chat/toolCallReady",
        "turnId": turn_id,
        "toolCallId": call["toolCallId"],
        "invocationMessage": call.get("invocationMessage") or call.get("displayName") or call["toolCallId"],
        "confirmed": "not-needed",
    }
    if call.get("partialInput") is not None:
        ready["toolInput"] = call["partialInput"]
    return [ready]


AUTHENTICATION_METHODS = frozenset({"authenticate", "x-innkeeper/mcp/authorize", "x-innkeeper/mcp/authorized"})
"""What `TokenCommands.table` serves; the engine is told before that object exists."""
