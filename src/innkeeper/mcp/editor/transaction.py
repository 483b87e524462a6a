"""Writing one or two declaration files: all or nothing, and exactly back when the loader does not like it (M8.4-M8.8).

Rules
* While it lasts nobody else of ours reads or edits the workspace. Every file is written and synced beside its place
  first; then they are put in force one after the other, what is added before what is removed: a sudden end between two
  leaves an entry twice, never lost.
* A file that is not what was read is a conflict, and nothing is written. What raises before the end takes all back: the
  old files themselves, with everything about them; folders that were made go.
"""

import contextlib
import logging
from types import TracebackType

from innkeeper.editing.refusals import EditConflict, EditUnwritable
from innkeeper.editing.replacing import Content, Replacement, locked, read_in
from innkeeper.mcp.declarations import holding
from innkeeper.mcp.declarations.files import Refused
from innkeeper.mcp.editor.folders import OpenFolder, open_folder
from innkeeper.mcp.editor.refusals import refused

log = logging.getLogger(__name__)

NEW_FILE_MODE = 0o666


class Transaction:
    """A context: `put` files, `commit`, look; leaving it without an exception makes it final. Raises EditRefused,
    EditConflict, EditUnwritable."""

    def __init__(self, workspace: str) -> None:
        self._workspace = workspace
        self._open = contextlib.ExitStack()
        self._replacements: list[tuple[str, Replacement]] = []
        self._folders: list[OpenFolder] = []
        self._locked: set[str] = set()

    def __enter__(self) -> "Transaction":
        try:
            self._open.enter_context(holding.writing(self._workspace))
        except OSError as error:
            raise _unwritable(self._workspace, error) from error
        return self

    def put(self, file: str, known: Content, wanted: bytes | None) -> None:
        """The file, relative to the workspace, was read as `known` and is to be `wanted`; None: gone. So far nothing
        changes."""
        try:
            folder = self._open.enter_context(open_folder(self._workspace, file))
            self._folders.append(folder)
            if not folder.is_root and file.rpartition("/")[0] not in self._locked:
                self._locked.add(file.rpartition("/")[0])
                self._open.enter_context(locked(folder.descriptor))
            found = read_in(folder.descriptor, folder.name)
            if found != known:
                raise EditConflict(found.version, file)
            replacement = Replacement(folder.descriptor, folder.name, known, wanted, NEW_FILE_MODE)
            replacement.prepare()
            self._replacements.append((file, replacement))
        except Refused as error:
            raise refused(error, file) from None
        except OSError as error:
            raise _unwritable(file, error) from error

    def commit(self) -> None:
        """Everything is in force, in the order in which it was put."""
        for file, replacement in self._replacements:
            try:
                replacement.commit(keep=True)
            except EditConflict as error:
                raise EditConflict(error.current, file) from error
            except OSError as error:
                raise _unwritable(file, error) from error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        failed: tuple[str, OSError] | None = None
        try:
            for file, replacement in reversed(self._replacements):
                try:
                    (replacement.finish if kind is None else replacement.undo)()
                except OSError as fault:  # the others are still taken back
                    log.error("%s of %s: %s", file, self._workspace, fault.strerror)
                    failed = failed or (file, fault)
            if kind is not None:
                for folder in self._folders:
                    folder.remove_made()
        finally:
            self._open.close()
        if failed is not None and kind is not None:
            raise _unwritable(*failed) from error


def _unwritable(file: str, error: OSError) -> EditUnwritable:
    return EditUnwritable(file, error.strerror or type(error).__name__)
