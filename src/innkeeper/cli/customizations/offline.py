"""The customizations of a directory without a host: the same discovery and resolution, on the stored decisions.

Rules
* The store is opened through its lock, so that nothing is read or written beside a host that runs on it; such a host is
  told of, and nothing is done.
* What clients publish is not known here, nor what an agent was told.
"""

import asyncio
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from innkeeper.cli.customizations.source import VALUES, Answer, Scope, Verb, one_of, unknown
from innkeeper.cli.failures import CliError
from innkeeper.cli.words import text
from innkeeper.customizations.clients import NO_CLIENTS
from innkeeper.customizations.discovery import Discovery, Places, PluginRoot
from innkeeper.customizations.edits import Edit, Pin, Refused, SetScope, Stored, Unpin, apply
from innkeeper.customizations.enablement import Overlay
from innkeeper.customizations.explain import find
from innkeeper.customizations.identity import WORKSPACE_SOURCE
from innkeeper.customizations.items import RawItem, ServerItem
from innkeeper.customizations.places import SessionFacts, Workspaces
from innkeeper.customizations.resolution import Resolution, ScopedEnablement, context_of
from innkeeper.errors import HostError
from innkeeper.host.customizations.handover import history_of
from innkeeper.host.customizations.telling import explained, tree
from innkeeper.ports.decisions import DecisionOp
from innkeeper.ports.log import Batch, LogImage, StoreError
from innkeeper.settings.config import Settings, read_settings
from innkeeper.settings.paths import find_paths
from innkeeper.store.sqlite import SqliteLog
from innkeeper.workspace.files import LocalFiles
from innkeeper.workspace.record_file import FILE_NAME, read_records

NO_SESSION = ""


class Offline:
    """One directory, on the data of the host that would serve it."""

    def __init__(self, directory: Path, data_dir: Path | None) -> None:
        from innkeeper.app.compose import DATABASE
        from innkeeper.cli.folders import find_folders

        self._directory = directory
        self._data = find_folders(data_dir).data
        self._database = self._data / DATABASE
        self._items = self._find_items()

    def listed(self) -> Answer:
        return Answer(None, tree(self._resolution(asyncio.run(self._overlay()))))

    def why(self, name: str, *, history: bool) -> Answer:
        overlay = asyncio.run(self._overlay())
        resolution = self._resolution(overlay)
        ids = find(name, resolution)
        if not ids:
            raise unknown(name)
        records = history_of(read_records(self._data / FILE_NAME), None, resolution.items[ids[0]].raw.name)
        return Answer(None, _explained(ids, resolution, overlay), records if history else ())

    def change(self, verb: Verb, name: str, scope: Scope) -> Answer:
        return asyncio.run(self._change(verb, name, scope))

    # -- inside --------------------------------------------------------------------------------------------------

    async def _change(self, verb: Verb, name: str, scope: Scope) -> Answer:
        log = SqliteLog(self._database)
        image = await _opened(log)
        try:
            overlay = Overlay(image.decisions)
            resolution = self._resolution(overlay)
            ids = find(name, resolution)
            if not ids:
                raise unknown(name)
            id = str(one_of([{"id": one} for one in ids], name)["id"])
            outcome = apply(id, _edit(verb, scope), resolution, overlay, _now())
            if isinstance(outcome, Refused):
                raise CliError(text("cli.customizations.refused", reason=outcome.reason), code="CHANGE_REFUSED")
            assert isinstance(outcome, Stored), "nothing is pending without a session"
            await _store(log, outcome.ops)
            return Answer(None, _explained((id,), self._resolution(outcome.overlay), outcome.overlay))
        finally:
            await log.close(last_seq=image.reserved)

    async def _overlay(self) -> Overlay:
        """The stored decisions; none where nothing was ever stored."""
        if not self._database.exists():
            return Overlay()
        log = SqliteLog(self._database)
        image = await _opened(log)
        await log.close(last_seq=image.reserved)
        return Overlay(image.decisions)

    def _resolution(self, overlay: Overlay) -> Resolution:
        uri = self._directory.as_uri()
        facts = SessionFacts(session=NO_SESSION, decisions_read=True, directories=(uri,))
        workspaces = Workspaces({uri: self._directory.resolve().as_uri()})
        context = context_of(facts, workspaces, self._items, provider="console", clients=NO_CLIENTS, discovered=True)
        return Resolution(self._items, ScopedEnablement(context, overlay))

    def _find_items(self) -> Sequence[RawItem]:
        plugins = tuple(PluginRoot(folder) for folder in _settings().plugins)
        places = Places((os.fspath(self._directory),), os.environ.get("HOME"), plugins)
        return [*Discovery(LocalFiles()).scan(places).containers, *self._servers()]

    def _servers(self) -> list[ServerItem]:
        from innkeeper.mcp.declarations.custom import available_presets
        from innkeeper.mcp.declarations.resolve import Reading, Resolver
        from innkeeper.mcp.publishing import server_id

        settings = _settings()
        reading = Reading(
            environment=dict(os.environ),
            inputs={},
            presets=available_presets(settings.enabled_builtins, settings.presets).enabled,
            file_limit=int(settings.limits["declaration_bytes"]),
            entry_limit=int(settings.limits["declaration_entries"]),
            conflict_policy=settings.conflict_policy,
        )
        declared = [entry.server for entry in Resolver().resolve(os.fspath(self._directory), reading).entries]
        return [
            ServerItem(
                id=server_id(server),
                uri=(self._directory / server.file).as_uri(),
                name=server.name,
                source=WORKSPACE_SOURCE,
                default=server.enabled_in_file,
            )
            for server in declared
        ]


def _settings() -> Settings:
    return read_settings(find_paths(os.environ).config_file)


async def _opened(log: SqliteLog) -> LogImage:
    try:
        return await log.open()
    except StoreError as error:
        raise HostError(error.code, **error.values) from error


async def _store(log: SqliteLog, ops: Sequence[DecisionOp]) -> None:
    if not ops:
        return
    stored: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def done(error: StoreError | None) -> None:
        if error is None:
            stored.set_result(None)
        else:
            stored.set_exception(HostError(error.code, **error.values))

    log.submit(Batch(0, tuple(ops)), done)
    await stored


def _explained(ids: Sequence[str], resolution: Resolution, overlay: Overlay) -> list[Mapping[str, Any]]:
    """The chains, without the scope of a session that there is not."""
    chains = (explained(id, resolution, overlay) or {} for id in ids)
    return [
        {**chain, "scopes": [step for step in chain.get("scopes", ()) if step["scope"] != "session"]}
        for chain in chains
    ]


def _edit(verb: Verb, scope: Scope) -> Edit:
    if verb in VALUES:
        return SetScope(scope, VALUES[verb])
    return Pin(scope) if verb == "pin" else Unpin(scope)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
