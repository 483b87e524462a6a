"""Changing one scope of a customization's enablement the way the host expects it (C1.3, C6.6; AHP §10.1).

Rules
* A toggle sends the complete set, made from the one last published: `with_scope` is the only way to build it.
* The Global of an item that this client bundled is the client's own: it changes its base and publishes that again
  (`session/activeClientSet`), and the host is not asked to overlay it. Every other change is a toggle.
* Pure: states in, actions out. `set_enabled` dispatches.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from innkeeper.client.channel import Channel, Dispatch
from innkeeper.protocol.session.state import SessionState

Scope = Literal["session", "workspace", "global"]
Enablement = Mapping[str, Any]
"""One decision: `{kind, enabled}`, for a workspace with its `uri`."""

GLOBAL_OWNER: Final = "x-innkeeper/globalOwner"
_ORDER: Final = {"session": 0, "workspace": 1, "global": 2}


def with_scope(
    enablement: Iterable[Enablement] | None, scope: Scope, value: bool | None, *, uri: str | None = None
) -> list[Enablement]:
    """The complete set with one scope changed, most specific first: session, workspace, global, at most one each.

    `enablement` is the list last published (None when there is none) and is not changed. `value` None removes the
    scope's decision. A workspace decision is for `uri`, or for the directory of the published one. A scope that we do
    not know stays, at the end. Raises ValueError for a workspace decision without a directory.
    """
    kept: dict[str, Enablement] = {}
    for decision in enablement or ():
        kept.setdefault(str(decision["kind"]), decision)
    previous = kept.pop(scope, None)
    if value is not None:
        kept[scope] = _decision(scope, value, uri or (previous or {}).get("uri"))
    return [kept[kind] for kind in sorted(kept, key=lambda kind: _ORDER.get(kind, len(_ORDER)))]


def find_customization(state: Mapping[str, Any], id: str) -> tuple[Mapping[str, Any], Mapping[str, Any] | None] | None:
    """The item with that id and its container (None at the top level), or None; the top level is searched first."""
    return next(((item, container) for item, container in _items(state) if item.get("id") == id), None)


def set_enabled_action(
    state: Mapping[str, Any], client_id: str, id: str, scope: Scope, value: bool | None
) -> dict[str, Any]:
    """The action that a client must dispatch on the session to change one scope of one item.

    `value` None removes the decision. A workspace decision is for the session's primary directory. Raises LookupError
    for an unknown id, and ValueError for a workspace decision in a session without a directory.
    """
    found = find_customization(state, id)
    if found is None:
        raise LookupError(f"no customization {id}")
    item, container = found
    if scope == "global" and _owner(item) == f"client:{client_id}":
        own = _own_entry(state, client_id)
        if own is not None and (changed := _with_base(own, item, container, value)) is not None:
            return {"type": "session/activeClientSet", "activeClient": changed}
    directories: Sequence[str] = state.get("workingDirectories") or ()
    published = item.get("enablement")
    enablement = with_scope(published, scope, value, uri=directories[0] if directories else None)
    return {"type": "session/customizationToggled", "id": id, "enablement": enablement}


def set_enabled(channel: Channel[SessionState], id: str, scope: Scope, value: bool | None) -> Dispatch:
    """Dispatches what `set_enabled_action` says, from the state shown now; raises as it does."""
    return channel.dispatch(set_enabled_action(channel.state, channel.client_id, id, scope, value))


def _decision(scope: Scope, value: bool, uri: str | None) -> Enablement:
    if scope != "workspace":
        return {"kind": scope, "enabled": value}
    if not uri:
        raise ValueError("a workspace decision needs the directory that it is for")
    return {"kind": scope, "uri": uri, "enabled": value}


def _items(state: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any] | None]]:
    top: Sequence[Mapping[str, Any]] = state.get("customizations") or ()
    for item in top:
        yield item, None
    for container in top:
        for child in container.get("children") or ():
            yield child, container


def _owner(item: Mapping[str, Any]) -> object:
    meta = item.get("_meta")
    return meta.get(GLOBAL_OWNER) if isinstance(meta, Mapping) else None


def _own_entry(state: Mapping[str, Any], client_id: str) -> Mapping[str, Any] | None:
    return next((entry for entry in state.get("activeClients") or () if entry.get("clientId") == client_id), None)


def _with_base(
    own: Mapping[str, Any], item: Mapping[str, Any], container: Mapping[str, Any] | None, value: bool | None
) -> dict[str, Any] | None:
    """The client's entry with another base for the item; None when the item is in no plugin that it publishes."""
    plugin_uri = (item if container is None else container).get("uri")
    plugins: Sequence[Mapping[str, Any]] = own.get("customizations") or ()
    if all(plugin.get("uri") != plugin_uri for plugin in plugins):
        return None
    changed = [
        plugin if plugin.get("uri") != plugin_uri else _with_global(plugin, None if container is None else item, value)
        for plugin in plugins
    ]
    return {**own, "customizations": changed}


def _with_global(plugin: Mapping[str, Any], child: Mapping[str, Any] | None, value: bool | None) -> dict[str, Any]:
    if child is None:
        return {**plugin, "enablement": with_scope(plugin.get("enablement"), "global", value)}
    # The name stays a key even without a decision: being a key is what makes the Global the client's (C2.1).
    children: Mapping[str, Any] = plugin.get("childEnablement") or {}
    name = str(child["name"])
    return {**plugin, "childEnablement": {**children, name: with_scope(children.get(name), "global", value)}}
