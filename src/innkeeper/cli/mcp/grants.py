"""`innkeeper mcp grants|forget`: every stored grant, whatever its workspace (M4.2b, M9.4).

What `allow` stored for the workspace of a session, `revoke` takes back there; `forget` does so without a session.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from innkeeper.cli.options import directory_option, host_options, json_option
from innkeeper.cli.words import text

Row = Mapping[str, Any]


@click.command("grants", help=text("cli.mcp.grants.help"))
@json_option
@host_options
def grants(url: str | None, token: str | None, data_dir: Path | None, as_json: bool) -> None:
    """Its help is in the catalogue."""
    from innkeeper.cli.reach import Wanted, run

    _show(run(_ask(Wanted(url, token, data_dir), "grants", {})), as_json)


@click.command("forget", help=text("cli.mcp.forget.help"))
@click.argument("name", metavar=text("cli.metavar.serverOrTool"))
@directory_option
@json_option
@host_options
def forget(
    url: str | None, token: str | None, data_dir: Path | None, name: str, directory: Path, as_json: bool
) -> None:
    """Its help is in the catalogue."""
    from innkeeper.cli.reach import Wanted, run
    from innkeeper.customizations.identity import workspace_key

    slot = {
        "workspace": workspace_key(str(directory)),
        "kind": "tool" if name.startswith("mcp__") else "server",
        "name": name,
    }
    _show(run(_ask(Wanted(url, token, data_dir), "forget", slot)), as_json)


async def _ask(wanted: Any, command: str, params: Mapping[str, str]) -> Sequence[Row]:
    """The stored grants as they then are. Raises HostError or RpcFailure with the host's refusal."""
    from innkeeper.cli.mcp.asking import request
    from innkeeper.cli.reach import connection
    from innkeeper.protocol.uris import ROOT

    async with connection(wanted) as client:
        found: Sequence[Row] = (await request(client, ROOT, command, params))["items"]
        return found


def _show(rows: Sequence[Row], as_json: bool) -> None:
    from innkeeper.cli.output import note, print_json, print_table

    if as_json:
        print_json({"items": list(rows)})
    elif rows:
        heads = [text(f"cli.mcp.grants.{name}") for name in ("workspace", "name", "since")]
        print_table(heads, [(str(row["workspace"]), str(row["name"]), str(row["grantedAt"])) for row in rows])
    else:
        note(text("cli.mcp.grants.none"))
