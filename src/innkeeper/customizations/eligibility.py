"""What a provider may have of a session (C1.5, C4.1, C4.2, C6.1): the only place that builds an `Eligible`.

Rules
* The container counts here and nowhere else: one that is off, pending or unreadable withholds its children, whose own
  decisions stay as they are.
* A server that is seen at the top level counts as in the plugin that defines it.
* A pending child withholds its container with all that is in it: the agent could find it by reading the directory.
* A plugin that is not read yet, or cannot be read, may hold anything, so it is withheld.
"""

from collections.abc import Iterable, Mapping, Sequence

from innkeeper.customizations.discovery.items import DiscoveredDirectory, DiscoveredHook, DiscoveredPlugin
from innkeeper.customizations.discovery.items import DiscoveredServer as Server
from innkeeper.customizations.items import RawItem, ServerItem, UnreadPlugin
from innkeeper.customizations.places import Pending
from innkeeper.customizations.publishing import child_of
from innkeeper.customizations.resolution import Enablement, Item, Resolution
from innkeeper.ports.customizations import (
    Eligible,
    EligibleLeaf,
    EligiblePlugin,
    EligibleServer,
    HookRun,
    Withheld,
    WithheldReason,
)


def eligible(items: Sequence[RawItem], enablement: Enablement) -> Eligible:
    """What may reach the agent, and what may not and why."""
    return eligible_of(Resolution(items, enablement))


def eligible_of(resolution: Resolution) -> Eligible:
    """The same, of a resolution that was just made."""
    reasons = verdicts(resolution)
    plugins: list[EligiblePlugin] = []
    servers: list[EligibleServer] = []
    leaves: list[EligibleLeaf] = []
    withheld: list[Withheld] = []
    for item in resolution.items.values():
        reason = reasons[item.id]
        if reason is not None:
            withheld.append(_withheld(item, reason))
        elif isinstance(item.raw, DiscoveredPlugin):
            plugins.append(_plugin(item, item.raw))
        elif isinstance(item.raw, (ServerItem, Server)):
            servers.append(_server(item, item.raw))
        elif item.container is not None:
            leaves.append(_leaf(item, resolution))
    context = resolution.context
    settled = context.discovered and not isinstance(context.place, Pending)
    return Eligible(
        session=context.session,
        plugins=tuple(plugins),
        servers=tuple(servers),
        leaves=tuple(leaves),
        withheld=tuple(withheld),
        complete=settled and not any(isinstance(item.verdict, Pending) for item in resolution.items.values()),
    )


def verdicts(resolution: Resolution) -> Mapping[str, WithheldReason | None]:
    """By id: None, it may reach the agent; else why it is withheld."""
    held: dict[str, WithheldReason] = {}
    for item in resolution.items.values():
        if item.container is not None and isinstance(item.verdict, Pending):
            held.setdefault(item.container, item.verdict.reason)
    plugins = {item.raw.uri: item.id for item in resolution.items.values() if item.raw.type == "plugin"}
    reasons: dict[str, WithheldReason | None] = {}
    for item in resolution.items.values():
        own = _own(item) or held.get(item.id)
        above = reasons.get(item.container or plugins.get(item.plugin or "", ""))
        reasons[item.id] = ("container" if above == "own" else above) or own
    return reasons


def _own(item: Item) -> WithheldReason | None:
    if isinstance(item.verdict, Pending):
        return item.verdict.reason
    if not item.verdict.enabled:
        return "own"
    if isinstance(item.raw, (UnreadPlugin, DiscoveredPlugin)):
        kind = item.raw.load["kind"]
        return "discovery" if kind == "loading" else "unreadable" if kind == "error" else None
    return None


def _plugin(item: Item, raw: DiscoveredPlugin) -> EligiblePlugin:
    return EligiblePlugin(
        id=item.id, key=_key(item) or "", uri=raw.uri, name=raw.name, path=raw.path, client=_client(item)
    )


def _server(item: Item, raw: ServerItem | Server) -> EligibleServer:
    pointer = raw.pointer if isinstance(raw, Server) else ()
    return EligibleServer(
        id=item.id,
        key=_key(item) or "",
        uri=raw.uri,
        name=raw.name,
        owner=item.plugin,
        pointer=tuple(pointer),
    )


def _leaf(item: Item, resolution: Resolution) -> EligibleLeaf:
    definition = child_of(item, {})
    container = resolution.items[item.container or ""]
    hook = item.raw if isinstance(item.raw, DiscoveredHook) else None
    directory = container.raw if isinstance(container.raw, DiscoveredDirectory) else None
    return EligibleLeaf(
        type=item.raw.type,  # type: ignore[arg-type]
        id=item.id,
        key=_key(item) or "",
        uri=item.raw.uri,
        name=item.raw.name,
        container=container.id,
        plugin=item.plugin,
        ecosystem=None if directory is None else directory.ecosystem,
        definition=definition,
        runs=() if hook is None else tuple(_runs(hook)),
    )


def _runs(hook: DiscoveredHook) -> Iterable[HookRun]:
    for run in hook.runs:
        yield HookRun(
            event=hook.event,
            matcher=hook.matcher,
            commands=run.commands,
            timeout=run.timeout,
            cwd=run.cwd,
            env=run.env,
        )


def _withheld(item: Item, reason: WithheldReason) -> Withheld:
    return Withheld(
        type=item.raw.type,
        id=item.id,
        key=_key(item),
        uri=item.raw.uri,
        name=item.raw.name,
        reason=reason,
        owner=item.plugin,
    )


def _key(item: Item) -> str | None:
    return None if item.target is None else item.target.key


def _client(item: Item) -> str | None:
    return item.owner.removeprefix("client:") if item.owner.startswith("client:") else None
