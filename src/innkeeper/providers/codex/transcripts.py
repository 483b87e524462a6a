"""Conversations that the person had with Codex itself: listed, and adopted by a copy (issue 6 §8).

Rules
* The person's files are read and never written. A conversation that is adopted is copied into the directory of our own
  Codex, where it goes on; the original stays as it was.
* Only the head of each file is read for the list; a file that cannot be read, or is a child's, is not in it.
"""

import logging
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from innkeeper.protocol.chat.state import Turn
from innkeeper.providers.codex.history import turns_of
from innkeeper.providers.codex.install import AGENT
from innkeeper.providers.codex.rpc import Refused
from innkeeper.providers.codex.server import AppServer
from innkeeper.providers.spi import Adopted, ProviderError, Transcript
from innkeeper.texts import text
from innkeeper.wire.json import JsonError, decode
from innkeeper.wire.limits import Limits

log = logging.getLogger(__name__)

NAME: Final = re.compile(r"rollout-.*?(?P<id>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl")
HEAD_BYTES: Final = 512 * 1024
LIMITS: Final = Limits(HEAD_BYTES, 128)
TITLE_CHARACTERS: Final = 80
TRANSCRIPTS: Final = 1000


def listed(home: Path, directory: str | None) -> Sequence[Transcript]:
    """Newest first, at most `TRANSCRIPTS`."""
    files = sorted(_files(home), key=_modified, reverse=True)
    found = (one for file in files[:TRANSCRIPTS] if (one := _transcript(file)) is not None)
    return [one for one in found if directory is None or one.directory == directory]


async def adopted(server: AppServer, theirs: Path | None, ours: Path, id: str) -> Adopted:
    """Raises ProviderError when there is none of that id, or it cannot be read."""
    source = next((file for file in _files(theirs) if _id(file) == id), None) if theirs is not None else None
    if source is None or theirs is None:
        raise _unknown()
    try:
        _copy(source, ours / source.relative_to(theirs))
        await _indexed(server, id)
        turns: list[Turn] = []
        cursor: object = None
        while True:
            page = await server.call(
                "thread/turns/list", threadId=id, itemsView="full", sortDirection="asc", limit=100, cursor=cursor
            )
            turns.extend(turns_of(page.get("data") or ()))
            cursor = page.get("nextCursor")
            if not cursor:
                break
    except (OSError, Refused) as error:
        log.warning("codex: a transcript cannot be adopted: %s", type(error).__name__)
        raise _unknown() from None
    return Adopted(turns, {"thread": id})


async def _indexed(server: AppServer, id: str) -> None:
    """Codex lists the turns of a thread that it has had in memory once."""
    config = {"projects": {"/": {"trust_level": "untrusted"}}}
    await server.call(
        "thread/resume",
        threadId=id,
        cwd="/",
        excludeTurns=True,
        approvalPolicy="never",
        sandbox="read-only",
        config=config,
    )
    server.unload(id)


def _unknown() -> ProviderError:
    return ProviderError("TRANSCRIPT_UNKNOWN", text("error.TRANSCRIPT_UNKNOWN.meaning", agent=AGENT))


def _copy(source: Path, target: Path) -> None:
    if target.exists():
        return
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.part")
    shutil.copyfile(source, part)
    os.replace(part, target)


def _files(home: Path) -> Iterator[Path]:
    return (path for path in (home / "sessions").glob("*/*/*/rollout-*.jsonl") if NAME.fullmatch(path.name))


def _id(file: Path) -> str | None:
    found = NAME.fullmatch(file.name)
    return None if found is None else found["id"]


def _modified(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


def _transcript(file: Path) -> Transcript | None:
    meta: Mapping[str, Any] | None = None
    title = ""
    for entry in _head(file):
        payload = entry.get("payload") or {}
        if entry.get("type") == "session_meta":
            meta = payload
        elif entry.get("type") == "event_msg" and (said := _said(payload)):
            title = " ".join(said.split())[:TITLE_CHARACTERS]
            break
    if meta is None or not title or isinstance(meta.get("source"), Mapping):
        return None
    modified = datetime.fromtimestamp(_modified(file), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return Transcript(str(_id(file)), title, str(meta.get("cwd") or "") or None, modified)


def _said(payload: Mapping[str, Any]) -> str:
    """What a person said, as this version of Codex writes it and as older ones did."""
    if payload.get("type") == "user_message":
        return str(payload.get("message") or "")
    item = payload.get("item") or {}
    if payload.get("type") != "item_completed" or item.get("type") != "UserMessage":
        return ""
    return "\n".join(str(one.get("text") or "") for one in item.get("content") or ())


def _head(file: Path) -> Iterator[Mapping[str, Any]]:
    try:
        with file.open("rb") as opened:
            data = opened.read(HEAD_BYTES)
    except OSError:
        return
    for line in data.split(b"\n"):
        try:
            entry = decode(line, LIMITS) if line else None
        except JsonError:
            continue
        if isinstance(entry, Mapping):
            yield entry
