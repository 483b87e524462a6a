"""`x-innkeeper/mcp/edit…`: declaration files through a form (M8, M9.4); docs/reference/extensions.md.

Rules
* On a session's channel its primary directory is meant, and its access level counts (M8.6b). On the root channel
  `directory` names one, and the edit is the user's own.
* Every change names the token of what was opened; for any other nothing is written, and the answer has the present one.
* What a person saves is theirs, whatever tool runs meanwhile (M4.1b): what agents wrote is told apart before it.
* A save grants nothing; with `connect` it is followed by Connect, an explicit grant for this session (M8.7).
* With `web_control = false` nothing here is served (M9.3). Values of env and headers travel only where `reveal` asks.
"""

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any
from urllib.parse import unquote, urlsplit

from innkeeper.editing.refusals import EditConflict
from innkeeper.errors import HostError
from innkeeper.host.access import EditLevel, ReadOnlyReason, edit_level
from innkeeper.host.commands import Asker, Handler
from innkeeper.host.core import Core
from innkeeper.host.editing_params import draft_of, flag_of, optional_text, place_of, text_of, tokens_of
from innkeeper.host.faults import bad_params, no_session
from innkeeper.host.running import RunningTurns
from innkeeper.ports.mcp import McpRefused, McpServers
from innkeeper.ports.mcp_editing import DeclarationEditor, EditOutcome
from innkeeper.protocol.errors import CONFLICT, NOT_FOUND, RpcError, permission_denied
from innkeeper.protocol.uris import ROOT
from innkeeper.texts import text

Params = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Where:
    """A workspace, and the session through which it is edited."""

    workspace: str
    session: str | None
    level: EditLevel = "full"
    reason: ReadOnlyReason | None = None


