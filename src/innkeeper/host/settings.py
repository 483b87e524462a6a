"""What the host is told at its start."""

from dataclasses import dataclass

from innkeeper.limits import (
    AGENT_CLOSE_SECONDS,
    CLIENT_GRACE_SECONDS,
    DRAFT_SECONDS,
    QUESTION_SECONDS,
    RESIDENCY_REST_SECONDS,
    RESIDENT_SESSIONS,
    SUBAGENT_START_SECONDS,
    SUMMARY_DELAY_SECONDS,
)


@dataclass(frozen=True, slots=True)
class HostSettings:
    """Times in seconds."""

    version: str = ""
    directory: str | None = None
    """Where the host was started: one of the places whose folders are shown for a new session."""
    default_provider: str | None = None
    """The agent of a session that names none; the first provider when None."""
    full_access: bool = False
    """The operator's `access: full`: tools run without asking (M6.3b)."""
    denied_tools: frozenset[str] = frozenset()
    """Names of tools as agents see them, denied by who embeds the host: nobody's allow is stronger (M6.8). There is no
    key for it in `config.toml`; a session denies by `permissions.deny` of its configuration."""
    language: str | None = None
    """The operator's `language`, for clients that state none (M9.4)."""
    grace: float = CLIENT_GRACE_SECONDS
    questions: bool = True
    """Whether the gate can ask people; told in `status` (M6.3)."""
    question_timeout: float = QUESTION_SECONDS
    """How long a person or a client is waited for inside a turn."""
    subagent_start: float = SUBAGENT_START_SECONDS
    """How long a question of a subagent waits for its start, before it is denied."""
    summary_delay: float = SUMMARY_DELAY_SECONDS
    """How long changes of a session's summary are collected before the session list is told."""
    resident_sessions: int = RESIDENT_SESSIONS
    """Idle sessions that stay in memory."""
    rest_seconds: float = RESIDENCY_REST_SECONDS
    """How long an idle session stays in memory at least after it was used."""
    draft_seconds: float = DRAFT_SECONDS
    """How long a session that nobody used outlives its last subscriber."""
    close_timeout: float = AGENT_CLOSE_SECONDS
    """How long the end of turns, agents and servers is waited for when the host ends."""
