"""What a person does with a question about a call (AHP §9.2)."""

from typing import Any

from scripted.world import Client


async def question(client: Client, uri: str) -> dict[str, Any]:
    """The call of the session that waits for an answer."""
    state = await client.state(uri, lambda s: s.get("inputNeeded"))
    return dict(state["inputNeeded"][0]["toolCall"])


def answer(client: Client, chat: str, asked: dict[str, Any], approved: bool, turn_id: str = "t1", **more: Any) -> int:
    """The first option of that kind is taken, unless `more` names another."""
    options = [option for option in asked["options"] if option["kind"] == ("approve" if approved else "deny")]
    how: dict[str, Any] = {"confirmed": "user-action"} if approved else {"reason": "denied"}
    how |= {"turnId": turn_id, "toolCallId": asked["toolCallId"], "selectedOptionId": options[0]["id"], **more}
    return client.dispatch(chat, "chat/toolCallConfirmed", approved=approved, **how)


def questions(client: Client, chat: str) -> list[dict[str, Any]]:
    """What a person was asked about, in this chat."""
    ready = [
        envelope["action"] for envelope in client.actions(chat, "chat/toolCallReady") if not envelope.get("origin")
    ]
    return [action for action in ready if action.get("options")]


def calls(turn: Any) -> list[dict[str, Any]]:
    """The tool calls of a turn that runs or has run."""
    return [part["toolCall"] for part in (turn or {}).get("responseParts") or () if part["kind"] == "toolCall"]
