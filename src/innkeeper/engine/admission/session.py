"""Session actions of clients against the session's state (AHP §9.5, §9.6, §9.9, §10)."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from innkeeper.engine.admission.config import refuse_config
from innkeeper.engine.admission.context import Context
from innkeeper.engine.effects import JsonObject

Check = Callable[[JsonObject, JsonObject, Context], str | None]


def refuse_session(state: JsonObject, action: JsonObject, context: Context) -> str | None:
    check = _CHECKS.get(action["type"])
    return None if check is None else check(state, action, context)


def _client_set(state: JsonObject, action: JsonObject, context: Context) -> str | None:
    if action["activeClient"].get("clientId") != context.client_id:
        return "a client can only join as itself"
    return None


def _client_removed(state: JsonObject, action: JsonObject, context: Context) -> str | None:
    return None if action["clientId"] == context.client_id else "a client can only remove itself"


def _directory_set(state: JsonObject, action: JsonObject, context: Context) -> str | None:
    if context.capability("multipleWorkingDirectories") is None:
        return "this agent works in one directory"
    return None


def _directory_removed(state: JsonObject, action: JsonObject, context: Context) -> str | None:
    capability = context.capability("multipleWorkingDirectories")
    if capability is None:
        return "this agent works in one directory"
    directories: list[Any] = state.get("workingDirectories") or []
    protected = capability.get("immutablePrimary") or capability.get("primaryReplacement")
    if protected and directories and directories[0] == action["directory"]:
        return "the primary working directory cannot be removed"
    return None


def _directory_replaced(state: JsonObject, action: JsonObject, context: Context) -> str | None:
    capability = context.capability("multipleWorkingDirectories")
    if capability is None:
        return "this agent works in one directory"
    directories: list[Any] = state.get("workingDirectories") or []
    if action["directory"] not in directories:
        return f"{action['directory']} is not a working directory of the session"
    primary = directories[0] == action["directory"]
    if primary and capability.get("immutablePrimary") and not capability.get("primaryReplacement"):
        return "the primary working directory cannot be replaced"
    return None


def each_customization(state: JsonObject) -> Iterator[JsonObject]:
    """The session's customizations, each container before its children."""
    for item in state.get("customizations") or ():
        yield item
        yield from item.get("children") or ()


def _toggled(state: JsonObject, action: JsonObject, context: Context) -> str | None:
    if any(item.get("id") == action["id"] for item in each_customization(state)):
        return None
    return f"there is no customization {action['id']}"


def _mcp_server(state: JsonObject, action: JsonObject, context: Context) -> str | None:
    for item in each_customization(state):
        if item.get("id") == action["id"]:
            return None if item.get("type") == "mcpServer" else f"{action['id']} is no MCP server"
    return f"there is no MCP server {action['id']}"


def _config_changed(state: JsonObject, action: JsonObject, context: Context) -> str | None:
    config = state.get("config")
    if not isinstance(config, Mapping):
        return "this session has no configuration"
    return refuse_config(config, action["config"], replace=bool(action.get("replace")))


_CHECKS: MappingProxyType[str, Check] = MappingProxyType(
    {
        "session/activeClientSet": _client_set,
        "session/activeClientRemoved": _client_removed,
        "session/workingDirectorySet": _directory_set,
        "session/workingDirectoryRemoved": _directory_removed,
        "session/workingDirectoryReplaced": _directory_replaced,
        "session/customizationToggled": _toggled,
        "session/mcpServerStartRequested": _mcp_server,
        "session/mcpServerStopRequested": _mcp_server,
        "session/mcpServerBackgroundRequested": _mcp_server,
        "session/configChanged": _config_changed,
    }
)
