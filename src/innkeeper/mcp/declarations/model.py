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
from innkeeper.mcp.oauth.values import OAuthClient
from innkeeper.protocol.common.state import TextRange
from innkeeper.texts import text

Severity = Literal["error", "note"]
Format = Literal["json", "jsonc", "toml", "yaml"]
Dialect = Literal["standard", "codex", "gemini"]
Interpolation = Literal["standard", "shell", "none"]
ConflictPolicy = Literal["error", "first-wins", "last-wins"]
Transport = Literal["stdio", "http", "sse", "ws", "unknown"]
"""Only the first two are ever launched."""
Status = Literal["accepted", "rejected", "disabled", "shadowed", "override"]
"""What became of a declaration. `disabled`: switched off in its file. `shadowed`: another file's one stands for it.
`override`: it only changes a server of another place."""

KeyPath = tuple[str, ...]
"""Keys from the outside in; the empty path is the object itself."""


@dataclass(frozen=True, slots=True)
class Preset:
    """A file format as data (M1.1-M1.5). `tables` are the places a servers table may have; `fields` maps a canonical
    field to its place in an entry, and lacks those that the format has not."""

    id: str
    files: tuple[str, ...]
    tables: tuple[KeyPath, ...]
    fields: Mapping[str, KeyPath]
    format: Format = "jsonc"
    dialect: Dialect = "standard"
    interpolation: Interpolation = "standard"
    bare_url: Literal["http", "sse"] = "http"
    transports: Mapping[str, str] = field(default_factory=dict)
    """The values of the transport key: to `stdio`, `http` or a diagnostic code."""
    unsupported: Mapping[str, str] = field(default_factory=dict)
    """Keys that ask for what is not implemented, with the code that refuses the entry (M2.2)."""
    ignored: frozenset[str] = frozenset()
    """Keys that the client knows and that change nothing here."""
    foreign: frozenset[str] = frozenset()
    """Canonical fields that are honoured although the client of this format does not know them."""
    filters: tuple[str, str] = ("", "")
    """Keys of the tools that are in and of those that are out (M2.9); empty where the format has none."""
    refused_marks: tuple[str, ...] = ()
    """Beginnings of this client's own placeholders that are not understood: never passed on as text."""
    command_list: bool = False
    """Whether `command` is a list that holds the arguments too."""
    table_required: bool = False
    """Whether a file without a servers table is a mistake."""
    client: str = ""
    """The client whose file this is, for the texts of CLIENT_DIFFERS; empty when it is nobody's in particular."""
    built_in: bool = True


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding. `file` is relative to the workspace, `line` one-based (0: the whole file). `detail` names fields,
    keys or counts; `hint` is the last part of a text id `declaration.hint.…`, or empty."""

    severity: Severity
    code: str
    message: str
    file: str
    line: int
    server: str | None = None
    detail: str = ""
    hint: str = ""


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
    client: OAuthClient | None = None
    """The registered OAuth client to sign in as."""


Launch = StdioLaunch | HttpLaunch


@dataclass(frozen=True, slots=True)
class ToolFilter:
    """The project's own filter (M2.9): raw tool names. `included` None means all; exclusion wins."""

    included: frozenset[str] | None = None
    excluded: frozenset[str] = frozenset()

    def allows(self, tool: str) -> bool:
        return tool not in self.excluded and (self.included is None or tool in self.included)


EVERY_TOOL = ToolFilter()


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds; None where the file says nothing (M1.7, M2.8b)."""

    start: float | None = None
    call: float | None = None


NO_TIMEOUTS = Timeouts()


@dataclass(frozen=True, slots=True)
class DeclaredServer:
    """One entry of a file, good or not. `launch` is None when the entry is rejected: its diagnostics say why."""

    name: str
    safe_name: str
    preset: str
    file: str
    line: int
    range: TextRange
    transport: Transport
    fingerprint: str
    """Empty when the entry is rejected."""
    launch: Launch | None
    command: tuple[str, ...] = field(default=(), repr=False)
    """Command and arguments as written, variables unexpanded; empty for http."""
    enabled_in_file: bool = True
    diagnostics: tuple[Diagnostic, ...] = ()
    tools: ToolFilter = EVERY_TOOL
    timeouts: Timeouts = NO_TIMEOUTS
    required: bool = False
    """A request fails while a required server that is selected is not there (M5.5)."""
    override: bool = False
    """Nothing but a change of a server that another place declares: it is no server (OVERRIDE_ONLY)."""
    address: str = field(default="", repr=False)
    """The url as written; empty for stdio."""
    directory: str | None = None
    """`cwd` as written."""
    environment_file: str | None = None
    """The `envFile` that takes part, relative to the workspace: its content is part of the fingerprint."""
    environment_names: tuple[str, ...] = ()
    header_names: tuple[str, ...] = ()
    traits: frozenset[str] = frozenset()
    """What is peculiar in how it is written, for the comparison of clients."""

    @property
    def code(self) -> str | None:
        """The first error of the entry."""
        return next((found.code for found in self.diagnostics if found.severity == "error"), None)

    @property
    def status(self) -> Status:
        """What became of the entry by itself, without the others'."""
        if self.override:
            return "override"
        if self.launch is None:
            return "rejected"
        return "accepted" if self.enabled_in_file else "disabled"


@dataclass(frozen=True, slots=True)
class Loaded:
    """A workspace's servers, one a name. `diagnostics` are those of files; each server carries its own."""

    servers: tuple[DeclaredServer, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def diagnostic(
    code: str, file: str, line: int, server: str | None = None, detail: str = "", hint: str = ""
) -> Diagnostic:
    """The finding `code` with its text from the catalogue. `detail` is a field path, a key, or a count: no value.
    Control characters and lone surrogates of names in a file never reach a terminal or an encoder raw."""
    severity: Severity = "note" if ERRORS[code].severity == "note" else "error"
    shown = printable(detail[:DIAGNOSTIC_CHARACTERS])
    return Diagnostic(severity, code, message_of(code, shown, hint), file, line, server, shown, hint)


def message_of(code: str, detail: str = "", hint: str = "", lang: str = "en") -> str:
    """The text of a diagnostic in a language, at most `DIAGNOSTIC_CHARACTERS` long."""
    message = text(ERRORS[code].meaning, lang=lang)
    if detail:
        message = f"{message} [{detail}]"
    if hint:
        message = f"{message} {text(f'declaration.hint.{hint}', lang=lang)}"
    return message if len(message) <= DIAGNOSTIC_CHARACTERS else f"{message[: DIAGNOSTIC_CHARACTERS - 1]}…"


def printable(name: str) -> str:
    """The name with everything that could steer a terminal or not be encoded as an escape."""
    if name.isprintable() and name.isascii():
        return name
    return "".join(c if c.isprintable() and not "\ud800" <= c <= "\udfff" else f"\\u{ord(c):04x}" for c in name)
