"""Reducer of a session channel (AHP §7, Session; working directories §9.6).

A session keeps its own flags and `inputNeeded`; what a chat does to its status is the host's aggregation, not a rule
of this reducer (AHP §9.1). `session/ready` therefore leaves the status alone: a turn may already be running.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, assert_never

from innkeeper.protocol.session.actions import (
    SessionAction,
    SessionActiveClientRemovedAction,
    SessionActiveClientSetAction,
    SessionArtifactRemovedAction,
    SessionArtifactSetAction,
    SessionChatAddedAction,
    SessionChatRemovedAction,
    SessionChatsReorderedAction,
    SessionChatUpdatedAction,
    SessionCustomizationRemovedAction,
    SessionCustomizationsChangedAction,
    SessionCustomizationToggledAction,
    SessionCustomizationUpdatedAction,
    SessionDefaultChatChangedAction,
    SessionInputNeededRemovedAction,
    SessionInputNeededSetAction,
    SessionMcpServerBackgroundRequestedAction,
    SessionMcpServerStartRequestedAction,
    SessionMcpServerStateChangedAction,
    SessionMcpServerStopRequestedAction,
    SessionWorkingDirectoryRemovedAction,
    SessionWorkingDirectoryReplacedAction,
    SessionWorkingDirectorySetAction,
)
from innkeeper.protocol.session.state import SessionState
from innkeeper.protocol.status import IS_ARCHIVED, IS_READ
from innkeeper.reduce import customizations
from innkeeper.reduce.fields import (
    add_item,
    configured,
    drop,
    drop_item,
    merge,
    put,
    put_all,
    same_items,
    update,
    upsert,
)
from innkeeper.reduce.status import with_flag, with_input_needed

CatalogueAction: TypeAlias = (
    SessionChatAddedAction
    | SessionChatRemovedAction
    | SessionChatUpdatedAction
    | SessionChatsReorderedAction
    | SessionDefaultChatChangedAction
    | SessionCustomizationsChangedAction
    | SessionCustomizationUpdatedAction
    | SessionCustomizationToggledAction
    | SessionCustomizationRemovedAction
    | SessionMcpServerStateChangedAction
    | SessionMcpServerStartRequestedAction
    | SessionMcpServerStopRequestedAction
    | SessionMcpServerBackgroundRequestedAction
)
"""Actions on the chats and customizations of a session."""

ListAction: TypeAlias = (
    SessionActiveClientSetAction
    | SessionActiveClientRemovedAction
    | SessionWorkingDirectorySetAction
    | SessionWorkingDirectoryRemovedAction
    | SessionWorkingDirectoryReplacedAction
    | SessionInputNeededSetAction
    | SessionInputNeededRemovedAction
    | SessionArtifactSetAction
    | SessionArtifactRemovedAction
)
"""Actions on clients, directories, open requests and artifacts of a session."""


def reduce_session(state: SessionState, action: SessionAction) -> SessionState:
    """The session state after `action`."""
    match action["type"]:
        case "session/ready":
            return put(state, "lifecycle", "ready")
        case "session/creationFailed":
            return put_all(state, {"lifecycle": "failed", "creationError": action["error"]})
        case "session/titleChanged":
            return put(state, "title", action["title"])
        case "session/isReadChanged":
            return _flagged(state, IS_READ, action["isRead"])
        case "session/isArchivedChanged":
            return _flagged(state, IS_ARCHIVED, action["isArchived"])
        case "session/activityChanged":
            return put(state, "activity", action.get("activity"))
        case "session/changesetsChanged":
            return put(state, "changesets", action.get("changesets"))
        case "session/serverToolsChanged":
            return put(state, "serverTools", action["tools"])
        case "session/configChanged":
            return configured(state, action["config"], replace=bool(action.get("replace")))
        case "session/metaChanged":
            return put(state, "_meta", action.get("_meta"))
        case _:
            return _reduce_lists(state, action)


def _reduce_lists(state: SessionState, action: ListAction | CatalogueAction) -> SessionState:
    match action["type"]:
        case "session/activeClientSet":
            return upsert(state, "activeClients", action["activeClient"], "clientId")
        case "session/activeClientRemoved":
            return drop(state, "activeClients", action["clientId"], "clientId")
        case "session/workingDirectorySet":
            return add_item(state, "workingDirectories", action["directory"])
        case "session/workingDirectoryRemoved":
            return drop_item(state, "workingDirectories", action["directory"])
        case "session/workingDirectoryReplaced":
            return _directory_replaced(state, action["directory"], action["replacement"])
        case "session/inputNeededSet":
            return _with_status_of_requests(upsert(state, "inputNeeded", action["request"]))
        case "session/inputNeededRemoved":
            return _input_needed_removed(state, action["id"])
        case "session/artifactSet":
            return upsert(state, "artifacts", action["artifact"], "uri")
        case "session/artifactRemoved":
            return drop(state, "artifacts", action["uri"], "uri", keep_empty=False)
        case _:
            return _reduce_catalogues(state, action)


def _reduce_catalogues(state: SessionState, action: CatalogueAction) -> SessionState:
    match action["type"]:
        case "session/chatAdded":
            return upsert(state, "chats", action["summary"], "resource")
        case "session/chatRemoved":
            return _chat_removed(state, action["chat"])
        case "session/chatUpdated":
            return _chat_updated(state, action["chat"], action["changes"])
        case "session/chatsReordered":
            return _chats_reordered(state, action["chats"])
        case "session/defaultChatChanged":
            return put(state, "defaultChat", action.get("defaultChat"))
        case "session/customizationsChanged":
            return put(state, "customizations", action["customizations"])
        case "session/customizationUpdated":
            return upsert(state, "customizations", action["customization"])
        case "session/customizationToggled":
            return customizations.toggled(state, action["id"], action.get("enablement"))
        case "session/customizationRemoved":
            return customizations.without(state, action["id"])
        case "session/mcpServerStateChanged":
            return customizations.server_moved(state, action["id"], action["state"], action.get("channel"))
        case "session/mcpServerStartRequested":
            return customizations.server_requested(state, action["id"], "starting")
        case "session/mcpServerStopRequested":
            return customizations.server_requested(state, action["id"], "stopped")
        case "session/mcpServerBackgroundRequested":
            return customizations.server_unblocked(state, action["id"])
        case _ as unknown:
            assert_never(unknown)


def _flagged(state: SessionState, flag: int, on: bool) -> SessionState:
    return put(state, "status", with_flag(state.get("status") or 0, flag, on))


def _directory_replaced(state: SessionState, directory: str, replacement: str) -> SessionState:
    """Compare and swap: a replacement that comes later moves into the slot, an earlier one stays where it is."""
    directories: Sequence[str] = state.get("workingDirectories") or ()
    if directory not in directories or directory == replacement:
        return state
    slot = directories.index(directory)
    if replacement in directories[:slot]:
        return drop_item(state, "workingDirectories", directory)
    later = [other for other in directories[slot + 1 :] if other != replacement]
    return put(state, "workingDirectories", [*directories[:slot], replacement, *later])


def _with_status_of_requests(state: SessionState) -> SessionState:
    return put(state, "status", with_input_needed(state.get("status") or 0, state.get("inputNeeded") or ()))


def _input_needed_removed(state: SessionState, request_id: str) -> SessionState:
    rest = drop(state, "inputNeeded", request_id, keep_empty=False)
    return state if rest is state else _with_status_of_requests(rest)


def _chat_removed(state: SessionState, chat: str) -> SessionState:
    rest = drop(state, "chats", chat, "resource")
    return put(rest, "defaultChat", None) if rest is not state and state.get("defaultChat") == chat else rest


def _chat_updated(state: SessionState, chat: str, changes: Mapping[str, Any]) -> SessionState:
    kept = {key: value for key, value in changes.items() if key != "resource"}
    return update(state, "chats", chat, lambda summary: merge(summary, kept), "resource")


def _chats_reordered(state: SessionState, order: Sequence[str]) -> SessionState:
    """`order` must name every chat once; anything else is ignored as a whole."""
    chats: Sequence[Mapping[str, Any]] = state.get("chats") or ()
    by_resource = {chat.get("resource"): chat for chat in chats}
    if not len(order) == len(chats) == len(by_resource) or set(order) != by_resource.keys():
        return state
    reordered = [by_resource[resource] for resource in order]
    return state if same_items(reordered, chats) else put(state, "chats", reordered)
