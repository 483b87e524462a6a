"""The host's word on client actions that the protocol allows (AHP §6, §9.7, §10.1). Pure: it reads head state.

Rules
* The engine has checked shape, direction, capability and the table of AHP §9.9 before; here is what only the host
  knows. A refusal is a sentence that a person can read.
* A toggle is the customizations' business: stored in the transaction of its echo, which carries the resolved set, or
  held until it can be decided (C2.3, C4.3, C8.1).
* Where an answer contradicts itself, an option that denies among approvals, it is refused: nothing is guessed (M6.4).
* Times of clients are believed as far as they can be: a turn begins now at the latest, and the time that a cancelled
  one took is the host's own where the client leaves it out.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from innkeeper.customizations.publishing import is_on
from innkeeper.engine.effects import Admission, Admit, JsonObject, Refuse
from innkeeper.engine.hub import Hub
from innkeeper.host.asking import signed
from innkeeper.host.customizations.toggles import Toggles
from innkeeper.host.summaries import moment
from innkeeper.host.terminals import policy as terminals
from innkeeper.host.views import active_turn, customization, find_turn, tool_call
from innkeeper.limits import QUEUED_MESSAGES
from innkeeper.protocol.status import is_archived

SIGNED = frozenset({"chat/turnStarted", "chat/pendingMessageSet", "chat/steeringMessageSet", "chat/draftChanged"})
"""Actions with a message, which is kept with its sender (K14)."""

Measured = Callable[[str], int | None]
"""Milliseconds that the turn of a chat has taken so far; None where none of this process runs."""

Check = Callable[[JsonObject, JsonObject, JsonObject], str | None]
"""(chat state, session state, action) -> reason to refuse, or None."""


class HostPolicy:
    """The engine's `Policy`. `join` gives it the toggles and the clock of the turns, which are built after the engine;
    until then toggles are refused."""

    def __init__(self) -> None:
        self._toggles: Toggles | None = None
        self._measured: Measured = lambda _chat: None

    def join(self, toggles: Toggles, measured: Measured) -> None:
        self._toggles, self._measured = toggles, measured

    def admit(self, view: Hub, channel: str, kind: str, action: JsonObject, client_id: str, now: str) -> Admission:
        state = view.head(channel) or {}
        if kind == "chat":
            return self._chat(view, channel, state, view.head(view.owner(channel) or "") or {}, action, client_id, now)
        if kind == "session":
            return self._session(channel, state, action, now)
        if kind == "terminal" and (why := terminals.refusal(state, action, view.owner)) is not None:
            return Refuse(why)
        return Admit(action)

    def _chat(
        self,
        view: Hub,
        channel: str,
        chat: JsonObject,
        session: JsonObject,
        action: JsonObject,
        client_id: str,
        now: str,
    ) -> Admission:
        check = CHAT_CHECKS.get(action["type"])
        why = None if check is None else check(chat, session, action)
        if why is None and action["type"] == "chat/turnStarted" and self._is_used(view, channel, action["turnId"]):
            why = "another chat of this session has a turn of that id; turn ids are unique in a session"
        if why is not None:
            return Refuse(why)
        if action["type"] == "chat/turnCancelled" and not action["duration"]:
            taken = self._measured(channel)
            return Admit({**action, "duration": _since_start(chat, now) if taken is None else taken})
        if action["type"] == "chat/turnStarted":
            action = {**action, "startedAt": _begun(action["startedAt"], now)}
        return Admit(signed(action, client_id) if action["type"] in SIGNED else action)

    def _is_used(self, view: Hub, channel: str, turn_id: str) -> bool:
        """Whether a sibling has a turn of that id; the prelude has brought the siblings into memory."""
        siblings = (uri for uri in view.owned_by(view.owner(channel) or "") if uri != channel)
        return any(find_turn(view.head(uri) or {}, turn_id) is not None for uri in siblings)

    def _session(self, uri: str, session: JsonObject, action: JsonObject, now: str) -> Admission:
        match action["type"]:
            case "session/customizationToggled":
                return self._toggle(uri, action, now)
            case "session/mcpServerStartRequested":
                entry = customization(session, action["id"]) or {}
                if not is_on(entry):
                    return Refuse(f"{entry.get('name', action['id'])} is switched off here; switch it on first")
            case "session/workingDirectoryReplaced":
                return Refuse("the working directory of a running session cannot be replaced")
            case "session/workingDirectorySet" | "session/workingDirectoryRemoved" if active_turns(session):
                return Refuse("a turn is in progress; the working directories can be changed when it has ended")
        return Admit(action)

    def _toggle(self, uri: str, action: JsonObject, now: str) -> Admission:
        if self._toggles is None:
            return Refuse("the host is starting; try again")
        return self._toggles.admit(uri, action, now)


def active_turns(session: JsonObject) -> bool:
    return any(int(chat.get("status") or 0) & 8 for chat in session.get("chats") or ())


def _since_start(chat: JsonObject, now: str) -> int:
    turn = active_turn(chat) or {}
    return max(0, round((moment(now) - moment(turn.get("startedAt", now))) * 1000))


def _begun(given: object, now: str) -> object:
    """When the turn began, as its client has it; what is no time, or in the future, is now: it would order the list of
    sessions by a clock that is wrong."""
    return given if 0 < moment(given) <= moment(now) else now


def _has_started(session: JsonObject) -> str | None:
    if session.get("lifecycle") != "failed":
        return None
    return f"the session could not be created: {(session.get('creationError') or {}).get('message', '')}"


def _takes_turns(chat: JsonObject, session: JsonObject, action: JsonObject) -> str | None:
    if (why := _has_started(session)) is not None:
        return why
    if chat.get("interactivity", "full") != "full":
        return "this chat is read-only"
    if is_archived(session, chat):
        return "this conversation is archived; take it out of the archive first"
    return None


def _from_user(action: JsonObject) -> str | None:
    message: Mapping[str, Any] = action.get("message") or action.get("steeringMessage") or {}
    message = message.get("message") or message
    kind = (message.get("origin") or {}).get("kind", "user")
    return None if kind == "user" else f"clients send messages of the user, not of kind {str(kind)[:40]}"


def _turn_started(chat: JsonObject, session: JsonObject, action: JsonObject) -> str | None:
    """Whether an archived or read-only conversation takes it is admission's business: a local command may run (K13)."""
    return _has_started(session) or _from_user(action)


