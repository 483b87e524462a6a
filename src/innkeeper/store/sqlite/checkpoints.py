"""Copying the write-ahead log into the database beside the writer, so that no batch waits for the disk's syncs.

Rules
* A second connection makes passive checkpoints only: they never wait for the writer, and it never waits for them.
* Under load the log is rarely copied to its very end, so it is not begun anew; from `LOG_PAGES` on the writer does what
  little is left at a commit. The file is then cut to `KEPT_BYTES`.
* A failed checkpoint loses nothing: the next one does its work.
"""

import logging
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Final

LOG_PAGES: Final = 16_000
KEPT_BYTES: Final = 8 * 1024 * 1024

log = logging.getLogger(__name__)


class Checkpoints:
    """A thread that makes a checkpoint when asked. `request` and `stop` are used in the writer thread only."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._wake = threading.Lock()
        self._wake.acquire()
        self._running = True
        self._thread = threading.Thread(target=self._run, name="innkeeper-checkpoints", daemon=True)
        self._thread.start()

    def request(self) -> None:
        """Make a checkpoint soon."""
        if self._wake.locked():
            self._wake.release()

    def stop(self) -> None:
        """Wait for the running checkpoint and close the second connection."""
        self._running = False
        self.request()
        self._thread.join()

    def _run(self) -> None:
        uri = f"{self._path.absolute().as_uri()}?mode=rw"
        try:
            with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as connection:
                connection.execute("PRAGMA synchronous = NORMAL")
                while self._wake.acquire() and self._running:
                    self._copy(connection)
        except sqlite3.Error as error:
            log.warning("checkpoints are left to the writer: %s", error)

    def _copy(self, connection: sqlite3.Connection) -> None:
        try:
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        except sqlite3.Error as error:
            log.info("a checkpoint failed, the next one does its work: %s", error)
