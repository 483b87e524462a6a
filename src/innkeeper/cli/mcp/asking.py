"""What the commands of `mcp` share: which session is meant, and asking its host.

Rules
* A refusal of the host is told in the user's language, with the code's remedy.
* What is confirmed is confirmed at a terminal, or by `--yes`; without either nothing is done (M4.2b).
"""

import functools
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from innkeeper.cli.options import directory_option, host_options, json_option, session_option
from innkeeper.cli.words import text

if TYPE_CHECKING:
    from innkeeper.cli.reach import Wanted
    from innkeeper.client import Channel, Client, RpcFailure
    from innkeeper.protocol.session.state import SessionState

CONNECT_SECONDS = 60.0
"""A server may take its start-up limit, and a first `npx` or `uvx` loads the server before that."""
CALL_SECONDS = 600.0
"""A call by hand, and a sign-in, for which the host waits as long."""

Command = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Where:
    """Which host, and which of its sessions: the named one, else that of the directory."""

    url: str | None
    token: str | None
    data_dir: Path | None
    session: str | None
    directory: Path

    @property
    def wanted(self) -> "Wanted":
        from innkeeper.cli.reach import Wanted

        return Wanted(self.url, self.token, self.data_dir)


def in_session(function: Command) -> Command:
    """Options that name a session and its host, handed over as `where`; and `--json` as `as_json`."""

    @session_option
    @directory_option
    @json_option
    @host_options
    @functools.wraps(function)
    def command(
        url: str | None, token: str | None, data_dir: Path | None, session: str | None, directory: Path, **more: Any
    ) -> Any:
        return function(Where(url, token, data_dir, session, directory), **more)

    return command


server_argument = click.argument("server", metavar=text("cli.metavar.server"))
yes_option = click.option("--yes", "-y", is_flag=True, help=text("cli.mcp.yes"))


def ask(where: Where, verb: str, params: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """One own command about a session: its URI, and the answer. Raises what `cli.failures` tells."""
    from innkeeper.cli.reach import run

    async def work(client: "Client", session: "Channel[SessionState]") -> tuple[str, dict[str, Any]]:
        return session.uri, await request(client, session.uri, verb, params)

    answer: tuple[str, dict[str, Any]] = run(with_session(where, work))
    return answer


async def with_session(where: Where, work: "Callable[[Client, Channel[SessionState]], Any]") -> Any:
    """Run `work` with a client and the session that is meant, which is created for a directory that has none."""
    from innkeeper.cli.pick import open_session
    from innkeeper.cli.reach import connection

    async with connection(where.wanted) as client:
        return await work(client, await open_session(client, where.session, where.directory))


async def request(client: "Client", session: str, verb: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """`x-innkeeper/mcp/<verb>` on the session."""
    from innkeeper.client import RpcFailure

    seconds = CALL_SECONDS if verb in ("call", "authorized") else CONNECT_SECONDS
    try:
        answer: dict[str, Any] = await client.request(
            f"x-innkeeper/mcp/{verb}", {"channel": session, **params}, seconds
        )
    except RpcFailure as error:
        raise _told(error, params) from error
    return answer


def confirmed(question: str, *, yes: bool, as_json: bool) -> None:
    """Goes on when the person says yes. Raises UsageProblem where nobody can be asked, Abort for a no."""
    from innkeeper.cli.failures import UsageProblem

    if yes:
        return
    if as_json or not sys.stdin.isatty():
        raise UsageProblem(text("cli.mcp.needsYes"))
    click.confirm(question, abort=True, err=True)


def _told(error: "RpcFailure", params: Mapping[str, Any]) -> Exception:
    """The host's refusal in the user's language, where the table of errors has it; why nobody can sign in, only the
    host's own words say."""
    from innkeeper.errors import ERRORS, HostError

    code = str(error.data.get("code")) if isinstance(error.data, dict) else ""
    known = (
        code in ERRORS and code != "AUTH_REQUIRED" and ERRORS[code].area in ("server", "command", "settings", "storage")
    )
    return HostError(code, **params) if known else error
