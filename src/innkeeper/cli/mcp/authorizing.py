"""`innkeeper mcp authorize`: signing in to a remote server that asked for it (issue 3.8, AHP §8).

The address is told on standard error at once; the command ends with the sign-in. Tokens are the host's and never come
here.
"""

from typing import TYPE_CHECKING, Any

import click

from innkeeper.cli import exit_codes
from innkeeper.cli.mcp.asking import Where, in_session, request, server_argument, with_session
from innkeeper.cli.words import text

if TYPE_CHECKING:
    from innkeeper.client import Channel, Client
    from innkeeper.protocol.session.state import SessionState


@click.command("authorize", help=text("cli.mcp.authorize.help"), epilog=text("cli.mcp.authorize.epilog"))
@server_argument
@click.option("--open", "in_browser", is_flag=True, help=text("cli.mcp.authorize.open"))
@in_session
def authorize(where: Where, server: str, in_browser: bool, as_json: bool) -> int:
    """Its help is in the catalogue."""
    from innkeeper.cli.output import note, print_json
    from innkeeper.cli.reach import run

    async def work(client: "Client", session: "Channel[SessionState]") -> dict[str, Any]:
        begun = await request(client, session.uri, "authorize", {"server": server})
        note(text("cli.mcp.authorize.visit", server=server))
        note(f"  {begun['url']}")
        if in_browser:
            click.launch(str(begun["url"]))
        ended = await request(client, session.uri, "authorized", {"server": server})
        return {"session": session.uri, "server": server, **ended}

    ended: dict[str, Any] = run(with_session(where, work))
    if as_json:
        print_json(ended)
    elif ended["completed"]:
        note(text("cli.mcp.authorize.done", server=server))
    else:
        note(text("cli.mcp.authorize.failed", reason=ended.get("reason") or "?"))
    return exit_codes.OK if ended["completed"] else exit_codes.FAILED
