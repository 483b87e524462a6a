"""Reading chat and session states: the questions that several host modules ask (AHP §7, §9). Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from innkeeper.ports.contributed import CHAT_CONFIG

State = Mapping[str, Any]


def active_turn(chat: State | None, turn_id: str | None = None) -> State | None:
    """The running turn, if there is one and it is `turn_id` (any when None)."""
    turn = chat.get("activeTurn") if chat is not None else None
    if not isinstance(turn, Mapping) or (turn_id is not None and turn.get("id") != turn_id):
        return None
    return turn


def tool_calls(turn: State | None) -> Iterator[State]:
    for part in (turn or {}).get("responseParts") or ():
        if part.get("kind") == "toolCall":
            yield part["toolCall"]


def tool_call(turn: State | None, call_id: str) -> State | None:
    """The newest call of that id: an agent may use an id again."""
    found = None
    for call in tool_calls(turn):
        if call.get("toolCallId") == call_id:
            found = call
    return found


def input_request(turn: State | None, request_id: str) -> State | None:
    """The newest response part of that input request."""
    for part in reversed((turn or {}).get("responseParts") or ()):
        if part.get("kind") == "inputRequest" and part["request"].get("id") == request_id:
            found: State = part
            return found
    return None


def has_part(turn: State, kind: str, part_id: str) -> bool:
    """Whether a text part is open; the newest parts are looked at first."""
    for part in reversed(turn.get("responseParts") or ()):
        if part.get("kind") == kind and part.get("id") == part_id:
            return True
    return False


def find_turn(chat: State, turn_id: str) -> State | None:
    """The turn of that id, completed or running."""
    for turn in chat.get("turns") or ():
        if turn.get("id") == turn_id:
            found: State = turn
            return found
    return active_turn(chat, turn_id)


def customization(session: State, id: str) -> State | None:
    """The customization of that id: top level first, then the children of containers (AHP §10.1)."""
    entries = session.get("customizations") or ()
    for entry in entries:
        if entry.get("id") == id:
            found: State = entry
            return found
    for entry in entries:
        for child in entry.get("children") or ():
            if child.get("id") == id:
                found = child
                return found
    return None


def mcp_servers(session: State) -> Iterator[State]:
    """The session's own MCP servers (those inside plugins belong to the plugin)."""
    for entry in session.get("customizations") or ():
        if entry.get("type") == "mcpServer":
            yield entry


def agent(root: State | None, provider: str) -> State:
    """The `AgentInfo` of a provider; empty when it is not listed."""
    for info in (root or {}).get("agents") or ():
        if info.get("provider") == provider:
            found: State = info
            return found
    return {}


def capability(info: State, name: str) -> State | None:
    """An agent's capability; None when it does not declare it: absence means no (AHP §13.9)."""
    value = (info.get("capabilities") or {}).get(name)
    return value if isinstance(value, Mapping) else None


def effective_values(session: State, chat: str) -> dict[str, object]:
    """The configuration that holds in a chat: the session's values, and the chat's own over them (K15)."""
    own = ((session.get("_meta") or {}).get(CHAT_CONFIG) or {}).get(chat) or {}
    return {**((session.get("config") or {}).get("values") or {}), **own}


def plain(value: Any) -> str:
    """The text of a `StringOrMarkdown`."""
    if isinstance(value, Mapping):
        return str(value.get("markdown", ""))
    return "" if value is None else str(value)
