"""Entries that an agent wrote: held until a person says otherwise (M4.1b).

Rules
* An entry is new or changed when its fingerprint differs from what was last read of that directory, in any session.
* Such an entry is held when a tool call of a running session reported to have written its file since then, or when the
  file's last change falls into a time when a tool call ran. An edit from outside in that very time is held too: that
  errs on the side of asking.
* What is held stays held, whoever reads it and however often the file is broken in between, until a person connects it
  or confirms the file; when it changes again it is judged anew. Holds are kept by `memory` over a restart.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Protocol

from innkeeper.mcp.declarations.model import DeclaredServer
from innkeeper.ports.mcp import AgentWrites


class NoWrites:
    """A host that keeps no record of its agents' writes."""

    def wrote(self, path: str, since: float, changed: float | None) -> bool:
        return False


class HoldMemory(Protocol):
    """Held fingerprints over a restart, by directory key."""

    def load(self) -> Mapping[str, Sequence[str]]: ...

    def save(self, held: Mapping[str, Sequence[str]]) -> None: ...


class ForgetfulMemory:
    """Holds end with the process."""

    def load(self) -> Mapping[str, Sequence[str]]:
        return {}

    def save(self, held: Mapping[str, Sequence[str]]) -> None:
        return


class Authorship:
    """`writes` is the host's record of what its agents wrote."""

    def __init__(self, writes: AgentWrites | None = None, memory: HoldMemory | None = None) -> None:
        self._writes: AgentWrites = writes or NoWrites()
        self._memory: HoldMemory = memory or ForgetfulMemory()
        self._known: dict[str, dict[str, str]] = {}
        self._read_at: dict[str, float] = {}
        self._held: dict[str, set[str]] | None = None

    def read(self, workspace: str, path: str, servers: Sequence[DeclaredServer], now: float) -> None:
        """The files of the directory were read at `now`, seconds since the epoch, and said this."""
        known = self._known.get(workspace, {})
        since = self._read_at.get(workspace, 0.0)
        held = self._holds().setdefault(workspace, set())
        before = set(held)
        present = {server.name: server.fingerprint for server in servers if server.fingerprint}
        for server in servers:
            if server.fingerprint and known.get(server.name) != server.fingerprint and server.fingerprint not in held:
                written = (server.file, server.environment_file)
                files = [os.path.join(path, file) for file in written if file is not None]
                if any(self._writes.wrote(file, since, _changed(file)) for file in files):
                    held.add(server.fingerprint)
        self._known[workspace] = {**known, **present}
        self._read_at[workspace] = now
        if held != before:
            self._save()

    def held(self, workspace: str, server: DeclaredServer) -> bool:
        return bool(server.fingerprint) and server.fingerprint in self._holds().get(workspace, ())

    def release(self, workspace: str, servers: Sequence[DeclaredServer]) -> None:
        """A person connected or confirmed these."""
        held = self._holds().get(workspace, set())
        before = len(held)
        held.difference_update(server.fingerprint for server in servers)
        if len(held) != before:
            self._save()

    def _holds(self) -> dict[str, set[str]]:
        if self._held is None:
            self._held = {workspace: set(fingerprints) for workspace, fingerprints in self._memory.load().items()}
        return self._held

    def _save(self) -> None:
        self._memory.save({workspace: sorted(held) for workspace, held in self._holds().items() if held})


def _changed(path: str) -> float | None:
    """When the file or its entry in the directory last changed; a time that no program can set at will."""
    try:
        return os.stat(path).st_ctime
    except OSError:
        return None
