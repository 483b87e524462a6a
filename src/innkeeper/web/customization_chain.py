"""Why an item is on or off, as the drawer tells it: one sentence, the chain, and the act that undoes it (C5.3). Pure.

Rules
* The chain is the host's (`x-innkeeper/customizations/why`); exactly one link decides, and it is marked.
* The act that undoes clears the deciding link: its own decision, or the container's. Where nothing was decided there
  is none.
"""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

State = Mapping[str, Any]
Acts = Literal["now", "nextRequest", "nextThread"]


class Link(NamedTuple):
    """One step. `kind` is a scope, `container`, `client` or `provider`; `value` None: it says nothing."""

    kind: str
    value: bool | None
    decides: bool
    reached: bool
    name: str = ""
    at: str = ""
    place: str = ""
    owner: str = ""
    pinned: bool = False
    follows: bool = False
    overrides: bool = False
    told: str = ""
    withheld: str = ""
    detail: str = ""


class Undo(NamedTuple):
    """Clear the decision of `scope` of the item `id`."""

    id: str
    scope: str
    container: bool


class Chain(NamedTuple):
    name: str
    id: str
    key: str
    standing: Literal["on", "off", "waiting"]
    decided_by: str
    links: tuple[Link, ...]
    undo: Undo | None
    pending: str
    error: str


def chain(item: State, *, agent: str, clients: Mapping[str, str]) -> Chain:
    """The answer about one item. `agent` is the display name of the session's agent, `clients` names by id."""
    withheld = item.get("withheld")
    pending = str(item.get("pending") or "")
    container = item.get("container") or {}
    held_back = withheld in ("container", "unreadable")
    by = str(item.get("decidedBy") or "")
    decides = "container" if held_back else by
    owner = str(item.get("owner") or "host")
    owner_name = clients.get(owner.removeprefix("client:"), owner.removeprefix("client:"))
    links: list[Link] = []
    passed = False
    for step in item.get("scopes") or ():
        deciding = decides == step["scope"] or (step["scope"] == "global" and decides == "client")
        links.append(_scope(step, item, deciding, passed, owner_name))
        passed = passed or deciding
    if container:
        off = container.get("withheld") is not None
        links.append(Link("container", not off, held_back, True, name=str(container["name"])))
    links.append(_provider(item.get("provider") or {}, agent))
    standing: Literal["on", "off", "waiting"] = "waiting" if pending else "on" if item.get("on") else "off"
    return Chain(
        str(item["name"]),
        str(item["id"]),
        str(item.get("key") or ""),
        standing,
        decides,
        tuple(links),
        _undo(item, decides, container),
        pending,
        str(item.get("error") or ""),
    )


def when_it_acts(type: str, *, acts: str, provider: str, running: bool) -> Acts:
    """When a change reaches the model (C6.2). `acts` is what the host reports of a server's switch."""
    if provider == "codex" and running:
        return "nextThread"
    return "now" if type == "mcpServer" and acts == "now" else "nextRequest"


def _scope(step: State, item: State, deciding: bool, passed: bool, owner: str) -> Link:
    stored = step.get("stored")
    client = item.get("client") if step["scope"] == "global" else None
    mine = str(step.get("owner") or "host").startswith("client:")
    return Link(
        str(step["scope"]),
        client if stored is None else stored,
        deciding,
        not passed,
        at=str(step.get("decidedAt") or ""),
        place=str(step.get("target") or "") if step["scope"] == "workspace" else "",
        owner=owner if mine else "",
        pinned=bool(step.get("pinned")),
        follows=bool(step.get("followsClient")),
        overrides=bool(step.get("overridesClient")),
    )


def _provider(said: State, agent: str) -> Link:
    told = str(said.get("told") or "")
    value = True if told == "offered" else False if told == "withheld" else None
    return Link("provider", value, False, True, name=agent, told=told, detail=str(said.get("detail") or ""))


def _undo(item: State, decides: str, container: State) -> Undo | None:
    if decides in ("session", "workspace", "global"):
        return Undo(str(item["id"]), decides, False)
    if decides == "container" and container.get("withheld") == "own":
        return Undo(str(container["id"]), "", True)
    return None
