"""Editing the declarations of a workspace: what a form shows and sends, and what came of it (M8, M11.3).

Rules
* A workspace is an absolute local path; a place is a preset and one of its files, relative to the workspace.
* Every change names the version token of what it was made for; against any other nothing is written (M8.4).
* Values of `env` and `headers` are as they are written in the file, never expanded; None where they are masked.
* What is refused is a HostError with a stable code, the file, the line and what to do; nothing was written then.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from innkeeper.ports.mcp import DeclarationFinding

FormTransport: TypeAlias = Literal["stdio", "http", "sse", "ws", "unknown"]
"""Only the first two can be saved."""


@dataclass(frozen=True, slots=True)
class DeclarationPlace:
    """One file of one preset. `exists` says whether there is such a file now; `clients` are the names of the programs
    that read it besides this host."""

    preset: str
    file: str
    enabled: bool = True
    exists: bool = False
    clients: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FormRow:
    """One variable or header; `value` is None where it is masked."""

    key: str
    value: str | None


@dataclass(frozen=True, slots=True)
class DeclarationForm:
    """The six fields that are edited (M8.2). A field that the entry lacks, or has in a type of its own, is None; the
    latter are named in `unreadable`. `others` are keys that stay as they are."""

    transport: FormTransport
    command: str | None = None
    args: tuple[str, ...] | None = None
    cwd: str | None = None
    url: str | None = None
    env: tuple[FormRow, ...] | None = field(default=None, repr=False)
    headers: tuple[FormRow, ...] | None = field(default=None, repr=False)
    others: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OpenedDeclaration:
    """A place, opened for editing. `server` is None where a new one is to be made; `token` is the file's version."""

    place: DeclarationPlace
    token: str
    server: str | None
    form: DeclarationForm
    line: int | None = None
    transport_key: str | None = None
    """The key that a change of the transport is written to; None: the fields tell it (M8.3)."""
    findings: tuple[DeclarationFinding, ...] = ()
    """What reading the entry says."""
    loads_by: str | None = None
    """The layer of trust by which what is saved starts with the next request (M8.7); None: it does not by itself."""


@dataclass(frozen=True, slots=True)
class Keep:
    """The value that the entry has under this key now; for rows whose value was masked."""

    key: str


RowValue: TypeAlias = "str | Keep"
FieldValue: TypeAlias = "str | Sequence[str] | Mapping[str, RowValue] | None"


@dataclass(frozen=True, slots=True)
class DeclarationDraft:
    """What is to be. `transport` None: as it is, or as the fields tell. `fields` has only those that were sent; None
    clears one (M8.9)."""

    transport: str | None = None
    fields: Mapping[str, FieldValue] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class EditOutcome:
    """What a change came to. `diff` is a unified diff of what changed, secrets masked; `written` is False for a dry run
    and for a change that changes nothing. `tokens` are the versions of the files as they are now."""

    server: str
    place: DeclarationPlace
    written: bool
    diff: str
    tokens: Mapping[str, str]
    line: int | None = None
    source: DeclarationPlace | None = None
    """Where it came from, for copy and migrate."""
    findings: tuple[DeclarationFinding, ...] = ()
    """What the loader says of the entry; none of them kept it from loading."""
    loads_by: str | None = None
    fingerprint: str = ""
    """Of the entry as it is now; empty when it is gone."""


@dataclass(frozen=True, slots=True)
class ScanPlace:
    """One declaration of a server. `differs` are the fields in which it differs from the group's first one."""

    server: str
    preset: str
    file: str
    line: int
    enabled: bool
    """Whether the preset is on."""
    transport: FormTransport
    differs: tuple[str, ...] = ()
    code: str | None = None
    """Why it does not load by itself, if it does not."""


@dataclass(frozen=True, slots=True)
class ScanGroup:
    """Declarations of one server: by its name, or (`alike`) by what they start although their names differ."""

    name: str
    kind: Literal["name", "alike"]
    places: tuple[ScanPlace, ...]

    @property
    def identical(self) -> bool:
        return not any(place.differs for place in self.places)


@dataclass(frozen=True, slots=True)
class ScanReport:
    """Every declaration of the workspace, also in files of presets that are off (M11.3)."""

    groups: tuple[ScanGroup, ...] = ()
    findings: tuple[DeclarationFinding, ...] = ()
    """What is wrong with files as a whole."""


class DeclarationEditor(Protocol):
    """Every method raises HostError: REMOTE_WORKSPACE never (a workspace is local here), and what its rule names."""

    async def places(self, workspace: str) -> Sequence[DeclarationPlace]:
        """Where a server can be declared, the best place for a new one first (M8.10)."""
        ...

    async def open(
        self, workspace: str, server: str | None, preset: str | None, file: str | None, *, reveal: bool = False
    ) -> OpenedDeclaration:
        """`server` None opens a place for a new one; `preset` None is the best place, or the first that declares the
        server. `reveal` gives the values of env and headers as written."""
        ...

    async def save(
        self,
        workspace: str,
        place: DeclarationPlace,
        server: str | None,
        name: str,
        draft: DeclarationDraft,
        token: str | None,
        *,
        dry_run: bool = False,
    ) -> EditOutcome:
        """Make (`server` None), change or rename an entry. `token` None is no guard: for the command line only."""
        ...

    async def delete(
        self, workspace: str, place: DeclarationPlace, server: str, token: str | None, *, dry_run: bool = False
    ) -> EditOutcome: ...

    async def copy(
        self,
        workspace: str,
        source: DeclarationPlace,
        server: str,
        target: DeclarationPlace,
        name: str,
        tokens: Mapping[str, str],
        *,
        move: bool,
        dry_run: bool = False,
    ) -> EditOutcome:
        """Into another preset's dialect; with `move` the original goes (M8.8). `tokens` by file."""
        ...

    async def scan(self, workspace: str) -> ScanReport: ...
