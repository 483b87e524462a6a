"""Which client actions the state allows: the server-side validation table (AHP §9.5-§9.9).

Rules
* Pure: the head state of the channel, of its session and of the root, and the dispatcher's id decide.
* A refusal is a sentence that a person can read; it names the thing, and never contains message content.
* What the table does not name is allowed here; the host's policy has the next word.
"""

from innkeeper.engine.admission.chat import refuse_chat
from innkeeper.engine.admission.context import Context
from innkeeper.engine.admission.others import refuse_other
from innkeeper.engine.admission.session import refuse_session
from innkeeper.engine.effects import JsonObject

__all__ = ["Context", "refuse"]


def refuse(kind: str, state: JsonObject, action: JsonObject, context: Context) -> str | None:
    """The reason why `action` is not allowed on a channel of `kind` in `state`, or None."""
    if kind == "chat":
        return refuse_chat(state, action, context)
    if kind == "session":
        return refuse_session(state, action, context)
    return refuse_other(state, action, context)