def _turn_cancelled(chat: JsonObject, session: JsonObject, action: JsonObject) -> str | None:
    if (chat.get("origin") or {}).get("kind") == "tool" and chat.get("interactivity") == "read-only":
        return "an agent of another chat works here; cancel the turn of that chat"
    return None


def _pending_set(chat: JsonObject, session: JsonObject, action: JsonObject) -> str | None:
    queue = chat.get("queuedMessages") or ()
    if (why := _takes_turns(chat, session, action) or _from_user(action)) is not None:
        return why
    known = any(message.get("id") == action.get("id") for message in queue)
    if action.get("kind") == "queued" and not known and len(queue) >= QUEUED_MESSAGES:
        return f"{QUEUED_MESSAGES} messages wait already"
    return None


def _truncated(chat: JsonObject, session: JsonObject, action: JsonObject) -> str | None:
    return "this chat is read-only" if chat.get("interactivity", "full") != "full" else None


def _confirmed(chat: JsonObject, session: JsonObject, action: JsonObject) -> str | None:
    if (why := _from_user({"message": action.get("userSuggestion") or {}})) is not None:
        return why
    call = tool_call(active_turn(chat, action["turnId"]), action["toolCallId"]) or {}
    chosen = action.get("selectedOptionId")
    option = next((o for o in call.get("options") or () if o.get("id") == chosen), None)
    if option is None:
        return None
    wanted = "approve" if action["approved"] else "deny"
    if option.get("kind") in ("approve", "deny") and option["kind"] != wanted:
        return f"the option {chosen} does not {wanted} the call"
    return None


CHAT_CHECKS: Mapping[str, Check] = MappingProxyType(
    {
        "chat/turnStarted": _turn_started,
        "chat/turnResume": _takes_turns,
        "chat/turnCancelled": _turn_cancelled,
        "chat/truncated": _truncated,
        "chat/pendingMessageSet": _pending_set,
        "chat/steeringMessageSet": _pending_set,
        "chat/toolCallConfirmed": _confirmed,
    }
)
