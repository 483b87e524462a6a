"""`innkeeper mcp allow|deny|revoke`: what may start, and what may be called (M4.2b, M4.4, M6.1, M6.8).

* `allow` stores a grant for this workspace and this declaration: for a server that it may start by itself, for a tool
  that its calls are not asked about. A changed declaration voids it.
* `deny` switches a server off in this workspace; for a tool it is a rule of this session, which no allow overrules.
* `revoke` takes back both.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from innkeeper.cli.mcp.asking import Where, in_session, request, server_argument, with_session
from innkeeper.cli.mcp.listing import show
from innkeeper.cli.words import text

if TYPE_CHECKING:
    from innkeeper.client import Channel, Client
    from innkeeper.protocol.session.state import SessionState

Row = Mapping[str, Any]

tool_argument = click.argument("tool", required=False, metavar=text("cli.metavar.tool"))


def _command(name: str) -> click.Command:
    @click.command(name, help=text(f"cli.mcp.{name}.help"), epilog=text("cli.mcp.permissions.epilog"))
    @server_argument
    @tool_argument
    @in_session
    def command(where: Where, server: str, tool: str | None, as_json: bool) -> None:
        from innkeeper.cli.reach import run

        async def work(client: "Client", session: "Channel[SessionState]") -> tuple[str, Row]:
            listed = await request(client, session.uri, "list", {})
            row = _row(listed["items"], server)
            await _change(client, session, name, row, tool)
            return session.uri, await request(client, session.uri, "list", {})

        uri, found = run(with_session(where, work))
        show(uri, found, as_json)

    return command


allow = _command("allow")
deny = _command("deny")
revoke = _command("revoke")


def _row(rows: Sequence[Row], server: str) -> Row:
    from innkeeper.errors import HostError

    found = next((row for row in rows if server in (row["id"], row["name"])), None)
    if found is None:
        raise HostError("SERVER_UNKNOWN", server=server)
    return found


async def _change(client: "Client", session: "Channel[SessionState]", name: str, row: Row, tool: str | None) -> None:
    params = {"server": row["id"], **({} if tool is None else {"tool": tool})}
    if name == "deny":
        await _refuse(session, row, tool, refuse=True)
    if name == "revoke" or (name == "allow" and _is_refused(session, row, tool)):
        await _refuse(session, row, tool, refuse=False)
    await request(client, session.uri, "allow" if name == "allow" else "revoke", params)


def _is_refused(session: "Channel[SessionState]", row: Row, tool: str | None) -> bool:
    """Whether an earlier `deny` of exactly this stands."""
    if tool is not None:
        return _qualified(row, tool) in _denied(session)
    entry: Row = next((c for c in session.state.get("customizations") or () if c["id"] == row["id"]), {})
    decisions: Sequence[Row] = entry.get("enablement") or ()
    return any(decision["kind"] == "workspace" and not decision["enabled"] for decision in decisions)


async def _refuse(session: "Channel[SessionState]", row: Row, tool: str | None, *, refuse: bool) -> None:
    from innkeeper.cli.failures import CliError
    from innkeeper.client.enablement import set_enabled
    from innkeeper.client.events import Applied

    if tool is None and refuse is _is_refused(session, row, None):
        return
    if tool is None:
        await session.wait_for(lambda state: any(c["id"] == row["id"] for c in state.get("customizations") or ()))
        outcome = await set_enabled(session, row["id"], "workspace", False if refuse else None)
    else:
        names = [name for name in _denied(session) if name != _qualified(row, tool)]
        permissions: Row = _values(session).get("permissions") or {}
        changed = {**permissions, "deny": [*names, _qualified(row, tool)] if refuse else names}
        outcome = await session.dispatch({"type": "session/configChanged", "config": {"permissions": changed}})
    if not isinstance(outcome, Applied):
        raise CliError(text("cli.mcp.refused", reason=outcome.reason), code="CHANGE_REFUSED")


def _values(session: "Channel[SessionState]") -> Row:
    config = session.state.get("config")
    return {} if config is None else config["values"]


def _denied(session: "Channel[SessionState]") -> Sequence[str]:
    denied: Sequence[str] = (_values(session).get("permissions") or {}).get("deny") or ()
    return denied


def _qualified(row: Row, tool: str) -> str:
    from innkeeper.mcp.names import qualified_tool_name

    return qualified_tool_name(row["name"], tool)
