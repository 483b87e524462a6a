"""Why a declaration loads or not, and what other clients make of it (M11.1). Starts nothing, asks nobody.

Rules
* The chain has every step that decides, strongest objection last: file, entry, switch, conflict, trust. The first step
  that says no is the reason.
* Trust is what the configuration says. Grants that people gave are the host's, and are told by `innkeeper mcp list`.
* Fields are shown as written, with what may be secret masked: values of env and headers always, arguments and addresses
  where they hold a credential. What comes out of variables is never shown.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from innkeeper.customizations.identity import workspace_key
from innkeeper.mcp.declarations.conflicts import Entry
from innkeeper.mcp.declarations.model import DeclaredServer, StdioLaunch
from innkeeper.mcp.declarations.resolve import Resolved
from innkeeper.mcp.declarations.secrets import MASK, mask_address, mask_arguments
from innkeeper.mcp.declarations.traits import CLIENTS, differences
from innkeeper.mcp.settings import McpSettings

StepName = Literal["file", "entry", "switch", "conflict", "trust"]


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the chain. `code` is a row of the error table or the layer of trust that allows it."""

    name: StepName
    passed: bool
    code: str | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """One declaration explained. `clients` maps each client to the hints of what it does differently."""

    entry: Entry
    fields: Mapping[str, object]
    steps: tuple[Step, ...]
    clients: Mapping[str, Sequence[str]]

    @property
    def loads(self) -> bool:
        """Whether it would start by itself."""
        return all(step.passed for step in self.steps)


def explain(
    name: str, workspace: str, resolved: Resolved, settings: McpSettings, search: str | None
) -> tuple[Explanation, ...]:
    """Every declaration of the name, declared or safe; empty when there is none. `search` is the host's PATH."""
    return tuple(
        Explanation(
            entry=entry,
            fields=_fields(entry.server, search),
            steps=_steps(entry, workspace, settings),
            clients={client: differences(entry.server, client) for client in CLIENTS},
        )
        for entry in resolved.entries
        if name in (entry.server.name, entry.server.safe_name)
    )


def _steps(entry: Entry, workspace: str, settings: McpSettings) -> tuple[Step, ...]:
    server = entry.server
    code = None if entry.reason == "NAME_CONFLICT" else server.code
    others = ", ".join(entry.others)
    conflict = Step("conflict", entry.stands and entry.reason != "NAME_CONFLICT", detail=others)
    if not conflict.passed:
        conflict = Step("conflict", False, "NAME_CONFLICT" if not entry.identical else None, others)
    return (
        Step("file", True, detail=f"{server.file}:{server.line}"),
        Step("entry", code is None and not server.override, code or ("OVERRIDE_ONLY" if server.override else None)),
        Step("switch", server.enabled_in_file, None if server.enabled_in_file else "SERVER_DISABLED"),
        conflict,
        _trust(server, workspace, settings),
    )


def _trust(server: DeclaredServer, workspace: str, settings: McpSettings) -> Step:
    key = workspace_key(workspace)
    if settings.trust_mode == "all":
        return Step("trust", True, "trustMode")
    if settings.trusts(key):
        return Step("trust", True, "trustedWorkspace")
    if settings.allows_server(key, server.name):
        return Step("trust", True, "allowance")
    return Step("trust", False, "NOT_ALLOWED")


def _fields(server: DeclaredServer, search: str | None) -> Mapping[str, object]:
    """Canonical fields that are set, fit to be shown."""
    program, *arguments = server.command or ("",)
    found: dict[str, object] = {
        "command": program,
        "args": mask_arguments(arguments),
        "cwd": server.directory,
        "env": dict.fromkeys(server.environment_names, MASK),
        "url": mask_address(server.address) if server.address else "",
        "headers": dict.fromkeys(server.header_names, MASK),
        "runs": _runs(server, search),
        "required": server.required,
        "startSeconds": server.timeouts.start,
        "callSeconds": server.timeouts.call,
        "tools": None if server.tools.included is None else sorted(server.tools.included),
        "withoutTools": sorted(server.tools.excluded),
    }
    return {name: value for name, value in found.items() if value not in (None, "", [], {}, False)}


def _runs(server: DeclaredServer, search: str | None) -> str | None:
    """The file that would be started, when it is there."""
    launch = server.launch
    if not isinstance(launch, StdioLaunch) or "$" in (server.command or ("$",))[0]:
        return None
    return shutil.which(launch.program, path=launch.environment.get("PATH") or search or os.defpath)
