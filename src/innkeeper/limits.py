"""Every default and limit, once, with its unit and reason; `docs/reference/limits.md` is generated from `LIMITS`.

Rules kept here:

* Constants are plain numbers. `wire` and `engine` take them as arguments; everything above `protocol` may import them.
* A limit has one name here and, unless it is one of `FIXED`, one key in the configuration (`limits.<name>`).
* Nothing of ours is imported.
"""

from dataclasses import dataclass
from typing import Final, Literal

KIB: Final = 1024
MIB: Final = 1024 * KIB

Unit = Literal["bytes", "levels", "s", "count", "days", "envelopes", "rounds", "characters"]
Area = Literal[
    "message", "connection", "request", "history", "storage", "turn", "declaration", "server", "git", "terminal"
]


@dataclass(frozen=True, slots=True)
class Limit:
    """One default or limit as the reference page shows it."""

    name: str
    value: float
    unit: Unit
    area: Area
    reason: str


MESSAGE_BYTES: Final = 16 * MIB
MESSAGE_DEPTH: Final = 128

CONNECTIONS: Final = 256
OUTBOX_BYTES: Final = 8 * MIB
HANDSHAKE_SECONDS: Final = 10.0
CLIENT_GRACE_SECONDS: Final = 30.0
CHAT_IDLE_SECONDS: Final = 600.0
RESIDENT_SESSIONS: Final = 10
RESIDENCY_REST_SECONDS: Final = 5.0
RESIDENCY_RETRY_SECONDS: Final = 30.0
DRAFT_SECONDS: Final = 30.0
SHUTDOWN_SECONDS: Final = 3.0

CLIENT_REQUEST_SECONDS: Final = 30.0
SESSION_PAGE: Final = 100
SESSION_PAGE_MAX: Final = 500
TURN_PAGE: Final = 50
TURN_PAGE_MAX: Final = 500

SNAPSHOT_EVERY_ENVELOPES: Final = 256
REPLAY_ENVELOPES: Final = 20_000
REPLAY_BYTES: Final = 32 * MIB

SEQUENCE_BLOCK: Final = 4_096
DECISIONS: Final = 10_000
ORPHAN_DAYS: Final = 180

CONTRIBUTION_STAGE_SECONDS: Final = 10.0
QUESTION_SECONDS: Final = 600.0
APPROVAL_COMMAND_CHARACTERS: Final = 10_000
APPROVAL_COMMANDS: Final = 50
APPROVAL_PATTERN_FILES: Final = 500
QUEUED_MESSAGES: Final = 100
EARLY_SIGNALS: Final = 1_000
SUBAGENT_START_SECONDS: Final = 30.0
BACKING_BYTES: Final = 16 * KIB
ATTACHMENT_BYTES: Final = 8 * MIB
ATTACHMENTS_BYTES: Final = 32 * MIB
ATTACHMENTS_AT_ONCE: Final = 4
ATTACHMENT_SECONDS: Final = 10.0
ATTACHED_CHARACTERS: Final = 20_000
EMBEDDED_CHARACTERS: Final = 200_000
TITLE_CHARACTERS: Final = 60
TITLE_SOURCE_CHARACTERS: Final = 20_000
SUMMARY_DELAY_SECONDS: Final = 0.1
AGENT_CLOSE_SECONDS: Final = 2.0

DECLARATION_BYTES: Final = 1 * MIB
DECLARATION_ENTRIES: Final = 32
DECLARATION_DEPTH: Final = 64
DIAGNOSTICS: Final = 100
DIAGNOSTIC_CHARACTERS: Final = 200

SERVER_START_SECONDS: Final = 15.0
SERVER_END_OF_INPUT_SECONDS: Final = 0.5
SERVER_TERMINATE_SECONDS: Final = 1.0
SERVER_STDERR_BYTES: Final = 64 * KIB

CHANGESET_FILES: Final = 2_000
CHANGESET_DELAY_SECONDS: Final = 5.0
SUBMODULES: Final = 20
EDIT_BYTES: Final = 4 * MIB
CONTENT_BYTES: Final = 8 * MIB

GIT_SECONDS: Final = 30.0
GIT_CHECKOUT_SECONDS: Final = 300.0
BRANCH_HINT_SECONDS: Final = 5.0

TERMINALS: Final = 100
TERMINAL_CHARACTERS: Final = 100_000
TERMINAL_KEPT_CHARACTERS: Final = 80_000
TERMINAL_FLUSH_SECONDS: Final = 0.02
TERMINAL_FLOOD_SECONDS: Final = 0.2
TERMINAL_READY_SECONDS: Final = 10.0
LOCAL_COMMAND_SECONDS: Final = 120.0


