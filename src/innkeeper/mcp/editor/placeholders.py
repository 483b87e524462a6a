"""Placeholders from one dialect to another, with the same meaning or not at all (M8.8, M2.3). Pure.

Rules
* `none` has no placeholders: only literal text goes there, and a text that would become one elsewhere is not literal.
* A variable is spelled as the client of the target knows it, where it knows one; the host reads every spelling.
* `${configDir}` names the folder of its file, so it moves only between files of one folder.
"""

import re
from dataclasses import dataclass
from typing import Final, Literal

from innkeeper.mcp.declarations.model import Preset

Kind = Literal["text", "variable", "other"]

_STANDARD: Final = re.compile(r"\$\{([^}]*)\}")
_SHELL: Final = re.compile(r"\$\{([^}]*)\}|\$([A-Za-z_][A-Za-z0-9_]*)|%([A-Za-z_][A-Za-z0-9_]*)%")
_VARIABLE: Final = re.compile(r"(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.DOTALL)
_BUILT_IN: Final = frozenset(
    ["workspaceFolder", "workspaceFolderBasename", "userHome", "pathSeparator", "/", "configDir"]
)
_ENCODED: Final = re.compile(r"[0-9A-Fa-f]{2}")
_ENV_PREFIX: Final = frozenset({"vscode", "cursor"})
"""Clients that know `${env:NAME}` and not `${NAME}`."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a value. `text` is the literal, the variable's name, or the body of another placeholder."""

    kind: Kind
    text: str
    default: str | None = None


def pieces(value: str, source: Preset) -> list[Piece]:
    """The value as its preset reads it."""
    if source.interpolation == "none":
        return [Piece("text", value)] if value else []
    found: list[Piece] = []
    at = 0
    for match in (_SHELL if source.interpolation == "shell" else _STANDARD).finditer(value):
        percent = match[3] if source.interpolation == "shell" else None
        if percent is not None and _ENCODED.fullmatch(percent):
            continue
        if match.start() > at:
            found.append(Piece("text", value[at : match.start()]))
        bare = match[2] or percent if source.interpolation == "shell" else None
        found.append(Piece("variable", bare) if bare else _of_body(match[1], source))
        at = match.end()
    if at < len(value):
        found.append(Piece("text", value[at:]))
    return found


def rendered(found: list[Piece], target: Preset, *, same_folder: bool) -> str | None:
    """The same value in the target's spelling; None when it has none."""
    parts: list[str] = []
    for piece in found:
        part = _part(piece, target, same_folder)
        if part is None:
            return None
        parts.append(part)
    value = "".join(parts)
    literal = pieces(value, target)
    if "".join(piece.text for piece in literal if piece.kind != "text") != "".join(
        piece.text for piece in found if piece.kind != "text"
    ):
        return None  # what was literal would be a placeholder there
    return value


def only_variable(found: list[Piece]) -> str | None:
    """The name, for a value that is one variable without a default."""
    if len(found) == 1 and found[0].kind == "variable" and found[0].default is None:
        return found[0].text
    return None


def _of_body(body: str, source: Preset) -> Piece:
    if source.id == "root" and body == "CLAUDE_PROJECT_DIR":
        return Piece("other", "workspaceFolder")
    match = _VARIABLE.fullmatch(body)
    if body in _BUILT_IN or match is None:
        return Piece("other", body)
    return Piece("variable", match[1], match[2])


def _part(piece: Piece, target: Preset, same_folder: bool) -> str | None:
    if piece.kind == "text":
        return piece.text
    if target.interpolation == "none" or (piece.text == "configDir" and not same_folder):
        return None
    if piece.kind == "other":
        return f"${{{piece.text}}}"
    if piece.default is not None:
        return f"${{{piece.text}:-{piece.default}}}"
    return f"${{env:{piece.text}}}" if target.client in _ENV_PREFIX else f"${{{piece.text}}}"
