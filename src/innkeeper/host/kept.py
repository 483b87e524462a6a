"""What providers keep about chats, durable with the session (K14, K17, providers.spi `Backing`).

Rules
* It is part of the session's state, `_meta[BACKINGS]`, by chat: in the log like everything else about the session, gone
  with it, and without what is gone from the session.
* Opaque and small: what is larger than `BACKING_BYTES` is not kept, because every write is an envelope.
* A fork or side chat is told the backing of the chat it came from and how many of that chat's turns it shares; turns
  of local commands are none of the agent's: one that it began at stands for the last before it. A fork that was taken
  back shares what it still has; nothing, and it is no branch any more.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from innkeeper.host.core import Core, act
from innkeeper.host.local_commands.words import known_to_agent
from innkeeper.host.views import State
from innkeeper.limits import BACKING_BYTES
from innkeeper.ports.contributed import BACKINGS
from innkeeper.providers.spi import Backing, Branch

log = logging.getLogger(__name__)


def keep(core: Core, session: str, chat: str, data: Backing) -> None:
    """Store what the provider reported for the chat."""
    state = core.head(session)
    if state is None or kept(state, chat) == data:
        return
    if len(json.dumps(data, default=str).encode()) > BACKING_BYTES:
        log.warning("what the agent of %s keeps about %s is too large and is not stored", session, chat)
        return
    meta: Mapping[str, Any] = state.get("_meta") or {}
    chats = {entry.get("resource") for entry in state.get("chats") or ()}
    others = {uri: one for uri, one in (meta.get(BACKINGS) or {}).items() if uri in chats and uri != chat}
    act(core, session, {"type": "session/metaChanged", "_meta": {**meta, BACKINGS: {**others, chat: dict(data)}}})


def kept(session: State | None, chat: str) -> Backing | None:
    """What was stored last for the chat."""
    found = (((session or {}).get("_meta") or {}).get(BACKINGS) or {}).get(chat)
    return found if isinstance(found, Mapping) else None


def branch(session: State, chat: State, source: State | None) -> Branch | None:
    """Where the chat came from, None where it did not come from one; `source` is that chat where it is still there."""
    origin: Mapping[str, Any] = chat.get("origin") or {}
    if origin.get("kind") not in ("fork", "sideChat"):
        return None
    turn_id = str(origin.get("turnId"))
    turns = (source or {}).get("turns") or ()
    ids = [turn.get("id") for turn in turns]
    begun = turns[: ids.index(turn_id) + 1] if turn_id in ids else ()
    shared = known_to_agent(begun)
    if origin["kind"] == "fork" and shared:
        shared = known_to_agent(_still_there(begun, chat.get("turns") or ()))
        if not shared:
            return None
    return Branch(kept(session, str(origin.get("chat"))), str(shared[-1]["id"]) if shared else turn_id, len(shared))


def _still_there(turns: Sequence[Any], copies: Sequence[Any]) -> list[Any]:
    """Those of a fork's source whose copies it still begins with: a copy differs by its id alone."""
    found = []
    for turn, copy in zip(turns, copies, strict=False):
        if (turn.get("message"), turn.get("startedAt")) != (copy.get("message"), copy.get("startedAt")):
            break
        found.append(turn)
    return found
