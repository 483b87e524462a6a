"""Decisions whose session or directory is gone (C8.1).

Rules
* Looked at once, when the host starts. A directory that cannot be asked about counts as there.
* Kept for 180 days from when it was first missed, then told in the log and removed. What was missed is remembered by
  `notes`; where that cannot be read, the days begin anew.
"""

import asyncio
import logging
from collections.abc import Mapping

from innkeeper.customizations.enablement import Overlay
from innkeeper.customizations.retention import Slot, report_orphans
from innkeeper.engine.effects import Also
from innkeeper.host.core import Core
from innkeeper.host.outcomes import StorageFailed
from innkeeper.ports.clock import Clock
from innkeeper.ports.decisions import Decision
from innkeeper.ports.files import FileFault, Files
from innkeeper.ports.notes import Notes
from innkeeper.protocol.uris import local_path

log = logging.getLogger(__name__)


async def remove_orphans(core: Core, overlay: Overlay, files: Files | None, notes: Notes, clock: Clock) -> None:
    """Look at every stored decision. Never raises for what it finds."""
    if not overlay.decisions.decisions:
        return
    sessions = frozenset(core.known("session"))
    missed = _slots(await asyncio.to_thread(notes.load))
    gone = await asyncio.to_thread(_gone_directories, overlay, files)

    def exists(decision: Decision) -> bool:
        if decision.scope == "session":
            return decision.target in sessions
        return decision.target not in gone

    found = report_orphans(overlay, exists, missed, clock.now())
    if found.expired:
        try:
            await core.commit(Also(found.ops))
        except StorageFailed:
            return
        for decision in found.expired:
            log.warning("removed a decision of %s: its %s is long gone", decision.key, decision.scope)
    if found.missed != missed:
        await asyncio.to_thread(notes.save, [[*slot, since] for slot, since in found.missed.items()])


def _gone_directories(overlay: Overlay, files: Files | None) -> frozenset[str]:
    targets = {found.target for found in overlay.decisions.decisions if found.scope == "workspace"}
    return frozenset(target for target in targets if files is not None and _is_missing(files, local_path(target)))


def _is_missing(files: Files, path: str | None) -> bool:
    if path is None:
        return False
    try:
        files.stat(path)
    except FileFault as fault:
        return fault.reason in ("missing", "notADirectory")
    return False


def _slots(stored: object) -> Mapping[Slot, str]:
    found: dict[Slot, str] = {}
    for row in stored if isinstance(stored, list) else ():
        if isinstance(row, list) and len(row) == 4 and all(isinstance(part, str) for part in row):
            key, scope, target, since = row
            found[key, scope, target] = since
    return found
