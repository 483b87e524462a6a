"""The contract of a provider: an agent that the host drives (architecture §2, §4; AHP §9).

Rules
* A provider knows nothing of channels, actions, reducers or clients: it is handed a turn and reports *signals*; the
  host maps signals to actions, routes those of subagents, and owns every state that a client sees.
* Signals of one turn are reported in the order in which they happened, through `TurnOutput.emit`, which never blocks.
  A part is opened by its first delta; the host merges deltas.
* A turn ends exactly once: `run_turn` returns, raises `ProviderError`, or is cancelled. Nothing is emitted afterwards.
* What the agent must not run by itself it asks about through `TurnOutput`; the answer is never assumed.
* Customizations come as `Eligible`, which only resolution makes: at the opening, with each request, and by `reconcile`.
* Tools of declared MCP servers come from `ports.mcp.McpGateway`, or as endpoints of `ports.endpoints`, and from nowhere
  else (M6.9). What a server says about its use comes in `TurnRequest.instructions` and from nowhere else.
* What a provider must know of a chat after a restart it reports as `BackingChanged` and is handed back (K14, K17). The
  log is the truth: where the agent knows more than `history`, it is taken back to it before anything is sent.
* What not every agent can do is a Protocol of its own: `Completing`, `Adopting`, `TokenTaking`, `Inspecting`,
  `Choosing`. The host asks with `isinstance`; a provider without the method does not offer it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

from innkeeper.ports.clock import Clock
from innkeeper.ports.customizations import Eligible
from innkeeper.ports.endpoints import McpEndpoints
from innkeeper.ports.ids import Ids
from innkeeper.ports.mcp import McpGateway
from innkeeper.ports.processes import Processes
from innkeeper.ports.questions import Answer, Caller, Confirmation
from innkeeper.protocol.chat.state import (
    ChatInputAnswer,
    ChatInputRequest,
    ChatInputResponseKind,
    Message,
    ToolCallContributor,
    ToolCallResult,
    ToolResultContent,
    Turn,
)
from innkeeper.protocol.common.state import UsageInfo
from innkeeper.protocol.root.state import AgentInfo
from innkeeper.protocol.session.state import SessionConfigSchema, ToolDefinition

Backing = Mapping[str, object]
"""What a provider keeps about one chat: plain JSON, opaque to the host, at most `BACKING_BYTES`, no secret in it."""


@dataclass(frozen=True, slots=True)
class Routed:
    """Base of the signals that belong to a turn. `subagent` is the tool call that spawned the agent they come from;
    None is the chat's own agent. A signal of a subagent may come before its `SubagentStarted`."""

    subagent: str | None = field(default=None, kw_only=True)


@dataclass(frozen=True, slots=True)
class TextDelta(Routed):
    """More text of the part `part`; the first delta of a part opens it."""

    text: str
    part: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta(Routed):
    text: str
    part: str


@dataclass(frozen=True, slots=True)
class ToolStarted(Routed):
    """The model began a tool call; its input may still stream."""

    call: str
    name: str
    display_name: str
    intention: str | None = None
    contributor: ToolCallContributor | None = None


@dataclass(frozen=True, slots=True)
class ToolInputDelta(Routed):
    call: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolRunning(Routed):
    """The call runs without having been asked about (`confirmed` says why)."""

    call: str
    invocation: str
    tool_input: str | None = None
    confirmed: str = "not-needed"


@dataclass(frozen=True, slots=True)
class ToolProgress(Routed):
    """The partial result so far, whole."""

    call: str
    content: Sequence[ToolResultContent]


@dataclass(frozen=True, slots=True)
class ToolCompleted(Routed):
    call: str
    result: ToolCallResult


@dataclass(frozen=True, slots=True)
class SubagentStarted(Routed):
    """The tool call `call` runs an agent of its own, with a chat of its own."""

    call: str
    title: str
    agent_name: str | None = None
    description: str | None = None


@dataclass(frozen=True, slots=True)
class SubagentEnded(Routed):
    call: str
    error: "ProviderError | None" = None


@dataclass(frozen=True, slots=True)
class UsageReported(Routed):
    usage: UsageInfo


@dataclass(frozen=True, slots=True)
class Notice(Routed):
    """A system notification part."""

    text: str


class TitleSuggested(NamedTuple):
    title: str


class ActivityChanged(NamedTuple):
    activity: str | None


class BackingChanged(NamedTuple):
    """What the provider wants back with the chat's later turns, whole; it replaces what was reported before. Stored
    with the chat, not with the turn: it is kept when the turn fails."""

    data: Backing


class SteeringConsumed(NamedTuple):
    """The steering message `message_id` has reached the model."""

    message_id: str


