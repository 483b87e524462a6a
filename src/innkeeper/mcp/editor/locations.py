"""Where a new server goes (M8.10), and who reads a file besides this host (M9.1).

Rules
* This workspace's last written location that still can be written, else the first enabled preset whose file exists,
  else `.mcp.json`. A person may choose any other.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Final

from innkeeper.mcp.declarations.custom import Available
from innkeeper.mcp.declarations.files import Refused
from innkeeper.mcp.declarations.model import Preset
from innkeeper.mcp.declarations.presets import ROOT
from innkeeper.mcp.declarations.traits import CLIENTS
from innkeeper.mcp.editor.folders import real_path
from innkeeper.mcp.editor.refusals import EditRefused
from innkeeper.mcp.editor.remembered import Remembered
from innkeeper.mcp.editor.sheets import Target
from innkeeper.ports.mcp_editing import DeclarationPlace

_READERS: Final[Mapping[str, tuple[str, ...]]] = {
    ".mcp.json": ("Claude Code", "Copilot CLI", "VS Code"),
    ".vscode/mcp.json": ("VS Code",),
    ".codex/config.toml": ("Codex CLI",),
    ".cursor/mcp.json": ("Cursor",),
    ".gemini/settings.json": ("Gemini CLI",),
    ".qwen/settings.json": ("Qwen Code",),
    ".github/mcp.json": ("Copilot CLI",),
    ".roo/mcp.json": ("Roo Code",),
    ".kiro/settings/mcp.json": ("Kiro",),
    ".zed/settings.json": ("Zed",),
    "opencode.json": ("opencode",),
    "opencode.jsonc": ("opencode",),
    ".amp/settings.json": ("Amp",),
    ".junie/mcp/mcp.json": ("Junie",),
}


def target_of(available: Available, preset: str, file: str | None, workspace: str) -> Target:
    """The preset's file; of several the one that is named, exists, or comes first. Raises EditRefused EDIT_PRESET."""
    found = next((known for known in available.presets if known.id == preset), None)
    if found is None or (file is not None and file not in found.files):
        raise EditRefused("EDIT_PRESET", file or "", detail=preset[:100])
    if file is None:
        file = next((one for one in found.files if _exists(workspace, one)), found.files[0])
    return Target(found, file)


def new_target(available: Available, workspace: str, remembered: Remembered) -> Target:
    """Where a new server goes when nobody says otherwise."""
    known = remembered.last(workspace)
    if known is not None:
        preset = next((one for one in available.enabled if one.id == known[0] and known[1] in one.files), None)
        if preset is not None and _writable(workspace, known[1]):
            return Target(preset, known[1])
    for preset in available.enabled:
        for file in preset.files:
            if _exists(workspace, file):
                return Target(preset, file)
    root = next((one for one in available.presets if one.id == ROOT.id), ROOT)
    return Target(root, root.files[0])


def place_of(target: Target, available: Available, workspace: str) -> DeclarationPlace:
    preset, file = target.preset, target.file
    return DeclarationPlace(
        preset.id, file, preset.id in available.enabled_ids, _exists(workspace, file), readers(preset, file)
    )


def readers(preset: Preset, file: str) -> tuple[str, ...]:
    """Names of the programs that read this file."""
    known = _READERS.get(file, ())
    return known or ((CLIENTS[preset.client],) if preset.client in CLIENTS else ())


def all_targets(presets: Sequence[Preset]) -> list[Target]:
    return [Target(preset, file) for preset in presets for file in preset.files]


def _exists(workspace: str, file: str) -> bool:
    try:
        return os.path.isfile(real_path(workspace, file))
    except Refused:
        return False


def _writable(workspace: str, file: str) -> bool:
    """Whether the file, or the nearest folder that it would be made in, can be written."""
    try:
        path = real_path(workspace, file)
    except Refused:
        return False
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    return os.access(path, os.W_OK)
