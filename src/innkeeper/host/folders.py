"""Folders from which a person chooses one for a session: `x-innkeeper/folders` (docs/reference/extensions.md).

Rules
* Only folders are told, by name: no file, and nothing of what is in one. Hidden ones are left out.
* Where one may look: the home of who runs the host, the folder it was started in, and those beside which sessions
  work already. Links are followed first, so that none leads out. Any other folder is for who knows its path.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final
from urllib.parse import quote

from innkeeper.host.commands import Asker, Handler
from innkeeper.host.core import Core
from innkeeper.host.faults import bad_params
from innkeeper.ports.files import Entry, FileFault, Files
from innkeeper.protocol.errors import NOT_FOUND, RpcError, permission_denied
from innkeeper.protocol.uris import local_path

FOLDER_METHODS: Final = frozenset({"x-innkeeper/folders"})
READ: Final = 20_000
"""Names of one folder that are looked at."""
TOLD: Final = 1_000
SESSIONS: Final = 200
"""The latest sessions, whose folders are places."""


class Folders:
    """`given` are places of this machine that are always there to look at; without `files` there are none."""

    def __init__(self, core: Core, files: Files | None, given: Sequence[str]) -> None:
        self._core = core
        self._files = files
        self._given = given

    def table(self) -> dict[str, Handler]:
        return {"x-innkeeper/folders": self.folders}

    async def folders(self, asker: Asker, params: Mapping[str, Any]) -> dict[str, Any]:
        """The places; with `directory` what is in it, and the folder above where that may be looked at too.

        Raises RpcError: -32602, -32008 for what is no folder, -32009 for one that may not be looked at.
        """
        asked = params.get("directory")
        path = asked if isinstance(asked, str) and asked.startswith("/") else local_path(str(asked or ""))
        if asked is not None and (path is None or not path.startswith("/") or "\0" in path):
            raise bad_params("params.directory must be an absolute path or a file: URI of this machine")
        files = self._files
        if files is None:
            raise permission_denied("this host shows no folders")
        return await asyncio.to_thread(_looked, files, self._places(), path if asked is not None else None)

    def _places(self) -> list[str]:
        found = list(self._given)
        for row in self._core.listed(SESSIONS, None):
            project = json.loads(row.summary).get("project") or {}
            if (path := local_path(str(project.get("uri") or ""))) is not None:
                above = str(PurePosixPath(path).parent)
                found.append(path if above == "/" else above)
        return found


def _looked(files: Files, named: Sequence[str], asked: str | None) -> dict[str, Any]:
    places = _outermost(_real(files, named))
    told: dict[str, Any] = {"places": [_uri(place) for place in places]}
    if asked is None:
        return told
    try:
        path = files.real(asked)
        if not _inside(path, places):
            raise permission_denied("that folder is outside of what this host shows")
        names = [entry.name for entry in files.entries(path, READ) if _offered(files, path, entry, places)]
    except FileFault as fault:
        if fault.reason in ("missing", "notADirectory"):
            raise RpcError(NOT_FOUND, f"no folder: {fault}") from None
        raise permission_denied(f"the folder cannot be looked at: {fault}") from None
    above = str(PurePosixPath(path).parent)
    items = [{"name": name, "uri": _uri(f"{path.rstrip('/')}/{name}")} for name in sorted(names, key=str.casefold)]
    parent = _uri(above) if above != path and _inside(above, places) else None
    return {**told, "directory": _uri(path), "parent": parent, "items": items[:TOLD], "more": len(items) > TOLD}


def _real(files: Files, paths: Sequence[str]) -> list[str]:
    """Where they lead; those that are there."""
    found: dict[str, None] = {}
    for path in paths:
        try:
            found[files.real(path)] = None
        except FileFault:
            continue
    return list(found)


def _outermost(paths: Sequence[str]) -> list[str]:
    return [path for path in paths if not any(other != path and _inside(path, [other]) for other in paths)]


def _inside(path: str, places: Sequence[str]) -> bool:
    return any(path == place or path.startswith(place.rstrip("/") + "/") for place in places)


def _offered(files: Files, folder: str, entry: Entry, places: Sequence[str]) -> bool:
    """A folder that a person can name; a link only where it leads to one that may be looked at."""
    if entry.name.startswith(".") or not entry.name.isprintable():
        return False
    if not entry.link:
        return entry.kind == "directory"
    path = f"{folder.rstrip('/')}/{entry.name}"
    try:
        return files.stat(path).kind == "directory" and _inside(files.real(path), places)
    except FileFault:
        return False


def _uri(path: str) -> str:
    return f"file://{quote(path, errors='surrogateescape')}"