Signal = (
    TextDelta
    | ReasoningDelta
    | ToolStarted
    | ToolInputDelta
    | ToolRunning
    | ToolProgress
    | ToolCompleted
    | SubagentStarted
    | SubagentEnded
    | UsageReported
    | Notice
    | TitleSuggested
    | ActivityChanged
    | BackingChanged
    | SteeringConsumed
)


class ProviderError(Exception):
    """The turn, or the start of the session, failed. `error_type` and the text reach the client, so no secrets."""

    def __init__(self, error_type: str, message: str, *, resumable: bool = False) -> None:
        super().__init__(message)
        self.error_type = error_type
        self.message = message
        self.resumable = resumable


@dataclass(frozen=True, slots=True)
class InputAnswer:
    """The answer to an input request; anything but `accept` carries no answers."""

    response: ChatInputResponseKind
    answers: Mapping[str, ChatInputAnswer] = field(default_factory=dict)


class TurnOutput(Protocol):
    """What one running turn reports to, and asks, the host."""

    def emit(self, signal: Signal) -> None:
        """Report what happened. Never blocks, never raises; ignored after the turn has ended."""
        ...

    def caller(self, call: str, *, subagent: str | None = None) -> Caller:
        """The started call as the gate knows it, for the `who` of an endpoint (M6.3c): in the chat that shows it. With
        `subagent` a delegated agent calls, also where its chat is not there yet."""
        ...

    async def confirm(self, call: str, confirmation: Confirmation, *, subagent: str | None = None) -> Answer:
        """Ask whether the started tool call may run. On approval the call is running when this returns."""
        ...

    async def ask(self, request: ChatInputRequest) -> InputAnswer:
        """Put an input request (elicitation) to the user. A cancelled turn answers `cancel`."""
        ...

    async def run_client_tool(self, call: str, tool_input: str, invocation: str) -> ToolCallResult:
        """Have the client that owns the started call (contributor kind `client`) execute it and wait for its result.
        A client that goes away gives an unsuccessful result (AHP §9.2)."""
        ...


class ClientTool(NamedTuple):
    """A tool that the client `client` of the session executes: a call of it is started with a contributor of kind
    `client`, and run by `TurnOutput.run_client_tool` (AHP §9.2)."""

    client: str
    definition: ToolDefinition


class Branch(NamedTuple):
    """Where a fork or side chat came from: the backing of the chat it began in, and the last turn it shares, which is
    the turn number `turns` there, counted from 1 (0: not known any more)."""

    backing: Backing | None
    turn_id: str
    turns: int


class TurnRequest(NamedTuple):
    """One request to the agent. `history` are the completed turns before it, oldest first; `context` is history of
    another chat that is model context only (side chats, AHP §9.3)."""

    session: str
    chat: str
    turn_id: str
    message: Message
    """As the agent is to have it: what is attached is words, embedded, or a file that the agent can read."""
    text: str
    """What the model is to read: the user's text, or what a contribution made of it."""
    instructions: Sequence[str]
    history: Sequence[Turn]
    context: Sequence[Turn]
    config: Mapping[str, object]
    """The session's effective configuration values."""
    customizations: Eligible
    """What may reach the model with this request; what is named as withheld in it may not."""
    resumed: bool = False
    """The turn was interrupted and goes on: its message may have reached the agent already."""
    backing: Backing | None = None
    """What the provider reported last for this chat, by whatever process."""
    branch: Branch | None = None
    """Of a fork or side chat."""
    client_tools: Sequence[ClientTool] = ()
    """What the active clients of the session can execute now; names are as the clients gave them."""
    client: str | None = None
    """The client whose words the turn is about."""


class SessionOpening(NamedTuple):
    """What a provider's session is opened with. `directories` are local paths; the first is the primary one."""

    session: str
    directories: Sequence[str]
    config: Mapping[str, object]
    customizations: Eligible
    """What may reach the agent at its launch; whatever is withheld is not started, not in the first second (C6.1)."""


class ProviderSession(Protocol):
    """One open session of an agent. Turns of different chats may run at the same time."""

    async def run_turn(self, request: TurnRequest, output: TurnOutput) -> None:
        """Run one turn to its end. Raises ProviderError. Cancelling the task cancels the turn: the provider stops the
        agent and lets the cancellation through."""
        ...

    async def reconcile(self, customizations: Eligible) -> Sequence[str] | None:
        """Take away and bring what is different from what the agent has, as far as it can at once (C6.2, C6.4). The
        names of the servers that the agent lists afterwards, None where it does not say. Raises ProviderError when it
        could not be done. Calls for one session come one after the other, also while a turn runs."""
        ...

    async def steer(self, chat: str, message_id: str, message: Message) -> bool:
        """Hand a steering message to the running turn. False: it cannot be taken now. When the model has received it
        the turn reports SteeringConsumed."""
        ...

    async def close(self) -> None:
        """End the agent's processes. Idempotent."""
        ...


