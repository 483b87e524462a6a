"""What a local command adds to its turn, in the terms of an agent's signals (K13)."""

from collections.abc import Sequence

from innkeeper.host.output import Output
from innkeeper.ports.questions import Answer, Confirmation
from innkeeper.protocol.chat.state import ToolCallResult
from innkeeper.protocol.chat.tools import ToolResultContent
from innkeeper.providers.spi import TextDelta, ToolCompleted, ToolProgress, ToolStarted


class CommandOutput:
    """The `LocalOutput` of one turn."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._said = 0

    def say(self, markdown: str) -> None:
        self._said += 1
        self._output.emit(TextDelta(markdown, f"local-{self._said}"))

    def start_call(self, call: str, name: str, display_name: str) -> None:
        self._output.emit(ToolStarted(call, name, display_name))

    async def confirm(self, call: str, confirmation: Confirmation) -> Answer:
        return await self._output.confirm(call, confirmation)

    def progress(self, call: str, content: Sequence[ToolResultContent]) -> None:
        self._output.emit(ToolProgress(call, content))

    def complete(self, call: str, result: ToolCallResult) -> None:
        self._output.emit(ToolCompleted(call, result))
