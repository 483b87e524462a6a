"""What the list of sessions shows of each: group, mark, words. Pure.

Rules
* Groups in their order: Needs you, Today, This week, Older; one with nothing is not shown. Archived sessions are shown
  only where they are asked for.
* The mark never stands alone: its word is in the row's name.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, NamedTuple

from innkeeper.protocol.status import ERROR, IN_PROGRESS, IS_ARCHIVED, IS_READ, WAITING_BIT
from innkeeper.web.names import folder, workspace

Mark = Literal["running", "needs", "done", "idle", "error"]
Group = Literal["needs", "today", "week", "older", "archived", "found"]


class Row(NamedTuple):
    """One session, as it is shown. `modified` is UTC, ISO 8601."""

    uri: str
    title: str
    mark: Mark
    unread: bool
    questions: int
    where: str
    agent: str
    modified: str
    archived: bool
    activity: str
    group: Group


def mark_of(summary: Mapping[str, Any]) -> Mark:
    """The mark of a summary."""
    status = int(summary.get("status") or 0)
    if status & WAITING_BIT:
        return "needs"
    if status & IN_PROGRESS:
        return "running"
    if status & ERROR:
        return "error"
    return "idle" if status & IS_READ else "done"


def rows(
    summaries: Iterable[Mapping[str, Any]],
    *,
    agents: Mapping[str, str],
    home: str | None,
    now: datetime,
    query: str = "",
    archived: bool = False,
) -> list[Row]:
    """The rows by group; `agents` are display names, `query` words that title, folder and agent must have."""
    words = query.casefold().split()
    found: list[Row] = []
    for summary in summaries:
        row = _row(summary, agents, home, now, searching=bool(words), archived=archived)
        text = f"{row.title} {row.where} {row.agent}".casefold()
        if row.archived == archived and all(word in text for word in words):
            found.append(row)
    order: Sequence[Group] = ("needs", "today", "week", "older", "archived", "found")
    return sorted(found, key=lambda row: order.index(row.group))


def _row(
    summary: Mapping[str, Any],
    agents: Mapping[str, str],
    home: str | None,
    now: datetime,
    *,
    searching: bool,
    archived: bool,
) -> Row:
    status = int(summary.get("status") or 0)
    mark = mark_of(summary)
    where = workspace(summary)
    waiting = [chat for chat in summary.get("chats") or () if int(chat.get("status") or 0) & WAITING_BIT]
    modified = str(summary.get("modifiedAt") or "")
    group: Group = "archived" if archived else "found" if searching else _group(mark, modified, now)
    return Row(
        uri=str(summary["resource"]),
        title=str(summary.get("title") or ""),
        mark=mark,
        unread=not status & IS_READ and mark != "running",
        questions=max(len(waiting), 1) if mark == "needs" else 0,
        where=folder(where, home) if where else "",
        agent=agents.get(str(summary.get("provider")), str(summary.get("provider") or "")),
        modified=modified,
        archived=bool(status & IS_ARCHIVED),
        activity=str(summary.get("activity") or ""),
        group=group,
    )


def _group(mark: Mark, modified: str, now: datetime) -> Group:
    if mark == "needs":
        return "needs"
    try:
        age = now - datetime.fromisoformat(modified).astimezone(UTC)
    except ValueError:
        return "older"
    if age < timedelta(hours=24):
        return "today"
    return "week" if age < timedelta(days=7) else "older"
