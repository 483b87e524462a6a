"""What an agent lacks and what helps: a command, words, or a key or token that is typed here (AHP §8).

Rules
* There is a dialog for each agent that has no login and takes a key.
* What is typed goes to the host's `authenticate` and nowhere else: no page, cookie, log or answer has it. It is the
  agent's until the host ends.
* With `web_control = false` there is none.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from innkeeper.web.asking import Ask
from innkeeper.web.link import ROOT
from innkeeper.web.live import Region, block

State = Mapping[str, Any]
UNAVAILABLE: Final = "x-innkeeper/unavailable"
WANTS: Final = "AGENT_LOGIN_MISSING"


class Key(NamedTuple):
    """What one agent wants: the protected resource, and how a person knows it."""

    provider: str
    name: str
    resource: str
    where: str


def reason_of(agent: State) -> State | None:
    """Why the agent cannot be had now: `code`, `reason`, `remedy`; None when it can."""
    for model in (agent, *(agent.get("models") or ())):
        found = (model.get("_meta") or {}).get(UNAVAILABLE)
        if isinstance(found, Mapping):
            return found
    return None


def remedy_of(missing: State | None) -> tuple[str, str]:
    """What helps: a command that can be copied, and words; one of them, or neither."""
    remedy = str((missing or {}).get("remedy") or "")
    is_command = bool(remedy) and remedy[-1] not in ".。" and "\n" not in remedy
    return (remedy, "") if is_command else ("", remedy)


def key_of(agent: State) -> Key | None:
    """The key that would help; None where none would."""
    resources: Sequence[State] = agent.get("protectedResources") or ()
    if (reason_of(agent) or {}).get("code") != WANTS or not resources:
        return None
    wanted, provider = resources[0], str(agent["provider"])
    resource = str(wanted["resource"])
    where = str(wanted.get("resource_name") or urlsplit(resource).hostname or resource)
    return Key(provider, str(agent.get("displayName") or provider), resource, where)


def keys(ask: Ask) -> dict[str, Key]:
    """By agent."""
    agents: Sequence[State] = (ask.link.peek(ROOT) or {}).get("agents") or ()
    found = [key_of(agent) for agent in agents] if ask.options.web_control else []
    return {key.provider: key for key in found if key is not None}


def region(ask: Ask) -> Region:
    """The dialogs, outside of the page's own form."""
    return block("agent-keys", lambda: ask.render("agent_keys.html", keys=keys(ask).values()), (ROOT,))