LIMITS: Final[tuple[Limit, ...]] = (
    Limit("MESSAGE_BYTES", MESSAGE_BYTES, "bytes", "message", "One frame from a peer; larger content is a resource."),
    Limit("MESSAGE_DEPTH", MESSAGE_DEPTH, "levels", "message", "Real messages stay below 20; deeper ones are attacks."),
    Limit("CONNECTIONS", CONNECTIONS, "count", "connection", "One person's clients, with room for leaks to be seen."),
    Limit(
        "OUTBOX_BYTES",
        OUTBOX_BYTES,
        "bytes",
        "connection",
        "What may wait for a slow client; beyond it the client is resynchronised or closed, never waited for.",
    ),
    Limit("HANDSHAKE_SECONDS", HANDSHAKE_SECONDS, "s", "connection", "An open socket that says nothing is closed."),
    Limit(
        "CLIENT_GRACE_SECONDS",
        CLIENT_GRACE_SECONDS,
        "s",
        "connection",
        "How long a lost client stays an active client; then its running tool calls fail.",
    ),
    Limit(
        "CHAT_IDLE_SECONDS",
        CHAT_IDLE_SECONDS,
        "s",
        "history",
        "How long a chat that nobody looks at, and in which nothing runs, stays in memory.",
    ),
    Limit(
        "RESIDENT_SESSIONS",
        RESIDENT_SESSIONS,
        "count",
        "history",
        "Idle sessions that stay in memory with their agent and servers, beside those that somebody looks at.",
    ),
    Limit(
        "RESIDENCY_REST_SECONDS",
        RESIDENCY_REST_SECONDS,
        "s",
        "history",
        "How long an idle session stays at least after it was used, so that what follows an end finds it there.",
    ),
    Limit(
        "RESIDENCY_RETRY_SECONDS",
        RESIDENCY_RETRY_SECONDS,
        "s",
        "history",
        "A session that could not leave memory is tried again at the latest after this.",
    ),
    Limit(
        "DRAFT_SECONDS",
        DRAFT_SECONDS,
        "s",
        "history",
        "A session that a window opened and nobody used is gone so long after its last subscriber.",
    ),
    Limit("SHUTDOWN_SECONDS", SHUTDOWN_SECONDS, "s", "connection", "Flush, close 1012 and exit within this time."),
    Limit("CLIENT_REQUEST_SECONDS", CLIENT_REQUEST_SECONDS, "s", "request", "A request from the host to a client."),
    Limit("SESSION_PAGE", SESSION_PAGE, "count", "request", "`listSessions` without a limit."),
    Limit("SESSION_PAGE_MAX", SESSION_PAGE_MAX, "count", "request", "The largest page of `listSessions`."),
    Limit("TURN_PAGE", TURN_PAGE, "count", "request", "`fetchTurns` without a limit."),
    Limit("TURN_PAGE_MAX", TURN_PAGE_MAX, "count", "request", "The largest page of `fetchTurns`."),
    Limit(
        "SNAPSHOT_EVERY_ENVELOPES",
        SNAPSHOT_EVERY_ENVELOPES,
        "envelopes",
        "history",
        "A channel is folded after this many, so that a restart reads a short tail.",
    ),
    Limit("REPLAY_ENVELOPES", REPLAY_ENVELOPES, "envelopes", "history", "Kept for clients that reconnect."),
    Limit("REPLAY_BYTES", REPLAY_BYTES, "bytes", "history", "The same, by size; whichever is reached first."),
    Limit(
        "SEQUENCE_BLOCK",
        SEQUENCE_BLOCK,
        "count",
        "history",
        "`serverSeq` numbers reserved durably at once, so that a crash never reuses one.",
    ),
    Limit("DECISIONS", DECISIONS, "count", "storage", "Stored decisions; above it a new one is refused with a reason."),
    Limit("ORPHAN_DAYS", ORPHAN_DAYS, "days", "storage", "A decision whose target is gone is kept this long."),
    Limit(
        "CONTRIBUTION_STAGE_SECONDS",
        CONTRIBUTION_STAGE_SECONDS,
        "s",
        "turn",
        "One asynchronous stage of one contribution; then it is skipped and logged.",
    ),
    Limit(
        "QUESTION_SECONDS",
        QUESTION_SECONDS,
        "s",
        "turn",
        "A question to a person; unanswered means deny, so that no call hangs.",
    ),
    Limit(
        "APPROVAL_COMMAND_CHARACTERS",
        APPROVAL_COMMAND_CHARACTERS,
        "characters",
        "turn",
        "A command line that is judged by the approval rules; a longer one is asked about.",
    ),
    Limit(
        "APPROVAL_COMMANDS", APPROVAL_COMMANDS, "count", "turn", "Commands in such a line; with more it is asked about."
    ),
    Limit(
        "APPROVAL_PATTERN_FILES",
        APPROVAL_PATTERN_FILES,
        "count",
        "turn",
        "Files that a pattern in such a line may stand for; with more it is asked about.",
    ),
    Limit("QUEUED_MESSAGES", QUEUED_MESSAGES, "count", "turn", "Messages that wait in one chat."),
    Limit(
        "EARLY_SIGNALS", EARLY_SIGNALS, "count", "turn", "What a subagent may say before it is known to have started."
    ),
    Limit(
        "SUBAGENT_START_SECONDS",
        SUBAGENT_START_SECONDS,
        "s",
        "turn",
        "A question of a subagent whose start was not told is denied after so long, so that its agent goes on.",
    ),
    Limit(
        "BACKING_BYTES",
        BACKING_BYTES,
        "bytes",
        "turn",
        "What an agent keeps about one chat for after a restart; larger is not kept.",
    ),
    Limit("ATTACHMENT_BYTES", ATTACHMENT_BYTES, "bytes", "turn", "One attachment that is fetched from its client."),
    Limit("ATTACHMENTS_BYTES", ATTACHMENTS_BYTES, "bytes", "turn", "All that are fetched for one message."),
    Limit(
        "ATTACHMENTS_AT_ONCE", ATTACHMENTS_AT_ONCE, "count", "turn", "Of one message; a silent client costs one wait."
    ),
    Limit("ATTACHMENT_SECONDS", ATTACHMENT_SECONDS, "s", "turn", "For one answer of the client that attached it."),
    Limit("ATTACHED_CHARACTERS", ATTACHED_CHARACTERS, "characters", "turn", "An attached conversation, newest turns."),
    Limit("EMBEDDED_CHARACTERS", EMBEDDED_CHARACTERS, "characters", "turn", "Embedded text; longer goes as a file."),
    Limit("TITLE_CHARACTERS", TITLE_CHARACTERS, "characters", "turn", "A title made of the first words of a message."),
    Limit(
        "TITLE_SOURCE_CHARACTERS",
        TITLE_SOURCE_CHARACTERS,
        "characters",
        "turn",
        "What an agent is shown of a first turn when it is asked for a title.",
    ),
    Limit(
        "SUMMARY_DELAY_SECONDS",
        SUMMARY_DELAY_SECONDS,
        "s",
        "turn",
        "Changes of a session's summary are collected so long, so that a busy turn is one notification.",
    ),
    Limit(
        "AGENT_CLOSE_SECONDS", AGENT_CLOSE_SECONDS, "s", "turn", "The end of a turn, an agent or a session's servers."
    ),
    Limit("DECLARATION_BYTES", DECLARATION_BYTES, "bytes", "declaration", "One declaration file."),
    Limit("DECLARATION_ENTRIES", DECLARATION_ENTRIES, "count", "declaration", "Servers checked in one workspace."),
    Limit("DECLARATION_DEPTH", DECLARATION_DEPTH, "levels", "declaration", "Nesting of one declaration file."),
    Limit("DIAGNOSTICS", DIAGNOSTICS, "count", "declaration", "Diagnostics of one workspace; the rest is a number."),
    Limit("DIAGNOSTIC_CHARACTERS", DIAGNOSTIC_CHARACTERS, "characters", "declaration", "One diagnostic."),
    Limit("SERVER_START_SECONDS", SERVER_START_SECONDS, "s", "server", "From start to initialised, unless declared."),
    Limit("SERVER_END_OF_INPUT_SECONDS", SERVER_END_OF_INPUT_SECONDS, "s", "server", "Between end of input and TERM."),
    Limit("SERVER_TERMINATE_SECONDS", SERVER_TERMINATE_SECONDS, "s", "server", "Between TERM and KILL."),
    Limit("SERVER_STDERR_BYTES", SERVER_STDERR_BYTES, "bytes", "server", "The tail kept in memory, never logged."),
    Limit("CHANGESET_FILES", CHANGESET_FILES, "count", "git", "Files shown in one changeset; the rest is a number."),
    Limit("SUBMODULES", SUBMODULES, "count", "git", "Submodules of a repository whose files are in changesets."),
    Limit(
        "CHANGESET_DELAY_SECONDS",
        CHANGESET_DELAY_SECONDS,
        "s",
        "git",
        "While a turn runs its tool calls are collected so long before the changesets are computed again.",
    ),
    Limit(
        "EDIT_BYTES", EDIT_BYTES, "bytes", "git", "A file whose content is kept when a tool reports that it changed it."
    ),
    Limit("CONTENT_BYTES", CONTENT_BYTES, "bytes", "git", "A file's content read by `resourceRead`."),
    Limit("GIT_SECONDS", GIT_SECONDS, "s", "git", "One git command that reads, snapshots or moves a ref."),
    Limit(
        "GIT_CHECKOUT_SECONDS",
        GIT_CHECKOUT_SECONDS,
        "s",
        "git",
        "One git command that writes files or runs the user's hooks: worktree, checkout, commit.",
    ),
    Limit(
        "BRANCH_HINT_SECONDS",
        BRANCH_HINT_SECONDS,
        "s",
        "git",
        "What a first turn waits for an agent to name the branch of its worktree; then its first words do.",
    ),
    Limit("TERMINALS", TERMINALS, "count", "terminal", "Terminals whose shell runs; a further one is refused."),
    Limit(
        "TERMINAL_CHARACTERS",
        TERMINAL_CHARACTERS,
        "characters",
        "terminal",
        "The content of a terminal; beyond it the older part goes.",
    ),
    Limit("TERMINAL_KEPT_CHARACTERS", TERMINAL_KEPT_CHARACTERS, "characters", "terminal", "What stays of it then."),
    Limit(
        "TERMINAL_FLUSH_SECONDS",
        TERMINAL_FLUSH_SECONDS,
        "s",
        "terminal",
        "Output is collected so long, so that a busy program is few envelopes.",
    ),
    Limit(
        "TERMINAL_FLOOD_SECONDS", TERMINAL_FLOOD_SECONDS, "s", "terminal", "The same while the content has to be cut."
    ),
    Limit(
        "TERMINAL_READY_SECONDS",
        TERMINAL_READY_SECONDS,
        "s",
        "terminal",
        "How long a new shell may read its start-up files before a command is typed all the same.",
    ),
    Limit(
        "LOCAL_COMMAND_SECONDS",
        LOCAL_COMMAND_SECONDS,
        "s",
        "terminal",
        "How long a turn waits for a `!command`; the command goes on in its terminal.",
    ),
)