class EditingCommands:
    """`editor` is asked for with the first command. `language` gives a client's language; `open_to_clients` is the
    operator's `web_control`, `operator_full` the operator's `access: full`."""

    def __init__(
        self,
        core: Core,
        mcp: McpServers,
        editor: Callable[[], DeclarationEditor],
        running: RunningTurns,
        language: Callable[[str], str],
        *,
        open_to_clients: bool,
        operator_full: bool,
    ) -> None:
        self._core = core
        self._read: Callable[[str], Awaitable[None]] | None = None
        self._mcp = mcp
        self._make = editor
        self._running = running
        self._language = language
        self._open = open_to_clients
        self._operator_full = operator_full

    @cached_property
    def _editor(self) -> DeclarationEditor:
        return self._make()

    def read_by(self, read: Callable[[str], Awaitable[None]]) -> None:
        """How a session's declarations are read for the first time; set once, before the first request."""
        self._read = read

    def table(self) -> dict[str, Handler]:
        acts = {
            "editPlaces": self.places,
            "editOpen": self.open,
            "editSave": self.save,
            "editDelete": self.delete,
            "editCopy": self.copy,
            "editMigrate": self.migrate,
            "editScan": self.scan,
        }
        return {f"x-innkeeper/mcp/{name}": self._told(act) for name, act in acts.items()}

    async def places(self, asker: Asker, params: Params) -> object:
        """Where a server can be declared, the place for a new one first (M8.10)."""
        where = await self._where(params)
        return {"items": [asdict(place) for place in await self._editor.places(where.workspace)], **_level(where)}

    async def open(self, asker: Asker, params: Params) -> object:
        where = await self._where(params)
        opened = await self._editor.open(
            where.workspace,
            optional_text(params, "server"),
            optional_text(params, "preset"),
            optional_text(params, "file"),
            reveal=flag_of(params, "reveal"),
        )
        return {**asdict(opened), **_level(where)}

    async def save(self, asker: Asker, params: Params) -> object:
        where = await self._writable(asker, params)
        server, dry_run = optional_text(params, "server"), flag_of(params, "dryRun")
        name = optional_text(params, "name") or text_of(params, "server")
        connect = flag_of(params, "connect") and not dry_run
        if connect and where.session is None:
            raise bad_params("connect needs a session's channel")
        place, draft, token = place_of(params), draft_of(params), text_of(params, "token")

        async def act() -> EditOutcome:
            return await self._editor.save(where.workspace, place, server, name, draft, token, dry_run=dry_run)

        outcome = await self._changed(where, act)
        answer = _outcome(outcome)
        if connect and where.session is not None:
            answer["status"] = await self._connect(where.session, name)
        return answer

    async def delete(self, asker: Asker, params: Params) -> object:
        where = await self._writable(asker, params)
        place, server, token = place_of(params), text_of(params, "server"), text_of(params, "token")

        async def act() -> EditOutcome:
            return await self._editor.delete(where.workspace, place, server, token, dry_run=flag_of(params, "dryRun"))

        return _outcome(await self._changed(where, act))

    async def copy(self, asker: Asker, params: Params) -> object:
        return await self._transfer(asker, params, move=False)

    async def migrate(self, asker: Asker, params: Params) -> object:
        return await self._transfer(asker, params, move=True)

    async def scan(self, asker: Asker, params: Params) -> object:
        where = await self._where(params)
        report = await self._editor.scan(where.workspace)
        groups = [{**asdict(group), "identical": group.identical} for group in report.groups]
        return {"groups": groups, "findings": [asdict(one) for one in report.findings]}

    # -- inside --------------------------------------------------------------------------------------------------

    async def _transfer(self, asker: Asker, params: Params, *, move: bool) -> object:
        where = await self._writable(asker, params)
        source, target = place_of(params, "from"), place_of(params, "to")
        server, tokens = text_of(params, "server"), tokens_of(params)
        name = optional_text(params, "name") or server

        async def act() -> EditOutcome:
            return await self._editor.copy(
                where.workspace, source, server, target, name, tokens, move=move, dry_run=flag_of(params, "dryRun")
            )

        return _outcome(await self._changed(where, act))

    async def _changed(self, where: _Where, act: Callable[[], Awaitable[EditOutcome]]) -> EditOutcome:
        """Do it; every session of the workspace follows, between its running calls (M5.3)."""
        sessions = self._sessions_of(where)
        for session in sessions:
            await self._mcp.refresh(session, start=False)
        outcome = await act()
        if outcome.written:
            for session in sessions:
                await self._mcp.refresh(session, start=False)
                if outcome.fingerprint:
                    await self._mcp.entered(session, outcome.server, outcome.fingerprint)
                if self._running.of_session(session):
                    await self._mcp.refresh(session, start=True)
        return outcome

    async def _connect(self, session: str, name: str) -> str:
        """The server's status when Connect came to something."""
        for report in self._mcp.report(session):
            if report.name == name and report.scope == "project":
                await self._mcp.start(session, report.id)
                break
        return next((one.status for one in self._mcp.report(session) if one.name == name), "invalid")

    def _sessions_of(self, where: _Where) -> list[str]:
        sessions = [uri for uri in self._core.channels("session") if self._directory(uri) == where.workspace]
        return sorted(sessions, key=lambda uri: uri != where.session)

    async def _writable(self, asker: Asker, params: Params) -> _Where:
        """To look and to validate is allowed everywhere: a dry run is that (M8.6b)."""
        where = await self._where(params)
        if where.level == "read-only" and where.reason is not None and not flag_of(params, "dryRun"):
            lang = self._language(asker.client_id)
            error = HostError("EDIT_READ_ONLY")
            said = f"{error.message(lang)} {text(f'editing.readOnly.{where.reason}', lang=lang)}"
            data = {"code": error.code, "reason": where.reason, "remedy": error.remedy(lang)}
            raise RpcError(permission_denied("").code, said, data)
        return where

    async def _where(self, params: Params) -> _Where:
        channel = text_of(params, "channel")
        if channel == ROOT:
            directory = _local(text_of(params, "directory"))
            if directory is None:
                raise HostError("REMOTE_WORKSPACE")
            return _Where(directory, None)
        state = self._core.head(channel) if self._core.kind(channel) == "session" else None
        if state is None:
            raise no_session(channel)
        if self._read is not None:
            await self._read(channel)
        directory = self._directory(channel)
        if directory is None:
            raise HostError("REMOTE_WORKSPACE")
        chat = self._chat(state, optional_text(params, "chat"))
        level, reason = edit_level(state, chat, operator_full=self._operator_full)
        return _Where(directory, channel, level, reason)

    def _chat(self, session: Mapping[str, Any], chat: str | None) -> Mapping[str, Any] | None:
        """The chat that the edit comes through; without one that is named, the only one there is."""
        chats: Sequence[Mapping[str, Any]] = session.get("chats") or ()
        if chat is None:
            return chats[0] if len(chats) == 1 else None
        return next((one for one in chats if one.get("resource") == chat), None)

    def _directory(self, session: str) -> str | None:
        state = self._core.head(session)
        directories = (state or {}).get("workingDirectories") or ()
        return _local(directories[0]) if directories else None

    def _told(self, act: Handler) -> Handler:
        """The same, refusals told in the client's language with what a form needs to know."""

        async def handler(asker: Asker, params: Params) -> object:
            lang = self._language(asker.client_id)
            if not self._open:
                error = HostError("WEB_CONTROL_OFF")
                said = f"{error.message(lang)} {error.remedy(lang)}"
                raise RpcError(permission_denied("").code, said, {"code": error.code})
            try:
                return await act(asker, params)
            except HostError as error:
                raise _refusal(error, lang) from error
            except McpRefused as error:
                raise RpcError(CONFLICT, str(error), {"code": error.code}) from error

        return handler


EDITING_METHODS = frozenset(
    f"x-innkeeper/mcp/{name}"
    for name in ("editPlaces", "editOpen", "editSave", "editDelete", "editCopy", "editMigrate", "editScan")
)


def _outcome(outcome: EditOutcome) -> dict[str, Any]:
    found = asdict(outcome)
    found.pop("fingerprint")
    return found


def _level(where: _Where) -> dict[str, Any]:
    return {"level": where.level, "readOnly": where.reason}


def _refusal(error: HostError, lang: str) -> RpcError:
    data: dict[str, Any] = {"code": error.code, "remedy": error.remedy(lang)}
    for name in ("file", "line", "server", "detail", "reason"):
        value = getattr(error, name, None)
        if isinstance(value, str | int) and value:
            data[name] = value
    if isinstance(error, EditConflict):
        data["token"] = error.current
    return RpcError(NOT_FOUND if error.code == "EDIT_NO_SERVER" else CONFLICT, error.message(lang), data)


def _local(directory: str) -> str | None:
    """The local path of a directory that is given as a URI or as an absolute path."""
    if directory.startswith("/"):
        return os.path.normpath(directory)
    parts = urlsplit(directory)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost") or not parts.path.startswith("/"):
        return None
    return os.path.normpath(unquote(parts.path, errors="surrogateescape"))