class Unavailable(NamedTuple):
    """Why an agent cannot be had here, and what a person does about it. `code` is a row of the error table."""

    code: str
    reason: str
    remedy: str
    """One command line, or one sentence where no command does it."""


class Provider(Protocol):
    """One kind of agent. Constructing one imports no SDK and starts nothing."""

    @property
    def info(self) -> AgentInfo:
        """What the root channel lists: id, names, models, capabilities (honest: AHP §13.9). It may change, for example
        when the agent has said which models it has; `watch` tells."""
        ...

    @property
    def unavailable(self) -> Unavailable | None:
        """Why no session of it can be opened now: an extra, a binary or a login is missing. None: nothing is known to
        be in the way. Cheap; the host lists it with the agent."""
        ...

    def watch(self, changed: Callable[[], None]) -> None:
        """`changed` is called on the event loop whenever `info` or `unavailable` may be different. Set once."""
        ...

    def can_resume(self, backing: Backing | None) -> bool:
        """Whether a turn that the end of the host's process interrupted can go on in a chat with this backing (K14)."""
        ...

    def config_schema(self, directory: str | None, values: Mapping[str, object]) -> SessionConfigSchema:
        """The configuration properties of a new session, besides the host's own (`autoApprove`, `permissions`,
        `mode`), for these values."""
        ...

    async def open_session(self, opening: SessionOpening) -> ProviderSession:
        """Raises ProviderError when the agent cannot be had."""
        ...

    async def close(self) -> None:
        """End what sessions share. The sessions are closed before. Idempotent."""
        ...


class Completion(NamedTuple):
    """A question to a model outside every conversation (K18): titles, branch hints, summaries."""

    instructions: str
    text: str
    directory: str | None = None
    seconds: float = 30.0


@runtime_checkable
class Completing(Protocol):
    """A provider that answers without a conversation: no tools, no customizations, nothing kept."""

    async def complete(self, completion: Completion) -> str:
        """Raises ProviderError, also when `seconds` are over."""
        ...


@runtime_checkable
class Choosing(Protocol):
    """A provider that may take models which its `info` does not list: it has not heard yet which there are."""

    def takes_model(self, id: str) -> bool:
        """Whether a turn may name the model `id`. Without this method only what is listed may be named."""
        ...


class Transcript(NamedTuple):
    """A conversation that the agent has on disk and this host did not run. Times are UTC, ISO 8601."""

    id: str
    """The agent's own; opaque."""
    title: str
    directory: str | None
    modified_at: str
    turns: int | None = None


class Adopted(NamedTuple):
    """What a transcript says: its turns, oldest first, and the backing with which the next turn goes on in it."""

    turns: Sequence[Turn]
    backing: Backing


@runtime_checkable
class Adopting(Protocol):
    """A provider that can go on with what its agent has on disk. Reading changes nothing there."""

    async def transcripts(self, directory: str | None) -> Sequence[Transcript]:
        """Newest first; of one local directory, or all. Raises ProviderError."""
        ...

    async def read_transcript(self, id: str, directory: str | None) -> Adopted:
        """Raises ProviderError when there is none of that id."""
        ...


@runtime_checkable
class TokenTaking(Protocol):
    """A provider whose `info` names `protectedResources` and which takes tokens for them (AHP §8)."""

    async def take_token(self, resource: str, token: str | None) -> None:
        """Use the token for sessions that start from now on, in memory only; None forgets it. Raises ProviderError when
        it is of no use."""
        ...


class Inspection(NamedTuple):
    """What is installed of an agent (M7.8): versions by name, whether that combination was tested, and what of the
    calls that are needed it does not have."""

    versions: Mapping[str, str]
    tested: bool
    lacking: Sequence[str] = ()


@runtime_checkable
class Inspecting(Protocol):
    """A provider that says what is installed, for `innkeeper doctor`."""

    def inspect(self) -> Inspection:
        """May import an SDK and blocks for that; starts nothing. Called only where nothing is missing."""
        ...


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a provider that drives a process is constructed with: `provider(surroundings)` of its package."""

    gateway: McpGateway
    endpoints: McpEndpoints
    processes: Processes
    clock: Clock
    ids: Ids
    environment: Mapping[str, str] = field(repr=False)
    """The host's own, unscrubbed: a provider copies what its agent needs and nothing else."""
    directory: Path
    """A folder for this provider alone (made when needed): the agents' own configuration and what is cached."""
    share_login: bool = False
    """The operator wants the agent to use their own configuration directory, with its login."""
    program: str | None = None
    """The operator's choice of the agent's binary, instead of the one that comes with the extra."""
    question_seconds: float = 600.0
    """How long a question to a person may stay open: an agent's own limit for a call has to be above it (M6.4b)."""
