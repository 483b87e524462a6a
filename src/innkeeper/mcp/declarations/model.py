"""Values of the declarations: presets, what an entry asks for, diagnostics (M1, M2, M4.2b, M10).

Rules
* Nothing here is secret in its representation: expanded values stand in fields that `repr` leaves out.
* A diagnostic names file, line, server and field; never a value (M1.8).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from innkeeper.errors import ERRORS
from innkeeper.limits import DIAGNOSTIC_CHARACTERS
from innkeeper.protocol.common.state import TextRange
from innkeeper.texts import text

Severity = Literal["error", "note"]


@dataclass(frozen=True, slots=True)
class Preset:
    """A file format as data (M1.1, M1.2). `tables` are the keys a servers table may have; `fields` maps the canonical
    field to the key of this format."""

    id: str
    files: tuple[str, ...]
    tables: tuple[str, ...]
    fields: Mapping[str, str]
    transports: Mapping[str, str]
    """The values of the transport key: to `stdio`, `http` or a diagnostic code."""
    unsupported: Mapping[str, str]
    """Keys that ask for what is not implemented, with the code that refuses the entry (M2.2)."""
    trust_claims: frozenset[str] = frozenset()
    """Keys by which a file tries to trust itself (M2.9)."""
    table_required: bool = True
    """Whether a file without a servers table is a mistake."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding. `file` is relative to the workspace, `line` one-based (0: the whole file)."""

    severity: Severity
    code: str
    message: str
    file: str
    line: int
    server: str | None = None


@dataclass(frozen=True, slots=True)
class StdioLaunch:
    """What runs. `environment` are the declared values, expanded; the base environment is added at start (M2.8)."""

    program: str = field(repr=False)
    arguments: tuple[str, ...] = field(repr=False)
    environment: Mapping[str, str] = field(repr=False)
    directory: str


@dataclass(frozen=True, slots=True)
class HttpLaunch:
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)


Launch = StdioLaunch | HttpLaunch


@dataclass(frozen=True, slots=True)
class DeclaredServer:
    """One entry of a file, good or not. `launch` is None when the entry is rejected: its diagnostics say why."""

    name: str
    safe_name: str
    preset: str
    file: str
    line: int
    range: TextRange
    transport: Literal["stdio", "http", "unknown"]
    fingerprint: str
    """Empty when the entry is rejected."""
    launch: Launch | None
    command: tuple[str, ...] = ()
    """Command and arguments as written, variables unexpanded; empty for http."""
    enabled_in_file: bool = True
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def code(self) -> str | None:
        """The first error of the entry."""
        return next((found.code for found in self.diagnostics if found.severity == "error"), None)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A workspace's declarations. `diagnostics` are those of files; each server carries its own."""

    servers: tuple[DeclaredServer, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def diagnostic(code: str, file: str, line: int, server: str | None = None, detail: str = "") -> Diagnostic:
    """The finding `code` with its text from the catalogue. `detail` is a field path, a key, or a count: no value.
    Control characters and lone surrogates of names in a file never reach a terminal or an encoder raw."""
    message = text(ERRORS[code].meaning)
    if detail:
        message = f"{message} [{printable(detail)}]"
    severity: Severity = "note" if ERRORS[code].severity == "note" else "error"
    if len(message) > DIAGNOSTIC_CHARACTERS:
        message = f"{message[: DIAGNOSTIC_CHARACTERS - 1]}…"
    return Diagnostic(severity, code, message, file, line, server)


def printable(name: str) -> str:
    """The name with everything that could steer a terminal or not be encoded as an escape."""
    return "".join(c if c.isprintable() and not "\ud800" <= c <= "\udfff" else f"\\u{ord(c):04x}" for c in name)
