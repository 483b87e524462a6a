"""A workspace of declaration files, and one way to resolve it."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from innkeeper.mcp.declarations.conflicts import Entry
from innkeeper.mcp.declarations.model import DeclaredServer, StdioLaunch
from innkeeper.mcp.declarations.presets import BUILT_IN, OFF_BY_DEFAULT
from innkeeper.mcp.declarations.resolve import Reading, Resolved, Resolver

CANARY = "s3cret-canary-value"
ENVIRONMENT = {"HOME": "/home/u", "PATH": "/usr/bin", "TOKEN": CANARY, "EMPTY": "", "DOLLAR": "${HOME}"}
FILES = {preset.id: preset.files[0] for preset in (*BUILT_IN, *OFF_BY_DEFAULT)}
TABLES = {preset.id: preset.tables[0][0] for preset in (*BUILT_IN, *OFF_BY_DEFAULT)}


class Workspace:
    """A directory with declaration files. `environment` is the host's."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.environment: dict[str, str] = dict(ENVIRONMENT)
        self.resolver = Resolver()

    def write(self, file: str, content: object) -> Path:
        """Text and bytes as they are, anything else as JSON."""
        path = self.root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str | bytes) else json.dumps(content)
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
        return path

    def declare(self, preset: str, **servers: object) -> None:
        """One JSON file of a built-in preset."""
        self.write(FILES[preset], {TABLES[preset]: servers})

    def resolve(self, **changes: Any) -> Resolved:
        return self.resolver.resolve(os.fspath(self.root), Reading(self.environment, **changes))

    def entries(self, **changes: Any) -> Mapping[str, Entry]:
        """The entries by name; a name must be there once."""
        found = self.resolve(**changes).entries
        assert len({entry.server.name for entry in found}) == len(found)
        return {entry.server.name: entry for entry in found}

    def one(self, preset: str, entry: object, **changes: Any) -> DeclaredServer:
        """The one entry of a JSON preset, and no file of another."""
        for file in FILES.values():
            (self.root / file).unlink(missing_ok=True)
        self.declare(preset, it=entry)
        return self.entries(**changes)["it"].server

    def codex(self, text: str, **changes: Any) -> Mapping[str, Entry]:
        self.write(".codex/config.toml", text)
        return self.entries(**changes)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "ws"
    root.mkdir()
    return Workspace(root)


@pytest.fixture
def launched() -> Any:
    """The launch of a server that must be a good stdio one."""

    def take(server: DeclaredServer) -> StdioLaunch:
        assert isinstance(server.launch, StdioLaunch), server.diagnostics
        return server.launch

    return take


@pytest.fixture
def notes() -> Any:
    """Codes and details of a server's notes."""

    def take(server: DeclaredServer) -> dict[str, str]:
        return {found.code: found.detail for found in server.diagnostics if found.severity == "note"}

    return take
