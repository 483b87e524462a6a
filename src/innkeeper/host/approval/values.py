"""What a decision is made of, and what it is (reference §5.11; docs/reference/approvals.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from innkeeper.ports.questions import Intent, Reason

Outcome = Literal["approve", "ask", "deny"]
Mode = Literal["interactive", "plan", "autopilot"]
FullAccess = Literal["operator", "autoApprove", "agentMode"]
DeniedBy = Literal["session", "operator"]

Row = Literal[
    "deniedTool",
    "attachmentArea",
    "managedPolicy",
    "sandbox",
    "fullAccess",
    "planMode",
    "allowedTool",
    "inlineEditor",
    "read",
    "write",
    "shell",
    "otherwise",
]
"""The rows of the table, in the order in which they decide."""

ROWS: tuple[Row, ...] = (
    "deniedTool",
    "attachmentArea",
    "managedPolicy",
    "sandbox",
    "fullAccess",
    "planMode",
    "allowedTool",
    "inlineEditor",
    "read",
    "write",
    "shell",
    "otherwise",
)

ONCE_ONLY: frozenset[Row] = frozenset({"managedPolicy", "sandbox", "planMode"})
"""Rows whose question cannot be answered for the whole session: a remembered allow would not reach them."""

BY_SETTING: frozenset[Row] = frozenset({"fullAccess", "allowedTool"})
"""Rows that approve because the configuration says so; the others approve because there is nothing to confirm."""


class Call(NamedTuple):
    """A tool call: the tool's name as the agent sees it, and what it wants to do."""

    tool: str
    intent: Intent


@dataclass(frozen=True, slots=True)
class Standing:
    """What the configuration says of the call's tool and session now, every layer joined."""

    denied_by: DeniedBy | None = None
    full_access: FullAccess | None = None
    allowed: bool = False
    """`permissions.allow` of some layer names the tool."""
    mode: Mode = "interactive"
    managed: bool = False
    """The operator's policy demands that a person decides about this tool."""


@dataclass(frozen=True, slots=True)
class Inline:
    """The session is an editor's inline chat; `target` is the one file that it is about, None when it has none."""

    target: str | None


class CommandRule(NamedTuple):
    """An operator's rule for shell commands: `key` is words with which a command begins, or `/regex/`."""

    key: str
    approve: bool
    whole_line: bool = False
    """The regular expression is compared with the whole command line instead of each command in it."""


class FileRule(NamedTuple):
    """An operator's rule for files that are written: a pattern, and whether writing needs no question."""

    pattern: str
    approve: bool


@dataclass(frozen=True, slots=True)
class Tables:
    """The operator's own rules beside the built-in tables; with `shell` off every shell command is asked about."""

    commands: Sequence[CommandRule] = ()
    files: Sequence[FileRule] = ()
    shell: bool = True


@dataclass(frozen=True, slots=True)
class Ground:
    """Where the call stands. Paths are absolute; `roots` are the working directories of its chat, the first the one
    that commands run in unless they say otherwise."""

    roots: Sequence[str] = ()
    home: str | None = None
    attachment_area: str | None = None
    """Where the host keeps snapshots of what was attached: written by no tool."""
    attached_here: str | None = None
    """The part of it that is this session's: read freely. Those of other sessions are asked about."""
    attachments: frozenset[str] = frozenset()
    """Files that were attached to the conversation."""
    inline: Inline | None = None
    tables: Tables = field(default_factory=Tables)


class Step(NamedTuple):
    """One part of a call: a command of a command line, or a path."""

    subject: str
    outcome: Literal["approve", "ask"]
    reason: Reason
    effects: bool = False
    """It may change something: a file that is written, or a command that does more than look."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision: by which row, why, and each part that it looked at."""

    outcome: Outcome
    row: Row
    reason: Reason
    steps: Sequence[Step] = ()

    @property
    def on_purpose(self) -> bool:
        """A rule asks, and not only the last row (M6.8)."""
        return self.outcome == "ask" and self.row != "otherwise"


NOTHING: Mapping[str, Any] = MappingProxyType({})


def reason(message: str, /, **values: object) -> Reason:
    """A text of the catalogue under `approval.`, with its values."""
    return Reason(f"approval.{message}", values or NOTHING)
