"""Conversations and annotations as words for a model (AHP §9.7). Pure.

Rules
* Bounded, and the newest turns whole: what is left out is said, and only a single turn that is too long is cut inside.
* Attachments inside are named, never followed.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from innkeeper.host.local_commands.words import known_to_agent
from innkeeper.host.views import State, plain
from innkeeper.limits import ATTACHED_CHARACTERS

ENDINGS: Final = {"cancelled": "(it was stopped here)", "error": "(it failed here)"}
LEFT_OUT: Final = "[earlier turns are left out]"


def conversation(title: str, turns: Sequence[State], limit: int = ATTACHED_CHARACTERS) -> str:
    """The turns, oldest first, without those of local commands."""
    said: list[str] = []
    room = limit
    shown = known_to_agent(turns)
    for turn in reversed(shown):
        one = _turn(turn)
        if len(one) > room:
            if not said:
                said.append(f"{one[: room // 2]}\n[...]\n{one[-(room // 2) :]}")
            break
        said.append(one)
        room -= len(one)
    left_out = [LEFT_OUT] if len(said) < len(shown) else []
    return "\n\n".join([f"The conversation {title!r}:", *left_out, *reversed(said)])


def _turn(turn: State) -> str:
    message = turn.get("message") or {}
    attached = [str(one.get("label") or one.get("type")) for one in message.get("attachments") or ()]
    parts = turn.get("responseParts") or ()
    answer = "".join(str(part.get("content") or "") for part in parts if part.get("kind") == "markdown")
    lines = [
        f"User: {message.get('text', '')}",
        *([f"[attached: {', '.join(attached)}]"] if attached else []),
        *([f"Assistant: {answer}"] if answer else []),
        *([ENDINGS[turn["state"]]] if turn.get("state") in ENDINGS else []),
    ]
    return "\n".join(lines)


def annotations(state: State, ids: Collection[str] | None, limit: int = ATTACHED_CHARACTERS) -> str:
    """Annotations of a session, all or those that are named."""
    chosen = [one for one in state.get("annotations") or () if ids is None or one.get("id") in ids]
    whole = "\n\n".join("\n".join(_annotation(one)) for one in chosen)
    return whole if len(whole) <= limit else f"{whole[:limit]}\n[the rest is left out]"


def _annotation(annotation: State) -> Iterator[str]:
    span = annotation.get("range") or {}
    lines = f", lines {span['start']['line'] + 1} to {span['end']['line'] + 1}" if span else ""
    yield f"{annotation.get('resource')}{lines}{' (resolved)' if annotation.get('resolved') else ''}:"
    for entry in annotation.get("entries") or ():
        yield f"- {plain(entry.get('text'))}"
