"""What every provider says in the same words: how an agent ended, why a call was denied, what was said before. Pure.

Rules
* What a service or an agent wrote goes further bounded, and without what looks like a key.
"""

from collections.abc import Sequence
from typing import Final

from innkeeper.ports.questions import Answer
from innkeeper.protocol.chat.state import Turn
from innkeeper.providers.spi import ProviderError
from innkeeper.texts import text

MESSAGE_CHARACTERS: Final = 2000
CONTEXT_CHARACTERS: Final = 60_000
KEYS: Final = ("sk-", "Bearer", "gho_", "ghp_", "ghu_", "ghs_", "github_pat_")
"""How words begin that are keys or tokens, or that one follows."""
_QUOTES: Final = "\"'`([{<=:,;"


def masked(words: str) -> str:
    """Without what looks like a key; a key keeps nothing of itself, also in quotes."""
    return " ".join("…" if _is_key(one) else one for one in words.split())[:MESSAGE_CHARACTERS]


def _is_key(word: str) -> bool:
    return word.lstrip(_QUOTES).startswith(KEYS) or any(f"{quote}{key}" in word for quote in _QUOTES for key in KEYS)


def ending(code: int | None) -> str:
    """How a process ended; `code` is negative for a signal, None where it is not known."""
    if code is None:
        return text("agent.ended")
    if code < 0:
        return text("agent.killed" if code == -9 else "agent.signalled", signal=-code)
    return text("agent.exitCode", code=code)


def exited(agent: str, code: int | None) -> ProviderError:
    """The process is gone by itself."""
    why = text("error.AGENT_EXITED.meaning", agent=agent, reason=ending(code))
    return ProviderError("AGENT_EXITED", why, resumable=True)


def failed_to_start(agent: str, reason: str) -> ProviderError:
    return ProviderError("AGENT_START_FAILED", text("error.AGENT_START_FAILED.meaning", agent=agent, reason=reason))


def unresponsive(agent: str) -> ProviderError:
    return ProviderError("AGENT_UNRESPONSIVE", text("error.AGENT_UNRESPONSIVE.meaning", agent=agent), resumable=True)


def logged_out(agent: str) -> ProviderError:
    return ProviderError("AGENT_LOGIN_MISSING", text("error.AGENT_LOGIN_MISSING.meaning", agent=agent))


def refused(agent: str, reason: str, *, resumable: bool = False) -> ProviderError:
    """`reason` is the agent's or the service's own."""
    why = text("error.AGENT_REFUSED.meaning", agent=agent, reason=masked(reason))
    return ProviderError("AGENT_REFUSED", why, resumable=resumable)


def denial(answer: Answer) -> str:
    """What a model is told of a denial."""
    if answer.message:
        return answer.message
    return text({"user": "agent.denied", "timeout": "agent.deniedTimeout"}.get(answer.reason, "agent.deniedCancelled"))


def earlier(turns: Sequence[Turn]) -> str:
    """Turns that an agent does not know, as text; the newest where not all fit, and the end of one that alone does not.
    Empty where there are none."""
    said: list[str] = []
    room = CONTEXT_CHARACTERS
    for turn in reversed(turns):
        answer = "".join(
            str(part.get("content", "")) for part in turn.get("responseParts") or () if part["kind"] == "markdown"
        )
        one = f"User: {turn['message']['text']}\nAssistant: {answer}"
        if len(one) > room and said:
            break
        said.append(one[-room:])
        room -= len(one)
        if room <= 0:
            break
    return "The conversation before this message:\n\n" + "\n\n".join(reversed(said)) if said else ""
