"""Root, terminal, changeset and annotation actions of clients against their state (AHP §7, §9.9)."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from innkeeper.engine.admission.config import refuse_value
from innkeeper.engine.admission.context import Context
from innkeeper.engine.effects import JsonObject

Check = Callable[[JsonObject, JsonObject, Context], str | None]


def refuse_other(state: JsonObject, action: JsonObject, context: Context) -> str | None:
    check = _CHECKS.get(action["type"])
    return None if check is None else check(state, action, context)


def _root_config(state: JsonObject, action: JsonObject, context: Context) -> str | None:
    config = state.get("config")
    if not isinstance(config, Mapping):
        return "this host has no configuration that clients can change"
    properties: JsonObject = config["schema"].get("properties") or {}
    for name, value in action["config"].items():
        schema = properties.get(name)
        if schema is None:
            return f"there is no configuration property {name}"
        if schema.get("readOnly"):
            return f"configuration property {name} is read-only"
        if (why := refuse_value(name, schema, value)) is not None:
            return why
    return None


def _terminal_holder(state: JsonObject, action: JsonObject, context: Context) -> str | None:
    claim = state.get("claim") or {}
    if claim.get("kind") == "client" and claim.get("clientId") != context.client_id:
        return "another client holds this terminal"
    return None


def _terminal_claimed(state: JsonObject, action: JsonObject, context: Context) -> str | None:
    if (why := _terminal_holder(state, action, context)) is not None:
        return why
    claim = action["claim"]
    if claim.get("kind") == "client" and claim.get("clientId") != context.client_id:
        return "a client can only claim a terminal for itself"
    return None


def _annotation_known(state: JsonObject, action: JsonObject, context: Context) -> str | None:
    for annotation in state.get("annotations") or ():
        if annotation.get("id") == action["annotationId"]:
            entry = action.get("entryId")
            if entry is None or any(e.get("id") == entry for e in annotation.get("entries") or ()):
                return None
            return f"annotation {action['annotationId']} has no entry {entry}"
    return f"there is no annotation {action['annotationId']}"


def _review(state: JsonObject, action: JsonObject, context: Context) -> str | None:
    known = {file.get("id") for file in state.get("files") or ()}
    unknown = [name for name in action["files"] if name not in known]
    return f"there is no file {unknown[0]} in this changeset" if unknown else None


_CHECKS: MappingProxyType[str, Check] = MappingProxyType(
    {
        "root/configChanged": _root_config,
        "terminal/input": _terminal_holder,
        "terminal/resized": _terminal_holder,
        "terminal/cleared": _terminal_holder,
        "terminal/claimed": _terminal_claimed,
        "annotations/updated": _annotation_known,
        "annotations/removed": _annotation_known,
        "annotations/entrySet": _annotation_known,
        "annotations/entryRemoved": _annotation_known,
        "changeset/filesReviewChanged": _review,
    }
)
