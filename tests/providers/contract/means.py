"""By what means each agent keeps to the contract of enablement, cell by cell (issue 6 §3, C6.2, C6.5).

A test of this folder says which cells it shows with `@row(what, when, …)`, and runs for each agent that is said here to
have one of them. `Part` is a cell of which the test shows the limit too; `Never` is one in which nothing can be done.
What only one agent has is declared by `@cell` beside its own tests. `scripts/provider_matrix.py` makes
docs/reference/provider-matrix.md of it all. This module imports nothing of an agent: an extra need not be installed.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeVar

import pytest

from providers.matrix import What, When


class Part(NamedTuple):
    """`how`, and what it does not do."""

    how: str
    limit: str


class Never(NamedTuple):
    why: str


Means = Mapping[What, Mapping[When, str | Part | Never]]
Test = TypeVar("Test", bound=Callable[..., object])

REOPENED: Final = "the session is closed and opened with what is on"
ANEW: Final = "the agent is started anew for the next turn"
KEPT: Final = "the list that the history has stays there"
PARTS: Final = "its parts are handed over one by one"

CLAUDE: Final[Means] = {
    "server": {
        "launch": "left out of `mcp_set_servers`; the host does not start it",
        "nextRequest": "`mcp_set_servers` with the rest, in the running process",
        "runningTurn": "the gate refuses at once; the tools leave with the next request of the turn",
        "back": "`mcp_set_servers` with it again",
        "otherSession": "one process a chat; nothing is written to disk",
        "newSession": "the stored decision holds before the agent starts",
        "files": "the toggle that is written to disk is not used",
    },
    "pluginServer": {
        "launch": "left out of `mcp_set_servers`; the agent does not start it",
        "nextRequest": "`mcp_set_servers` with the rest",
        "runningTurn": "the hook before every call refuses it, then `mcp_set_servers`",
        "back": "`mcp_set_servers` with it",
        "otherSession": "one process a chat",
        "newSession": "the stored decision holds before the agent starts",
    },
    "plugin": {
        "launch": "not among the plugin folders; none of its parts is there, its server never starts",
        "nextRequest": Part("the agent is started anew for the next turn, and refuses its parts", KEPT),
        "runningTurn": "the hook before every call refuses what is in it",
        "back": ANEW,
        "otherSession": "one process a chat",
        "newSession": "the stored decision holds before the agent starts",
    },
    "skill": {
        "launch": "not in the plugin folders that the host hands over",
        "nextRequest": Part("the agent is started anew for the next turn, and refuses it", KEPT),
        "runningTurn": "the hook before every call refuses it",
        "back": ANEW,
        "otherSession": "one process a chat",
        "newSession": "the stored decision holds before the agent starts",
    },
    "agent": {
        "launch": "not in the plugin folders that the host hands over",
        "nextRequest": Part("the agent is started anew for the next turn, and refuses it", KEPT),
        "runningTurn": "the hook before every call refuses it",
        "back": ANEW,
        "otherSession": "one process a chat",
        "newSession": "the stored decision holds before the agent starts",
    },
    "rule": {
        "launch": "not in the text at the end of the system prompt",
        "nextRequest": "the agent is started anew with another text, so nothing of it is left",
        "runningTurn": Never("The system prompt of a turn that runs stays as it is."),
        "back": ANEW,
        "otherSession": "one process a chat",
        "newSession": "the stored decision holds before the agent starts",
    },
    "hook": {
        "launch": "only those of plugins that are on are handed over",
        "nextRequest": ANEW,
        "back": ANEW,
    },
    "caller": {"runningTurn": "the agent names its call; the hook before it says which subagent makes it"},
}

CODEX: Final[Means] = {
    "server": {
        "launch": "left out of thread/start; its process never starts",
        "nextRequest": "unsubscribe and resume while the thread is idle",
        "runningTurn": Part(
            "the gate refuses at once",
            "the process is shared by threads: the tools stay in the list until the turn ends",
        ),
        "back": "unsubscribe and resume; the endpoint has another address",
        "otherSession": "configuration of a thread, not of the process",
        "newSession": "the stored decision, at thread/start",
        "files": "the person's own folder is compared: a directory of our own, the login linked",
    },
    "pluginServer": {
        "launch": "left out of thread/start; its process never starts",
        "nextRequest": "unsubscribe and resume while the thread is idle",
        "runningTurn": Part(
            "the host declines the call when Codex asks about it",
            "the tools stay in the list until the turn ends; with full access Codex asks about nothing",
        ),
        "back": "unsubscribe and resume",
        "otherSession": "configuration of a thread",
        "newSession": "the stored decision, at thread/start",
    },
    "plugin": {
        "launch": PARTS,
        "nextRequest": "its parts, on resume",
        "runningTurn": Part("a call of its server is declined", "what else is in it stays until the turn ends"),
        "back": "its parts, on resume",
        "otherSession": "configuration of a thread",
        "newSession": "the stored decision, at thread/start",
    },
    "skill": {
        "launch": "skills.config by path",
        "nextRequest": Part(
            "skills.config by path, on resume", "the earlier list stays in the history; a new one follows"
        ),
        "runningTurn": Never("A skill is a file that the model reads; the list of a turn that runs stays as it is."),
        "back": "skills.config by path, on resume",
        "otherSession": "configuration of a thread",
        "newSession": "the stored decision, at thread/start",
    },
    "agent": {
        "launch": "roles of the thread: agents.NAME",
        "nextRequest": "roles, on resume",
        "runningTurn": Never("The roles of a thread are fixed while a turn runs."),
        "back": "roles, on resume",
        "otherSession": "configuration of a thread",
        "newSession": "the stored decision, at thread/start",
    },
    "rule": {
        "launch": "given as instructions; Codex reads no AGENTS.md in a folder that is not trusted",
        "nextRequest": Part(
            "other instructions, which replace the earlier ones", "the earlier ones stay in the history"
        ),
        "runningTurn": Never("Instructions are given with a message; those of a turn that runs stay."),
        "back": "given as instructions again",
        "otherSession": "instructions of a thread",
        "newSession": "the rules that are on are given with the first message",
    },
    "hook": {
        "launch": Part("features.hooks is off", "Codex runs no hooks here, also none that are on"),
        "nextRequest": Never("Hooks are not handed over."),
        "back": Never("Hooks are not handed over, also those that are on."),
    },
    "caller": {"runningTurn": "Codex puts its id of the call and of the thread into the request"},
}

COPILOT: Final[Means] = {
    "server": {
        "launch": "left out of session.create; its process never starts",
        "nextRequest": "mcp.disable, awaited and read back",
        "runningTurn": "the gate refuses at once; mcp.disable takes it from the next request",
        "back": "mcp.startServer with the endpoint's new address",
        "otherSession": "each session of the runtime has its own",
        "newSession": "the stored decision, at session.create",
        "files": "the person's own folder is compared: a COPILOT_HOME of the host's",
    },
    "pluginServer": {
        "launch": "left out of session.create; its process never starts",
        "nextRequest": "mcp.disable",
        "runningTurn": "mcp.disable: Copilot refuses the call, the next request is without",
        "back": "mcp.startServer from the plugin's definition",
        "otherSession": "each session of the runtime has its own",
        "newSession": "the stored decision, at session.create",
    },
    "plugin": {
        "launch": PARTS,
        "nextRequest": "its parts, with the session opened again",
        "runningTurn": "mcp.disable for its server; the hook before every call refuses its skills and agents",
        "back": "its parts, with the session opened again",
        "otherSession": "each session of the runtime has its own",
        "newSession": "the stored decision, at session.create",
    },
    "skill": {
        "launch": "laid out in a folder of ours; what is off is not in it",
        "nextRequest": REOPENED,
        "runningTurn": "skills.disable; a call on its way is refused by the hook",
        "back": REOPENED,
        "otherSession": "each session of the runtime has its own",
        "newSession": "the stored decision, at session.create",
    },
    "agent": {
        "launch": "handed over one by one as custom agents",
        "nextRequest": REOPENED,
        "runningTurn": Part("the hook refuses it at once", "Copilot has no call that takes one agent from the list"),
        "back": REOPENED,
        "otherSession": "each session of the runtime has its own",
        "newSession": "the stored decision, at session.create",
    },
    "rule": {
        "launch": "at the end of the system message; Copilot reads no instructions by itself",
        "nextRequest": "the session is closed and opened with another system message",
        "runningTurn": Never("The system message of a turn that runs stays as it is."),
        "back": "the session is closed and opened with another system message",
        "otherSession": "each session of the runtime has its own",
        "newSession": "the stored decision, at session.create",
    },
    "hook": {
        "launch": Part("not handed over", "no hook of a plugin or a project runs, also none that is on"),
        "nextRequest": Never("Hooks are not handed over."),
        "back": Never("Hooks are not handed over, also those that are on."),
    },
    "caller": {"runningTurn": "our hook puts Copilot's id of the call into the request"},
}

MEANS: Final[Mapping[str, Means]] = {"claude": CLAUDE, "codex": CODEX, "copilot": COPILOT}


def cell_of(agent: str, what: What, when: When) -> str | Part | Never:
    return MEANS[agent][what][when]


def row(what: What, *whens: When) -> Callable[[Test], Test]:
    """The test shows these cells, for each agent that has one of them. Its `agent` is the agent."""
    having = [name for name, means in MEANS.items() if any(not isinstance(means[what][when], Never) for when in whens)]

    def shown(test: Test) -> Test:
        if any(mark.name == "parametrize" for mark in getattr(test, "pytestmark", ())):
            return test  # it shows several rows, for the same agents
        decorated: Test = pytest.mark.parametrize("agent", having, indirect=True)(test)
        return decorated

    return shown
