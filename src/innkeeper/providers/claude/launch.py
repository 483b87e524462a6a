"""How one process of the agent is started: the SDK's options (issue 6 §1, §5; C6.1).

Rules
* `setting_sources` is empty and `strict_mcp_config` is on: nothing is found by the agent itself, neither in the project
  nor in a home, so no file of theirs can start a server, allow a tool or run a command.
* No server is in the options: all come by one way, before the first message.
* What would go on without a conversation (timers, the agent's own worktrees) is not offered to the model.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from innkeeper.providers.claude.models import MODES
from innkeeper.providers.claude.permissions import Permissions

DISALLOWED: Final = ("CronCreate", "CronDelete", "CronList", "ScheduleWakeup", "EnterWorktree", "ExitWorktree")


@dataclass(frozen=True, slots=True)
class Launch:
    """One process: where it works, what it is handed, and where its conversation begins."""

    directories: Sequence[str]
    mode: str
    model: str | None
    plugins: Sequence[str]
    instructions: str | None
    """The file with the rules."""
    conversation: str
    resume: str | None = None
    at: str | None = None
    fork: bool = False


def agent_mode(values: Any) -> str:
    """The agent's mode for the session's configuration. Full access is the host's business (M6.3b): the agent goes on
    asking, and is answered at once."""
    if values.get("mode") == "plan":
        return "plan"
    chosen = values.get("permissionMode")
    return "default" if chosen not in MODES or chosen == "bypassPermissions" else str(chosen)


def conversation_options(launch: Launch, permissions: Permissions) -> Any:
    """The SDK's options for a conversation."""
    from claude_agent_sdk import ClaudeAgentOptions, HookMatcher

    extra: dict[str, str | None] = {}
    if launch.instructions is not None:
        extra["append-system-prompt-file"] = launch.instructions
    resumed = launch.resume is not None
    return ClaudeAgentOptions(
        cwd=launch.directories[0],
        add_dirs=list(launch.directories[1:]),
        # Without a snapshot: a conversation that goes on has the rules that hold now, not those it began with.
        system_prompt={"type": "preset", "preset": "claude_code", "snapshot": False},
        setting_sources=[],
        strict_mcp_config=True,
        mcp_servers={},
        plugins=[{"type": "local", "path": path} for path in launch.plugins],
        disallowed_tools=list(DISALLOWED),
        include_partial_messages=True,
        forward_subagent_text=True,
        permission_mode=launch.mode,  # type: ignore[arg-type]  # one of MODES
        model=launch.model,
        can_use_tool=permissions.ask,
        hooks={"PreToolUse": [HookMatcher(hooks=[permissions.before], on_failure="block")]},  # type: ignore[list-item]
        session_id=launch.conversation if not resumed or launch.fork else None,
        resume=launch.resume,
        resume_session_at=launch.at,
        fork_session=launch.fork,
        extra_args=extra,
    )


def completion_options(instructions: str, directory: str) -> Any:
    """The SDK's options for one answer without a conversation: no tools, nothing kept."""
    from claude_agent_sdk import ClaudeAgentOptions

    return ClaudeAgentOptions(
        cwd=directory,
        system_prompt=instructions,
        setting_sources=[],
        strict_mcp_config=True,
        tools=[],
        max_turns=1,
        model="haiku",
        extra_args={"no-session-persistence": None},
    )
