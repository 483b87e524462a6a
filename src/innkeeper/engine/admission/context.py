"""What the validation table may look at besides the channel's own state."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from innkeeper.engine.effects import JsonObject

_NONE: JsonObject = {}


@dataclass(frozen=True, slots=True)
class Context:
    client_id: str
    session: JsonObject = field(default_factory=lambda: _NONE)
    """Head state of the session (of a chat's owner); empty where there is none."""
    agent: JsonObject = field(default_factory=lambda: _NONE)
    """The session's `AgentInfo` in the root state; empty where it is not listed."""

    def capability(self, name: str) -> JsonObject | None:
        """The agent's capability object, or None when it does not declare it (absence means no, AHP §13)."""
        capabilities = self.agent.get("capabilities")
        value = capabilities.get(name) if isinstance(capabilities, Mapping) else None
        return value if isinstance(value, Mapping) else None
