"""May this tool be called? One pure function for every provider and every way in (M6.3-M6.8).

Rules
* Order: deny rules, gate, project filter. A deny of any wins; an allow of one never cancels another's ask, except full
  access.
* The gate asks unless something says that it need not: everything trusted, the directory trusted, the tool allowed by
  name or by a stored grant of this very declaration, full access, a person who calls by hand.
* It stands only before servers that this host mounted for the project (M6.5).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from innkeeper.mcp.settings import McpSettings
from innkeeper.ports.decisions import Grant

Outcome = Literal["pass", "allow", "ask", "deny"]
Why = Literal[
    "notOurs",
    "rule",
    "projectFilter",
    "person",
    "fullAccess",
    "trustMode",
    "trustedWorkspace",
    "allowance",
    "grant",
    "noQuestions",
    "childAgent",
    "unknown",
]


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
    denied_by_rule: bool = False
    asked_by_rule: bool = False
    excluded_by_project: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """`pass`: not ours to decide. `allow`: decided. `ask`: a person decides. `deny`: with the reason in `why`."""

    outcome: Outcome
    why: Why


def decide(call: Call, settings: McpSettings, grants: Iterable[Grant]) -> Decision:
    """The one decision about a call."""
    if not call.project_server:
        return Decision("pass", "notOurs")
    if call.denied_by_rule:
        return Decision("deny", "rule")
    if call.excluded_by_project:
        return Decision("deny", "projectFilter")
    if call.by_person:
        return Decision("allow", "person")
    if call.full_access or settings.full_access:
        return Decision("allow", "fullAccess")
    permitted = _permitted(call, settings, grants)
    if permitted.outcome != "ask" and call.asked_by_rule and call.questions:
        return Decision("ask", "rule")
    return permitted


def _permitted(call: Call, settings: McpSettings, grants: Iterable[Grant]) -> Decision:
    if settings.trust_mode == "all":
        return Decision("allow", "trustMode")
    if settings.trusts(call.workspace):
        return Decision("allow", "trustedWorkspace")
    if settings.allows_tool(call.workspace, call.tool):
        return Decision("allow", "allowance")
    if any(_covers(grant, call) for grant in grants):
        return Decision("allow", "grant")
    if not call.questions:
        return Decision("pass", "noQuestions")
    if call.subagent and not settings.gate_child_agents:
        return Decision("pass", "childAgent")
    return Decision("ask", "unknown")


def _covers(grant: Grant, call: Call) -> bool:
    return (
        grant.name == call.tool
        and grant.kind == "tool"
        and grant.workspace == call.workspace
        and grant.fingerprint == call.fingerprint
    )
