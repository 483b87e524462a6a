"""Reading a session's declarations, and what a reading means beside the last one (M1.6, M2.8b, M4.1b, M4.1c, M5.5).

Rules
* Files are read in a thread, unchanged ones from memory; reading decides nothing and starts nothing.
* A file that cannot be read loses its servers. A required one of them that was in force fails requests, with the file's
  code, until the file can be read again (L3).
* What reads is imported with the first reading: a host that has just started has none to make.
* For a worktree that this host made, the directory that the user opened is read too: only equal entries inherit.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from innkeeper.mcp.authorship import Authorship
from innkeeper.mcp.declarations.model import DeclaredServer, Diagnostic, Loaded, diagnostic
from innkeeper.mcp.declarations.presets import ROOT
from innkeeper.mcp.judging import Judge
from innkeeper.mcp.mounts import MountedSession, local_path
from innkeeper.mcp.settings import McpSettings
from innkeeper.ports.clock import Clock

if TYPE_CHECKING:
    from innkeeper.mcp.declarations.resolve import Reading, Resolver

logger = logging.getLogger(__name__)

Worktrees = Callable[[str], str | None]
"""The key of the directory that a worktree was made from, by the worktree's key; None for any other directory."""


class FileReader:
    """`environment` is the host's own, for variables."""

    def __init__(
        self,
        judge: Judge,
        authorship: Authorship,
        settings: Callable[[], McpSettings],
        environment: Mapping[str, str],
        worktrees: Worktrees,
        clock: Clock,
    ) -> None:
        self._clock = clock
        self._judge = judge
        self._authorship = authorship
        self._settings = settings
        self._environment = environment
        self._worktrees = worktrees

    @cached_property
    def _resolver(self) -> "Resolver":
        from innkeeper.mcp.declarations.resolve import Resolver

        return Resolver()

    async def read(self, session: MountedSession) -> None:
        """Take what the files say now into `declared`, `diagnostics` and `lost`. Never raises for what they say."""
        if session.path is None:
            if session.place.directory is not None:
                session.diagnostics = [diagnostic("REMOTE_WORKSPACE", ROOT.files[0], 0)]
            return
        now = datetime.fromisoformat(self._clock.now()).timestamp()
        loaded = await self._load(session.path)
        self._note_lost(session, loaded)
        session.declared, session.diagnostics = loaded.servers, loaded.diagnostics
        self._authorship.read(session.workspace, session.path, loaded.servers, now)
        known = session.place.workspace if session.place.repository is not None else None
        session.origin = known or self._worktrees(session.workspace)
        session.origin_fingerprints = {}
        if session.origin is not None and (path := local_path(session.origin)) is not None:
            opened = await self._load(path)
            session.origin_fingerprints = {server.name: server.fingerprint for server in opened.servers}
        for declared in loaded.servers:
            self._judge.saw(declared)

    async def present(self, session: MountedSession, name: str) -> DeclaredServer | None:
        """What the files say now about one server; takes nothing over."""
        if session.path is None:
            return None
        loaded = await self._load(session.path)
        return next((server for server in loaded.servers if server.name == name), None)

    def unchanged(self, session: MountedSession) -> bool:
        """Whether the files are as they were read last; synchronous, and cheap."""
        return session.path is not None and self._resolver.unchanged(session.path, self._reading())

    def _reading(self) -> "Reading":
        from innkeeper.mcp.declarations.resolve import Reading

        settings = self._settings()
        return Reading(
            self._environment,
            settings.input_values,
            settings.presets,
            conflict_policy=settings.conflict_policy,
            file_limit=settings.file_limit,
            entry_limit=settings.entry_limit,
        )

    async def _load(self, path: str) -> Loaded:
        try:
            return (await asyncio.to_thread(self._resolver.resolve, path, self._reading())).loaded
        except Exception:
            logger.exception("the declarations of a workspace could not be read")
            return Loaded(diagnostics=(diagnostic("FILE_UNREADABLE", ROOT.files[0], 0),))

    def _note_lost(self, session: MountedSession, loaded: Loaded) -> None:
        broken = _broken_files(loaded.diagnostics)
        present = {server.name for server in loaded.servers}
        kept = {n: (file, code) for n, (file, code) in session.lost.items() if file in broken and n not in present}
        for server in session.declared:
            gone = server.required and server.name not in present and server.file in broken
            if gone and self._judge.in_force(session, server):
                kept[server.name] = (server.file, broken[server.file])
        session.lost = kept


def _broken_files(diagnostics: Sequence[Diagnostic]) -> dict[str, str]:
    """Files with an error that is about the whole file, and its code."""
    return {found.file: found.code for found in diagnostics if found.severity == "error" and found.server is None}
