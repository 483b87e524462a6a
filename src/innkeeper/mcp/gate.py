"""May this tool be called? One pure function for every provider and every way in (M6.3-M6.8); docs/reference/gate.md.

Rules
* Order: deny rules, gate, project filter. A deny of any wins; an allow of one never cancels another's ask, except full
  access.
* The gate asks unless something says that it need not: everything trusted, the directory trusted, the tool allowed by
  name or by a stored grant of this very declaration, full access, a person who calls by hand.
* A rule that asks on purpose asks whatever the gate says; where nobody can be asked, that is a denial.
* It stands only before servers that this host mounted for the project (M6.5): a fact about the connection, no name.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from innkeeper.mcp.settings import McpSettings
from innkeeper.ports.decisions import Grant
from innkeeper.ports.mcp import GateOutcome, GateWhy
from innkeeper.ports.questions import NO_RULES, Reason, Rules


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call as the gate sees it; every field is the host's own knowledge, none the agent's word."""

    workspace: str
    """Key of the directory whose grants apply."""
    tool: str
    """Qualified: `mcp__<server>__<tool>`."""
    fingerprint: str
    """Of the server's declaration as it runs now."""
    project_server: bool = True
    by_person: bool = False
    subagent: bool = False
    full_access: bool = False
    questions: bool = True
    """Whether the host was composed with a question service."""
    rules: Rules = NO_RULES
    excluded_by_project: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """`pass`: not ours to decide. `allow`: decided. `ask`: a person decides, once, and `also` says what the rules would
    have asked. `deny`: with the reason in `why`."""

    outcome: GateOutcome
    why: GateWhy
    also: Sequence[Reason] = ()


def decide(call: Call, settings: McpSettings, grants: Iterable[Grant]) -> Decision:
    """The one decision about a call."""
    if not call.project_server:
        return Decision("pass", "notOurs")
    if call.rules.denied_by is not None:
        return Decision("deny", "sessionRule" if call.rules.denied_by == "session" else "operatorRule")
    if call.excluded_by_project:
        return Decision("deny", "projectFilter")
    if call.by_person:
        return Decision("allow", "person")
    if call.full_access or settings.full_access:
        return Decision("allow", "fullAccess")
    if not call.rules.asks:
        return _permitted(call, settings, grants)
    if not call.questions:
        return Decision("deny", "unanswerable")
    asked = _permitted(call, settings, grants).outcome == "ask"
    return Decision("ask", "unknown" if asked else "askingRule", call.rules.asks)


def _permitted(call: Call, settings: McpSettings, grants: Iterable[Grant]) -> Decision:
    if settings.trust_mode == "all":
        return Decision("allow", "trustMode")
    if settings.trusts(call.workspace):
        return Decision("allow", "trustedWorkspace")
    if settings.allows_tool(call.workspace, call.tool):
        return Decision("allow", "allowance")
    if _granted(call, grants):
        return Decision("allow", "grant")
    if not call.questions:
        return Decision("pass", "noQuestions")
    if call.subagent and not settings.gate_child_agents:
        return Decision("pass", "childAgent")
    return Decision("ask", "unknown")


def _granted(call: Call, grants: Iterable[Grant]) -> bool:
    tool, workspace, fingerprint = call.tool, call.workspace, call.fingerprint
    return any(
        grant.name == tool
        and grant.kind == "tool"
        and grant.workspace == workspace
        and grant.fingerprint == fingerprint
        for grant in grants
    )


ANSWERS: tuple[Literal["allow-once", "allow-always", "deny"], ...] = ("allow-once", "allow-always", "deny")
"""The ids of a question's three answers."""

ALLOW_ONCE, ALLOW_ALWAYS, DENY = ANSWERS
