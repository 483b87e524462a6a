"""Commands that the host itself runs when a message begins with them: `/rename`, `!command` (K13, AHP §9.2).

Rules
* A claim is decided synchronously, from the message and the state of its conversation, and changes nothing.
* A message that is not a user's own words (another chat's, an agent's) is never a command.
* Whoever calls `run` ends the turn, exactly once, when it returns: also after a command that failed or raised (T18).
* The text of a command goes to no agent.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from innkeeper.ports.questions import Answer, Confirmation
from innkeeper.protocol.chat.state import Message, ToolCallResult
from innkeeper.protocol.chat.tools import ToolResultContent
from innkeeper.protocol.common.state import ErrorInfo


class LocalRequest(NamedTuple):
    """A turn that asks to proceed."""

    session: str
    chat: str
    turn_id: str
    message: Message


class Claim(NamedTuple):
    """A local command's word on a message. `refused` says why it may not run here: in an archived or a read-only
    conversation (K13)."""

    command: str
    refused: ErrorInfo | None = None


class LocalOutput(Protocol):
    """What a command adds to its turn. Nothing blocks and nothing raises but a cancellation; after the end of the turn
    everything is ignored."""

    def say(self, markdown: str) -> None:
        """One more piece of Markdown in the answer."""
        ...

    def start_call(self, call: str, name: str, display_name: str) -> None:
        """A tool call of the host's own begins. `call` is unique in the chat."""
        ...

    async def confirm(self, call: str, confirmation: Confirmation) -> Answer:
        """Whether the started call may run, by the rules that hold for the tools of agents: configuration and approval
        rules first, then a person. On approval the call is running; a denial is already shown in it."""
        ...

    def progress(self, call: str, content: Sequence[ToolResultContent]) -> None:
        """What the running call shows so far, whole."""
        ...

    def complete(self, call: str, result: ToolCallResult) -> None: ...


class LocalCommands(Protocol):
    """The host's own commands: which messages are one, and running it."""

    def claims(self, request: LocalRequest) -> Claim | None:
        """The command that the message is; None leaves it to the agent. Never raises."""
        ...

    def prefixes(self) -> Sequence[str]:
        """With what messages begin that are commands, as far as a client may offer them while one is written."""
        ...

    async def run(self, request: LocalRequest, output: LocalOutput) -> None:
        """Run the claimed command to its end. Raises nothing but CancelledError: what goes wrong is said in the turn.
        The caller then ends the turn as complete, and never hands it to an agent."""
        ...


class NoLocalCommands:
    """A host without any."""

    def prefixes(self) -> Sequence[str]:
        return ()

    def claims(self, request: LocalRequest) -> Claim | None:
        return None

    async def run(self, request: LocalRequest, output: LocalOutput) -> None:
        return
