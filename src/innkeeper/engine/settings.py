"""What the engine is told at its start; all of it is fixed for the life of the process."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class HubSettings:
    server_name: str = "innkeeper"
    server_title: str = "Innkeeper"
    server_version: str = ""
    default_directory: str | None = None
    """URI offered to clients as the first place to work in."""
    sequence_block: int = 4_096
    fold_envelopes: int = 256
    replay_envelopes: int = 20_000
    replay_bytes: int = 32 * 1024 * 1024
    turn_page: int = 50
    max_latency_ms: int = 1_000
    """The most that a subscription may ask deltas to be held back."""
    completion_triggers: tuple[str, ...] = ()
    """After which characters a client asks for completions."""
    command_prefix: str | None = None
    """With what a message begins that is a command for a terminal."""
    meta: Mapping[str, Any] = field(default_factory=dict)
    """`_meta` of the answer to `initialize`; own keys are `x-innkeeper/…` (architecture §6)."""
