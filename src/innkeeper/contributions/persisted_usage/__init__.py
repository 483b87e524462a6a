"""What turns used is kept: in the turns, which are in the log, and as the session's total (K17).

Rules
* An agent's transcript forgets usage: what the host logged of a turn is put back into the turns that are read from one,
  member by member, and what was logged wins. Anything logged that is no usage is ignored.
* The total counts the last report of each turn, of subagents too, and survives truncation: it is what was paid for. It
  is the session's `_meta[TOTAL]`, with the members of AHP's usage that are counts, and what each chat's latest turn has
  reported so far: a turn that goes on, also in another process, is not counted twice.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from innkeeper.contributions.spi import Context, Contribution, DispatchedAction, Hydration, Turn, Watch
from innkeeper.ports.contributed import Channels

TOTAL: Final = "x-innkeeper/usage"
COUNTS: Final = ("inputTokens", "outputTokens", "cacheReadTokens")


class PersistedUsage(Contribution):
    """`persistedTurnUsage`."""

    id = "persistedTurnUsage"
    order = 100
    watch = Watch(frozenset({"chat/usage"}), frozenset({"chat"}))

    def __init__(self, context: Context, channels: Channels) -> None:
        self._channels = channels

    def on_did_dispatch_action(self, dispatched: DispatchedAction) -> None:
        action, session = dispatched.action, self._channels.head(dispatched.session)
        if dispatched.rejection is not None or session is None:
            return
        meta = session.get("_meta") or {}
        total = meta.get(TOTAL) or {}
        last = (total.get("last") or {}).get(dispatched.channel) or {}
        before = last if last.get("turnId") == action["turnId"] else {}
        more = {name: _count(action["usage"], name) - _count(before, name) for name in COUNTS}
        if not any(more.values()):
            return
        counted = {name: _count(total, name) + more[name] for name in COUNTS}
        there = {chat.get("resource") for chat in session.get("chats") or ()}
        others = {chat: one for chat, one in (total.get("last") or {}).items() if chat in there}
        reported = {name: _count(action["usage"], name) for name in COUNTS}
        latest = {**others, dispatched.channel: {"turnId": action["turnId"], **reported}}
        told = {**meta, TOTAL: {**counted, "last": latest}}
        self._channels.dispatch(dispatched.session, {"type": "session/metaChanged", "_meta": told})

    def on_hydrate_turns(self, of: Hydration, turns: Sequence[Turn]) -> Sequence[Turn]:
        logged = {turn["id"]: turn.get("usage") for turn in of.logged}
        if all(logged.get(turn["id"]) is None for turn in turns):
            return turns
        return [_with_usage(turn, logged.get(turn["id"])) for turn in turns]


def _with_usage(turn: Turn, logged: object) -> Turn:
    if not isinstance(logged, Mapping):
        return turn
    given: Mapping[str, Any] = turn.get("usage") or {}
    merged: dict[str, Any] = {**given, **logged}
    if "_meta" in given or "_meta" in logged:
        merged["_meta"] = {**(given.get("_meta") or {}), **(logged.get("_meta") or {})}
    return {**turn, "usage": merged}  # type: ignore[typeddict-item]  # a usage of members that are one each


def _count(usage: Mapping[str, Any], name: str) -> int:
    value = usage.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
