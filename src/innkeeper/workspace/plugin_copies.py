"""Copies of clients' plugins on this machine: the adapter of `ports.copies` (C7.4).

A copy is the folder `<digest>` with `<digest>.json` beside it, which names URI and nonce and is written last; a folder
without it is what a sudden end left, and is made anew.
"""

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path


class LocalPluginCopies:
    """`folder` is the host's own; it is made when the first copy is."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, uri: str, nonce: str) -> str | None:
        folder, note = self._paths(uri, nonce)
        if not note.is_file() or not folder.is_dir():
            return None
        os.utime(note)
        return str(folder)

    def store(self, uri: str, nonce: str, files: Mapping[str, bytes]) -> str:
        folder, note = self._paths(uri, nonce)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=self._folder))
        try:
            for relative, content in files.items():
                path = made / relative
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            shutil.rmtree(folder, ignore_errors=True)
            made.rename(folder)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise
        note.write_text(json.dumps({"uri": uri, "nonce": nonce}), encoding="utf-8")
        return str(folder)

    def stored(self) -> Sequence[tuple[str, str]]:
        found: list[tuple[int, str, str]] = []
        for note in self._folder.glob("*.json"):
            with contextlib.suppress(OSError, ValueError, KeyError):  # one that cannot be read is none
                known = json.loads(note.read_text(encoding="utf-8"))
                found.append((note.stat().st_mtime_ns, str(known["uri"]), str(known["nonce"])))
        return [(uri, nonce) for _, uri, nonce in sorted(found)]

    def delete(self, uri: str, nonce: str) -> None:
        folder, note = self._paths(uri, nonce)
        note.unlink(missing_ok=True)
        shutil.rmtree(folder, ignore_errors=True)

    def _paths(self, uri: str, nonce: str) -> tuple[Path, Path]:
        digest = hashlib.sha256(json.dumps([uri, nonce]).encode()).hexdigest()[:32]
        return self._folder / digest, self._folder / f"{digest}.json"
