"""Names the branch of a session's worktree at the head of a conversation that enters the host (reference §3.9).

Rules
* Only the session's default chat, and only its first turn: a heading line and a blank line before the first text.
* The host says so itself, once, when it makes a worktree, and its log has that; an agent's own transcript does not.
  What names the branch already stays as it is.
"""

from collections.abc import Sequence
from typing import Any, Final

from innkeeper.contributions.spi import Context, Contribution, Hydration, Turn
from innkeeper.ports.contributed import Channels
from innkeeper.ports.worktrees import WorktreeIsolation
from innkeeper.texts import text

PART: Final = "worktree-announcement"


class WorktreeAnnouncement(Contribution):
    """`worktreeAnnouncement`."""

    id = "worktreeAnnouncement"
    order = 200

    def __init__(self, context: Context, worktrees: WorktreeIsolation, channels: Channels) -> None:
        self._worktrees = worktrees
        self._channels = channels

    def on_hydrate_turns(self, of: Hydration, turns: Sequence[Turn]) -> Sequence[Turn]:
        branch = self._worktrees.branch(of.session)
        session = self._channels.head(of.session) or {}
        if branch is None or not turns or session.get("defaultChat") != of.chat:
            return turns
        first: Any = turns[0]
        parts = list(first.get("responseParts") or ())
        line = text("worktree.announcement", branch=branch)
        place = next((index for index, part in enumerate(parts) if part["kind"] == "markdown"), None)
        if place is None:
            parts.insert(0, {"kind": "markdown", "id": PART, "content": f"{line}\n\n"})
        elif str(parts[place].get("content") or "").startswith(line):
            return turns
        else:
            parts[place] = {**parts[place], "content": f"{line}\n\n{parts[place].get('content') or ''}"}
        named: Any = {**first, "responseParts": parts}
        return [named, *turns[1:]]
