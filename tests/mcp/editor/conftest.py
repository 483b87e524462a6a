"""A workspace of declaration files and an editor on it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from innkeeper.mcp.declarations.custom import BUILT_IN_IDS, available_presets
from innkeeper.mcp.declarations.resolve import Reading, Resolver
from innkeeper.mcp.editor.editor import Editor
from innkeeper.mcp.editor.locations import target_of
from innkeeper.mcp.editor.readback import Ground
from innkeeper.mcp.editor.remembered import Remembered
from innkeeper.mcp.editor.sheets import Target
from innkeeper.mcp.settings import McpSettings
from innkeeper.ports.mcp_editing import DeclarationDraft, EditOutcome
from innkeeper.ports.notes import MemoryNotes


class Workspace:
    """A directory, and its editor. `presets` are custom ones; `builtins` those that are on."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.environment = {"HOME": "/home/u", "PATH": "/usr/bin:/bin", "TOKEN": "s3cret-canary-value", "OTHER": "o"}
        self.presets: Sequence[dict[str, Any]] = ()
        self.builtins: Sequence[str] = BUILT_IN_IDS
        self.settings = McpSettings()
        self.limit = 32
        self.remembered = Remembered(MemoryNotes())
        self.editor = Editor(Ground(self.reading, self.available), lambda: self.settings, self.remembered)

    def available(self) -> Any:
        return available_presets(self.builtins, self.presets)

    def reading(self) -> Reading:
        return Reading(self.environment, presets=self.available().enabled, entry_limit=self.limit)

    def resolve(self) -> Any:
        return Resolver().resolve(self.path, self.reading())

    @property
    def path(self) -> str:
        return str(self.root)

    def write(self, file: str, content: object) -> Path:
        """Text and bytes as they are, anything else as JSON."""
        path = self.root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str | bytes) else json.dumps(content, indent=2) + "\n"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def read(self, file: str) -> str:
        return (self.root / file).read_bytes().decode()

    def files(self) -> list[str]:
        """Everything below the workspace that is no directory."""
        return sorted(str(path.relative_to(self.root)) for path in self.root.rglob("*") if not path.is_dir())

    def target(self, preset: str, file: str | None = None) -> Target:
        return target_of(self.available(), preset, file, self.path)

    def token(self, preset: str) -> str:
        return self.editor.open(self.path, None, preset, None).token

    def add(self, preset: str, name: str, transport: str | None = None, **fields: Any) -> EditOutcome:
        return self.save(preset, None, name, transport, **fields)

    def save(self, preset: str, server: str | None, name: str, transport: str | None = None, **fields: Any) -> Any:
        draft = DeclarationDraft(transport, fields)
        return self.editor.save(self.path, self.target(preset), server, name, draft, None)

    def copy(self, source: str, name: str, target: str, new: str | None = None, *, move: bool = False) -> EditOutcome:
        return self.editor.copy(self.path, self.target(source), name, self.target(target), new or name, {}, move=move)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "ws"
    root.mkdir()
    return Workspace(root)
