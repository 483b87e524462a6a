"""From fields as written to what is launched (M2.3-M2.8): variables, forwarded variables, the environment file.

Rules
* Expansion is the same in command, args, env, cwd, url, headers and the path of the environment file, and happens once.
* A missing variable rejects the server; an empty credential is never used. Explicit `env` wins over every other source.
* A command with a separator that is not absolute is one of the entry's directory, else of the workspace.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from innkeeper.editing.tree import Document
from innkeeper.mcp.declarations import checks
from innkeeper.mcp.declarations.environment_file import EnvironmentFile, read_environment_file
from innkeeper.mcp.declarations.files import Content, Refused
from innkeeper.mcp.declarations.model import HttpLaunch, Launch, Preset, StdioLaunch
from innkeeper.mcp.declarations.variables import VariableError, Variables
from innkeeper.mcp.declarations.written import Written

Check = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class Source:
    """Where entries come from. `file` is relative to the workspace, an absolute local path without links.
    `seen` gathers the other files that the entries depend on."""

    preset: Preset
    file: str
    document: Document
    workspace: str
    variables: Variables = field(repr=False)
    file_limit: int
    seen: dict[str, Content | None] = field(default_factory=dict, repr=False)


def expand(written: Written, source: Source) -> tuple[Launch, EnvironmentFile | None]:
    """What is launched, and the environment file that took part. Raises Refused."""
    if written.transport == "http":
        return _http(written, source), None
    program = _text(source, written.command or "", "command", checks.check_trimmed)
    directory = _text(source, written.directory or source.workspace, "cwd", checks.check_trimmed)
    directory = os.path.join(source.workspace, directory)
    arguments = tuple(_text(source, text, f"args[{index}]") for index, text in enumerate(written.arguments))
    declared = {name: _text(source, value, f"env.{name}") for name, value in written.environment.items()}
    forwarded = {name: _variable(source, name, "env_vars") for name in written.forwarded}
    found = None
    if written.environment_file is not None:
        path = _text(source, written.environment_file, "envFile", checks.check_trimmed)
        found = read_environment_file(source.workspace, path, source.file_limit, source.seen)
    if "/" in program and not os.path.isabs(program):
        program = os.path.normpath(os.path.join(directory, program))
    environment = {**forwarded, **({} if found is None else found.values), **declared}
    return StdioLaunch(program, arguments, environment, directory), found


def _http(written: Written, source: Source) -> HttpLaunch:
    url = _text(source, written.url or "", "url", checks.check_url)
    headers = {name: _text(source, value, f"headers.{name}") for name, value in written.headers.items()}
    added = [
        (name, _variable(source, variable, f"env_http_headers.{name}"))
        for name, variable in written.header_variables.items()
    ]
    if written.bearer_variable is not None:
        added.append(("Authorization", f"Bearer {_variable(source, written.bearer_variable, 'bearer_token_env_var')}"))
    for name, value in added:
        if name in headers:
            raise Refused("HEADER_INVALID", detail=name)
        headers[name] = value
    if bad := checks.check_headers(headers):
        raise Refused("HEADER_INVALID", detail=bad)
    return HttpLaunch(url=url, headers=headers, client=written.client)


def _variable(source: Source, name: str, path: str) -> str:
    """A variable of the host, by its name. An empty one counts as missing."""
    value = source.variables.environment.get(name)
    if not value:
        raise Refused("VARIABLE_MISSING", detail=f"{path}: {name}")
    if code := checks.check_text(value):
        raise Refused(code, detail=path)
    return value


def _text(source: Source, value: str, path: str, check: Check = checks.check_text) -> str:
    if any(mark in value for mark in source.preset.refused_marks):
        raise Refused("VARIABLE_UNSUPPORTED", detail=path)
    try:
        expanded = source.variables.expand(value)
    except VariableError as error:
        raise Refused(error.code, detail=f"{path}: {error.name}" if error.name else path) from None
    if code := check(expanded):
        raise Refused(code, detail=path)
    if not expanded and path in ("command", "cwd", "envFile"):
        raise Refused("FIELD_VALUE", detail=path)
    return expanded


def fingerprint_sources(written: Written, found: EnvironmentFile | None) -> Mapping[str, object]:
    """The places that values come from besides the fields themselves (M4.2b)."""
    client = written.client
    return {
        "envFile": [] if found is None else [written.environment_file, found.digest],
        "envVars": list(written.forwarded),
        "envHeaders": dict(written.header_variables),
        "bearer": written.bearer_variable,
        "oauth": None if client is None else [client.client_id, client.callback_port, *client.scopes],
    }
