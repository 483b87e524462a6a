"""Questions that a person answers in a conversation (M6.1, M6.2, M6.4, M6.8, AHP §9.2)."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, Protocol

APPROVED_BY_SETTING: Final = "x-innkeeper/approvedBySetting"
"""Key of a call's `_meta`: the configuration approved it, and its client goes ahead without asking (C25)."""


class Caller(NamedTuple):
    """Who makes a tool call: the turn of a chat of a session, and the call's id in that chat."""

    session: str
    chat: str
    turn_id: str
    tool_call_id: str
    subagent: bool = False
    """The provider says that a delegated agent calls; an unknown caller is the main agent (M6.3c)."""
    patience: float | None = None
    """Seconds until the calling agent gives its call up, where that is known; a question ends before (M6.4b)."""


class Option(NamedTuple):
    """One answer of a confirmation. `id` is stable; `label` is in the language of the client that asked first."""

    id: str
    label: str
    kind: Literal["approve", "deny"]


@dataclass(frozen=True, slots=True)
class Intent:
    """What a tool call wants to do, as far as its provider knows it for certain; what it does not say, it wants too.

    `shell`: `command` in `language` (`bash`, `sh`; anything else is not judged) in `directory`. `read`, `write`: local
    `paths`, absolute or relative to `directory`. `url`: `urls`. `mcp`: a tool of a server by its qualified `tool` name.
    `tool`: anything else."""

    kind: Literal["shell", "read", "write", "url", "mcp", "tool"]
    command: str = ""
    language: str | None = None
    directory: str | None = None
    paths: Sequence[str] = ()
    urls: Sequence[str] = ()
    tool: str | None = None
    """The tool's name as the agent sees it; needed where no started call has it."""
    leaves_sandbox: bool = False
    """The agent asks to leave its sandbox for this call."""
    managed: bool = False
    """The agent's managed policy demands that a person decides."""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What is asked before a tool runs, in `lang`. `meta` goes into the call's `_meta` under `x-innkeeper/…` keys, so
    that a client can show the question in its own language (M6.2). Without `options` the host offers its own three:
    allow in this session, allow once, skip. Without `intent` nothing is known of the call but its tool's name."""

    title: str
    invocation: str
    tool_input: str | None
    options: Sequence[Option] = ()
    meta: Mapping[str, object] = field(default_factory=dict)
    lang: str = "en"
    intent: Intent | None = None


class Reason(NamedTuple):
    """Why a rule asks: a text of the catalogue and its values, so that every client shows its own language."""

    message: str
    values: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Rules:
    """What the approval rules of the session and of the operator say of a call, without their last row, *otherwise
    ask*: that row is the gate (M6.8). An allow among them is not here, because it cancels nobody's question."""

    denied_by: Literal["session", "operator"] | None = None
    asks: Sequence[Reason] = ()
    """Rules that ask on purpose."""


NO_RULES = Rules()


class Answer(NamedTuple):
    """The answer. Anything but an explicit approval is a denial, with its reason (M6.4)."""

    approved: bool
    option: str | None = None
    reason: Literal["user", "timeout", "cancelled", "no-conversation", "withdrawn"] = "user"
    edited_input: str | None = None
    message: str | None = None


class Questions(Protocol):
    async def confirm(
        self, caller: Caller, confirmation: Confirmation, withdrawn: "asyncio.Future[str] | None" = None
    ) -> Answer:
        """Ask in the conversation and wait for an answer of any client. Never raises for an answer: a cancelled turn,
        a closed session or the time-out is a denial, and so is `withdrawn`, whose result says why nobody needs the
        answer any more."""
        ...


class Approves(Protocol):
    """Whether a started call of a running turn may run, by the approval rules, else by a person (reference §5.11)."""

    async def confirm(self, chat: str, turn_id: str, call: str, confirmation: Confirmation) -> Answer:
        """Decide by the rules, ask a person where they say so, and show in the call's state what was decided. On
        approval the call is running when this returns. Never raises for an answer."""
        ...
