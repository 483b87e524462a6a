"""Questions that a person answers in a conversation (M6.1, M6.2, M6.4, AHP §9.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol


class Caller(NamedTuple):
    """Who makes a tool call: the turn of a chat of a session, and the call's id in that chat."""

    session: str
    chat: str
    turn_id: str
    tool_call_id: str
    subagent: bool = False


class Option(NamedTuple):
    """One answer of a confirmation. `id` is stable; `label` is in the language of the client that asked first."""

    id: str
    label: str
    kind: Literal["approve", "deny"]


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What is asked before a tool runs. `meta` goes into the call's `_meta` under `x-innkeeper/…` keys (M6.2)."""

    title: str
    invocation: str
    tool_input: str | None
    options: Sequence[Option]
    meta: Mapping[str, object] = field(default_factory=dict)


class Answer(NamedTuple):
    """The answer. Anything but an explicit approval is a denial, with its reason (M6.4)."""

    approved: bool
    option: str | None = None
    reason: Literal["user", "timeout", "cancelled", "no-conversation"] = "user"
    edited_input: str | None = None
    message: str | None = None


class Questions(Protocol):
    async def confirm(self, caller: Caller, confirmation: Confirmation) -> Answer:
        """Ask in the conversation and wait for an answer of any client. Never raises for an answer: a cancelled turn,
        a closed session or the time-out is a denial."""
        ...
