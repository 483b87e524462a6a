"""What turns and tool calls wait for, measured and never acted on (contributions K7)."""


class Turns:
    """The `TurnTracker` service."""

    def __init__(self) -> None:
        self._blocked: dict[str, frozenset[str]] = {}

    def blocked(self, chat: str, by: frozenset[str]) -> None:
        if by:
            self._blocked[chat] = by
        else:
            self._blocked.pop(chat, None)


class ToolCalls:
    """The `ToolCallTracker` service."""

    def __init__(self) -> None:
        self._waiting: set[tuple[str, str]] = set()

    def blocked(self, chat: str, tool_call_id: str, waiting: bool) -> None:
        key = (chat, tool_call_id)
        (self._waiting.add if waiting else self._waiting.discard)(key)
