"""`worktreeAnnouncement`: the branch line of a worktree session (reference §3.9, C30, C31), by the real dispatcher."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from innkeeper.contributions.dispatch import Dispatcher, Registry, Services
from innkeeper.contributions.dispatch.mementos import Mementos
from innkeeper.contributions.spi import Hydration
from innkeeper.contributions.worktree_announcement import WorktreeAnnouncement
from innkeeper.ports.contributed import Channels
from innkeeper.ports.worktrees import NoWorktrees, WorktreeIsolation
from innkeeper.protocol.chat.state import Turn
from innkeeper.protocol.check import check

pytestmark = pytest.mark.anyio

LINE = "### Worktree on branch `agents/topic`"
DEFAULT = Hydration("s:/1", "c:/1", "transcript")


class OneWorktree(NoWorktrees):
    def branch(self, session: str) -> str | None:
        return "agents/topic" if session == "s:/1" else None


class TwoChats:
    """Each session has a default chat of its own number."""

    def head(self, channel: str) -> Mapping[str, Any] | None:
        return {"defaultChat": channel.replace("s:", "c:")}


def turn(*parts: Mapping[str, Any], id: str = "t1") -> Any:
    message = {"text": "hi", "origin": {"kind": "user"}}
    return {"id": id, "message": message, "state": "complete", "responseParts": list(parts), "usage": None}


def markdown(content: str, id: str = "m") -> Mapping[str, Any]:
    return {"kind": "markdown", "id": id, "content": content}


async def hydrated(turns: Sequence[Any], of: Hydration = DEFAULT) -> Sequence[Any]:
    services = Services({WorktreeIsolation: OneWorktree(), Channels: TwoChats()})
    registry = Registry(services, Mementos(lambda chat: "s:/1"))
    registry.register(WorktreeAnnouncement)
    return await Dispatcher(registry).hydrate_turns(of, turns)


async def test_c30_the_first_answer_begins_with_the_branch_line_and_a_blank_one() -> None:
    reasoning = {"kind": "reasoning", "id": "r", "content": "thinking"}
    turns = [turn(reasoning, markdown("Hello.", "a"), markdown("More.", "b")), turn(markdown("Second."), id="t2")]
    first, second = await hydrated(turns)
    assert [part["content"] for part in first["responseParts"]] == ["thinking", f"{LINE}\n\nHello.", "More."]
    assert second == turns[1]
    assert turns[0]["responseParts"][1]["content"] == "Hello."
    check(Turn, first, "turn")


async def test_c30_only_once_however_often_it_is_restored() -> None:
    once = await hydrated([turn(markdown("Hello."))])
    assert await hydrated(once) == once
    live = [turn(markdown(f"{LINE}\n\n", "live"), markdown("Hello."))]
    assert await hydrated(live) == live


async def test_c30_no_other_chat_and_no_session_without_a_worktree() -> None:
    turns = [turn(markdown("Hello."))]
    assert await hydrated(turns, Hydration("s:/1", "c:/peer", "transcript")) == turns
    assert await hydrated(turns, Hydration("s:/2", "c:/2", "transcript")) == turns
    assert await hydrated([]) == []


async def test_c31_without_a_text_part_a_new_one_comes_first() -> None:
    call = {"kind": "toolCall", "toolCall": {"id": "x"}}
    (first,) = await hydrated([turn(call)])
    assert [part["kind"] for part in first["responseParts"]] == ["markdown", "toolCall"]
    assert first["responseParts"][0]["content"] == f"{LINE}\n\n"
    (first,) = await hydrated([turn()])
    assert [part["content"] for part in first["responseParts"]] == [f"{LINE}\n\n"]
