"""The operator's own servers, joined with the values that they name (M5.2, M9.6).

Rules
* Variables are those of declarations in their standard form: `${VAR}`, `${env:VAR}`, `${input:id}`, `${userHome}`.
  There is no workspace in them. A server that names a variable without a value, or that cannot be started as written,
  is not used and logged by name and code: never with an empty secret.
* Without `cwd` a server runs in the home folder.
"""

import logging
import os
from collections.abc import Callable, Mapping

from innkeeper.mcp.declarations import checks
from innkeeper.mcp.declarations.model import HttpLaunch, Launch, StdioLaunch
from innkeeper.mcp.declarations.variables import VariableError, Variables
from innkeeper.mcp.settings import HostServer
from innkeeper.settings.config import Settings
from innkeeper.settings.tables import OperatorServer

log = logging.getLogger(__name__)


def host_servers(
    settings: Settings, inputs: Mapping[str, str], environment: Mapping[str, str]
) -> tuple[HostServer, ...]:
    """Those that can be started, in the order of the file."""
    home = environment.get("HOME") or os.path.expanduser("~")
    variables = Variables({"userHome": home, "pathSeparator": os.sep, "/": os.sep}, environment, inputs)
    found = []
    for name, server in settings.host_servers.items():
        try:
            found.append(HostServer(name, _launch(server, variables, home)))
        except VariableError as error:
            reason = f"{error.code} {error.name}".strip()
            log.warning("the server %s of the configuration is not used: %s", name, reason)
    return tuple(found)


def _launch(server: OperatorServer, variables: Variables, home: str) -> Launch:
    """Raises VariableError, with the code and the field of whatever is wrong."""

    def made(text: str, field: str, check: Callable[[str], str | None] = checks.check_text) -> str:
        value = variables.expand(text)
        if code := check(value):
            raise VariableError(code, field)
        return value

    if server.url is not None:
        headers = {name: made(value, f"headers.{name}") for name, value in server.headers.items()}
        if bad := checks.check_headers(headers):
            raise VariableError("HEADER_INVALID", bad)
        return HttpLaunch(made(server.url, "url", checks.check_url), headers)
    directory = os.path.join(home, made(server.cwd or home, "cwd", checks.check_trimmed))
    program = made(server.command or "", "command", checks.check_trimmed)
    if "/" in program and not os.path.isabs(program):
        program = os.path.normpath(os.path.join(directory, program))
    arguments = tuple(made(text, f"args[{index}]") for index, text in enumerate(server.args))
    for name in server.env:
        if code := checks.check_environment_name(name):
            raise VariableError(code, f"env.{name}")
    return StdioLaunch(program, arguments, {n: made(v, f"env.{n}") for n, v in server.env.items()}, directory)
