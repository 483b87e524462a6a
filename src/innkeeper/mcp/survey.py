"""What a tool weighs and how the gate stands to it (M11.4). Pure."""

from collections.abc import Iterable, Mapping

from innkeeper.mcp.gate import Call, Decision
from innkeeper.ports.decisions import Grant
from innkeeper.ports.mcp import ToolReport
from innkeeper.protocol.session.state import ToolDefinition
from innkeeper.wire.json import JsonError, encode

BYTES_A_TOKEN = 4
"""A rule of thumb for JSON schemas in English; the real number depends on the model."""


def tokens(tool: Mapping[str, object]) -> int:
    """An estimate of what the definition costs in each request of a model."""
    try:
        return -(-len(encode(tool)) // BYTES_A_TOKEN)
    except JsonError:
        return 0


def survey_of(server: str, tool: ToolDefinition, call: Call, decision: Decision, grants: Iterable[Grant]) -> ToolReport:
    """The report of one tool; `call` is one of the session's agent."""
    slot = (call.workspace, "tool", call.tool)
    granted = next((g.granted_at for g in grants if g.slot == slot and g.fingerprint == call.fingerprint), None)
    described = tool.get("description")
    return ToolReport(
        server=server,
        tool=tool["name"],
        qualified=call.tool,
        description=described if isinstance(described, str) else None,
        tokens=tokens(tool),
        outcome=decision.outcome,
        why=decision.why,
        granted=granted,
    )