FIXED: Final = frozenset(
    {
        "TERMINALS",
        "TERMINAL_CHARACTERS",
        "TERMINAL_KEPT_CHARACTERS",
        "TERMINAL_FLUSH_SECONDS",
        "TERMINAL_FLOOD_SECONDS",
        "TERMINAL_READY_SECONDS",
        "LOCAL_COMMAND_SECONDS",
        "SHUTDOWN_SECONDS",
        "RESIDENCY_REST_SECONDS",
        "RESIDENCY_RETRY_SECONDS",
        "DRAFT_SECONDS",
        "CLIENT_REQUEST_SECONDS",
        "SESSION_PAGE",
        "SESSION_PAGE_MAX",
        "TURN_PAGE_MAX",
        "ORPHAN_DAYS",
        "CONTRIBUTION_STAGE_SECONDS",
        "QUESTION_SECONDS",
        "APPROVAL_COMMAND_CHARACTERS",
        "APPROVAL_COMMANDS",
        "APPROVAL_PATTERN_FILES",
        "QUEUED_MESSAGES",
        "EARLY_SIGNALS",
        "SUBAGENT_START_SECONDS",
        "BACKING_BYTES",
        "ATTACHMENT_BYTES",
        "ATTACHMENTS_BYTES",
        "ATTACHMENTS_AT_ONCE",
        "ATTACHMENT_SECONDS",
        "ATTACHED_CHARACTERS",
        "EMBEDDED_CHARACTERS",
        "TITLE_CHARACTERS",
        "TITLE_SOURCE_CHARACTERS",
        "SUMMARY_DELAY_SECONDS",
        "AGENT_CLOSE_SECONDS",
        "CHANGESET_FILES",
        "SUBMODULES",
        "CHANGESET_DELAY_SECONDS",
        "EDIT_BYTES",
        "CONTENT_BYTES",
        "DECLARATION_DEPTH",
        "DIAGNOSTIC_CHARACTERS",
        "SERVER_END_OF_INPUT_SECONDS",
        "SERVER_TERMINATE_SECONDS",
        "BRANCH_HINT_SECONDS",
        "SERVER_STDERR_BYTES",
    }
)
"""Part of what the host does; no configuration changes them. The time for a question is the setting `gate_timeout`."""
