"""Records in a file of one JSON object a line, and the file before it (C5.4).

Rules
* When the file is larger than `limit` it becomes `<name>.1`, so at most twice the limit is kept.
* Written by one thread, in order; a line that a sudden end cut is passed over by reading.
"""

import asyncio
import json
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

log = logging.getLogger(__name__)

LIMIT: Final = 1024 * 1024
FILE_NAME: Final = "exposure.jsonl"


class RecordFile:
    """`path` is made with the first record, readable for its owner only."""

    def __init__(self, path: Path, limit: int = LIMIT) -> None:
        self._path = path
        self._limit = limit
        self._writer = ThreadPoolExecutor(1, "records")

    def append(self, record: Mapping[str, Any]) -> None:
        self._writer.submit(self._write, json.dumps(record, ensure_ascii=False, default=list))

    async def read(self) -> Sequence[Mapping[str, Any]]:
        return await asyncio.get_running_loop().run_in_executor(self._writer, read_records, self._path)

    async def close(self) -> None:
        await asyncio.to_thread(self._writer.shutdown)

    def _write(self, line: str) -> None:
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with open(descriptor, "a", encoding="utf-8", errors="surrogateescape") as file:
                file.write(f"{line}\n")
                large = file.tell() > self._limit
            if large:
                self._path.replace(older(self._path))
        except OSError as error:
            log.warning("a record of exposure is lost: %s", error.strerror)


def older(path: Path) -> Path:
    """Where the records before those of `path` are."""
    return path.with_name(f"{path.name}.1")


def read_records(path: Path) -> Sequence[Mapping[str, Any]]:
    """The records of a file and of the one before it, oldest first; none for what cannot be read."""
    return [*_lines(older(path)), *_lines(path)]


def _lines(path: Path) -> Iterator[Mapping[str, Any]]:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict):
            yield found
