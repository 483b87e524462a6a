"""The Customizations page: everything that a session exposes, who decides, why, and what happened (issue 7 B.3).

Rules
* A switch is AHP's own toggle, made as the client library makes it (C1.3, C6.6): the complete set, or this client's
  base where the item is its own. The page never guesses what came of it.
* A toggle that the host holds is not waited for: it is shown as queued until the host answers (C4.3).
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from innkeeper.client import RpcFailure
from innkeeper.client.enablement import Scope, set_enabled_action
from innkeeper.protocol.status import IN_PROGRESS, IS_ARCHIVED
from innkeeper.web.asking import Actions, Ask, Done, Fragment, Pages, Problem, View
from innkeeper.web.customization_chain import chain, when_it_acts
from innkeeper.web.customization_rows import HERE, TYPES, Row, counted, filtered, rows
from innkeeper.web.link import CLIENT_ID, ROOT, SESSIONS, Refused
from innkeeper.web.live import Node, Region, block
from innkeeper.web.moments import moment
from innkeeper.web.names import key_of, session_path, session_uri
from innkeeper.web.sidebar import sidebar

State = Mapping[str, Any]

ANSWER_SECONDS: Final = 1.5
"""How long a switch waits for the host; what takes longer is held, and shown so."""
SOON_SECONDS: Final = 0.2
"""How long a page waits for its rows before it is shown with skeletons (ui.md §4)."""
OFFERED_SESSIONS: Final = 30
RECORDS: Final = 200
SKELETONS: Final = 8
VALUES: Final[Mapping[str, bool | None]] = {"on": True, "off": False, "inherit": None}
SCOPES: Final[Mapping[str, Scope]] = {"session": "session", "workspace": "workspace", "global": "global"}


def page_path(session: str) -> str:
    """The page of a session's customizations."""
    return f"{session_path(session)}/customizations"


class CustomizationsPage:
    """The regions of one tab that shows a session's customizations."""

    def __init__(self, ask: Ask, session: str) -> None:
        self.ask, self.session = ask, session
        self.path = page_path(session)
        self.list = f"customizations:{session}"
        self.tools = f"customization-servers:{session}"

    @property
    def state(self) -> State:
        found: State = self.ask.link.peek(self.session) or {}
        return found

    async def prepare(self) -> None:
        """Reads what is shown: the tree, the servers, and what the drawer tells."""
        link, session = self.ask.link, self.session
        await link.state(session)
        await self.soon(self.list, self.read_list)
        await self.soon(self.tools, self._servers)
        kind, argument = self.chosen()
        if kind == "why":
            try:
                await link.report(self._why_name(argument), lambda: self._why(argument), after=(session,))
            except RpcFailure:
                self.ask.choices["drawer"] = ""
        elif kind == "history":
            await link.report(f"{self.list}:history", lambda: self.read_list(history=True), after=(session,))

    async def soon(self, name: str, fetch: Callable[[], Awaitable[Any]]) -> None:
        """The report, when it comes soon; else the page is shown without it, and gets it when it comes."""
        link = self.ask.link
        task = asyncio.ensure_future(link.report(name, fetch, after=(self.session,)))
        done, _ = await asyncio.wait({task}, timeout=SOON_SECONDS)
        if done:
            task.result()
        else:
            task.add_done_callback(lambda late: self._late(name, late))

    def _late(self, name: str, task: "asyncio.Task[Any]") -> None:
        if not task.cancelled() and task.exception() is None:
            self.ask.link.put(name, task.result())

    def regions(self) -> list[Region]:
        told = (self.session, self.list, self.tools)
        return [
            block("custom-bar", self.bar, (self.session, SESSIONS)),
            block("custom-counts", self.counts, told),
            Region("custom-rows", self.nodes, lambda: told),
            Region("drawer", self.drawer, lambda: (*told, self._why_name(self.chosen()[1]), f"{self.list}:history")),
        ]

    def chosen(self) -> tuple[str, str]:
        kind, _, argument = self.ask.choices.get("drawer", "").partition(":")
        return kind, argument

    def rows(self) -> list[Row]:
        """All rows, before the filter."""
        servers = self.ask.link.peek(self.tools) or {}
        counts = {id: len(one.get("tools") or ()) for id, one in servers.items()}
        return rows(self.ask.link.peek(self.list) or (), self.state, me=CLIENT_ID, tools=counts)

    # Regions

    def bar(self) -> str:
        folders = self.state.get("workingDirectories") or ()
        others = [one for one in self.ask.link.sessions.all() if not int(one.get("status") or 0) & IS_ARCHIVED]
        return self.ask.render(
            "custom_bar.html",
            title=str(self.state.get("title") or ""),
            folder=self.ask.folder(str(folders[0])) if folders else "",
            sessions=[
                (page_path(str(one["resource"])), str(one.get("title") or ""), one["resource"] == self.session)
                for one in others[:OFFERED_SESSIONS]
            ],
            history=self.chosen()[0] == "history",
        )

    def counts(self) -> str:
        return self.ask.render("custom_counts.html", counts=counted(self.rows()))

    def nodes(self) -> Sequence[Node]:
        if self.ask.link.peek(self.list) is None:
            return [self._skeleton(number) for number in range(SKELETONS)]
        choices, found = self.ask.choices, self.rows()
        wanted = (choices.get("filter", ""), choices.get("type", ""), choices.get("standing", ""))
        shown = filtered(found, words=wanted[0], type=wanted[1], standing=wanted[2])
        if not shown:
            return (self._empty(any(wanted)),)
        closed = {row.dom for row in shown if not any(wanted) and choices.get(f"fold.{row.dom}") == "closed"}
        kind, argument = self.chosen()
        selected = argument if kind == "why" else ""
        return [self._node(row, row.dom in closed, row.id == selected) for row in shown if row.parent not in closed]

    def drawer(self) -> Sequence[Node]:
        kind, argument = self.chosen()
        html = self._why_html(argument) if kind == "why" else self._history_html(argument) if kind == "history" else ""
        return (Node("drawer-it", html, lambda: html),) if html else ()

    # Inside

    def _node(self, row: Row, closed: bool, selected: bool) -> Node:
        name = self.ask.reader.t("web.custom.here") if row.name == HERE else row.name

        def render() -> str:
            return self.ask.render(
                "custom_row.html", row=row, name=name, closed=closed, selected=selected, path=self.path
            )

        return Node(row.dom, (row, closed, selected), render)

    def _skeleton(self, number: int) -> Node:
        return Node(f"custom-s{number}", "", lambda: self.ask.render("custom_skeleton.html", number=number))

    def _empty(self, searching: bool) -> Node:
        folders = [self.ask.folder(str(one)) for one in self.state.get("workingDirectories") or ()]

        def render() -> str:
            return self.ask.render("custom_empty.html", searching=searching, folders=folders)

        return Node("custom-none", (searching, tuple(folders)), render)

    def _why_html(self, id: str) -> str:
        item = self.ask.link.peek(self._why_name(id))
        if item is None:
            return ""
        clients = {str(one["clientId"]): str(one.get("displayName") or one["clientId"]) for one in self._clients()}
        agent = self._agent_name()
        told = chain(item, agent=agent, clients=clients)
        server = (self.ask.link.peek(self.tools) or {}).get(id) or {}
        acts = when_it_acts(
            str(item["type"]),
            acts=str(server.get("switch_acts") or "nextRequest"),
            provider=str(self.state.get("provider") or ""),
            running=bool(int(self.state.get("status") or 0) & IN_PROGRESS),
        )
        name = self.ask.reader.t("web.custom.here") if told.name == HERE else told.name
        tools = len(server.get("tools") or ())
        deciding = next((link for link in told.links if link.decides), None)
        container = str((item.get("container") or {}).get("id") or "")
        plugins = {row.id for row in self.rows() if row.type == "plugin"}
        values = {
            "chain": told,
            "deciding": deciding,
            "in_plugin": container in plugins,
            "name": name,
            "acts": acts,
            "tools": tools,
            "path": self.path,
        }
        return self.ask.render("custom_why.html", moment=self._moment, **values)

    def _history_html(self, id: str) -> str:
        """The records of the session, or those that tell of one item."""
        found: Sequence[State] = self.ask.link.peek(f"{self.list}:history") or ()
        if id:
            own = ({**one, "items": [item for item in one.get("items") or () if item["id"] == id]} for one in found)
            found = [one for one in own if one["items"] or one["kind"] == "exposure"]
        name = next((row.name for row in self.rows() if row.id == id), "")
        return self.ask.render(
            "custom_history.html", name=name, records=list(reversed(found))[:RECORDS], moment=self._moment
        )

    def _moment(self, at: str) -> str:
        return moment(at, self.ask.reader.lang)

    def _clients(self) -> Sequence[State]:
        found: Sequence[State] = self.state.get("activeClients") or ()
        return found

    def _agent_name(self) -> str:
        agents = (self.ask.link.peek(ROOT) or {}).get("agents") or ()
        provider = str(self.state.get("provider") or "")
        return next((str(one["displayName"]) for one in agents if one["provider"] == provider), provider)

    def _why_name(self, id: str) -> str:
        return f"why:{self.session}:{id}"

    async def read_list(self, *, history: bool = False) -> Sequence[State]:
        """The tree, or the records."""
        params = {"channel": self.session, "history": history}
        answer = await self.ask.link.request("x-innkeeper/customizations/list", params)
        found: Sequence[State] = answer["history" if history else "items"]
        return found

    async def _servers(self) -> Mapping[str, State]:
        """Reports by id; none where the host does not give them."""
        try:
            answer = await self.ask.link.request("x-innkeeper/mcp/list", {"channel": self.session})
        except RpcFailure:
            return {}
        return {str(one["id"]): one for one in answer["items"]}

    async def _why(self, id: str) -> State:
        params = {"channel": self.session, "name": id}
        answer = await self.ask.link.request("x-innkeeper/customizations/why", params)
        found: State = answer["items"][0]
        return found


def _session(ask: Ask) -> str:
    session = session_uri(ask.params["session"])
    if session is None:
        raise Problem(ask.reader.t("web.no_session"), status=404)
    return session


async def show(ask: Ask) -> View | Fragment:
    """The tree of one session."""
    session = _session(ask)
    if "why" in ask.query:
        ask.choices.setdefault("drawer", f"why:{ask.query['why']}")
    for name in ("filter", "type", "standing"):
        ask.choices.setdefault(name, ask.query.get(name, ""))
    page = CustomizationsPage(ask, session)
    await page.prepare()
    values = {"path": page.path, "types": TYPES, "count": counted(page.rows()).all, "choices": ask.choices}
    title = ask.reader.t("web.customizations")
    regions = (*sidebar(ask, None, place="customizations"), *page.regions())
    return View("customizations.html", title, regions, values, prepare=page.prepare)


async def show_latest(ask: Ask) -> View | Fragment:
    """The tree of the session that changed last."""
    await ask.link.client()
    latest = [one for one in ask.link.sessions.all() if not int(one.get("status") or 0) & IS_ARCHIVED]
    if not latest:
        regions = sidebar(ask, None, place="customizations")
        return View("customizations_none.html", ask.reader.t("web.customizations"), regions)
    ask.params = {"session": key_of(str(latest[0]["resource"]))}
    return await show(ask)


async def toggle(ask: Ask) -> Done:
    """One switch of one item."""
    session, id, scope = _session(ask), ask.field("id"), SCOPES.get(ask.field("scope"))
    if scope is None or ask.field("value") not in VALUES:
        raise Problem(ask.reader.t("web.custom.bad_switch"))
    state = await ask.link.state(session)
    try:
        action = set_enabled_action(state, CLIENT_ID, id, scope, VALUES[ask.field("value")])
    except LookupError:
        raise Problem(ask.reader.t("web.custom.gone"), code="CUSTOMIZATION_UNKNOWN", status=404) from None
    except ValueError:
        raise Problem(ask.reader.t("web.custom.no_folder")) from None
    return Done(page_path(session), answer=await answered(ask, session, action))


async def answered(ask: Ask, session: str, action: State) -> Mapping[str, str] | None:
    """Dispatches; None when the host took it in time, else the word that it waits."""
    task = asyncio.ensure_future(ask.link.dispatch(session, action))
    done, _ = await asyncio.wait({task}, timeout=ANSWER_SECONDS)
    if done:
        task.result()
        page = CustomizationsPage(ask, session)
        ask.link.put(page.list, await page.read_list())
        return None
    task.add_done_callback(lambda late: late.cancelled() or late.exception())
    return {"said": ask.reader.t("web.custom.queued")}


async def clear(ask: Ask) -> Done:
    """Takes the deciding decision of an item back; without a scope the first that it has."""
    session, id = _session(ask), ask.field("id")
    state = await ask.link.state(session)
    scope = SCOPES.get(ask.field("scope")) or _first_scope(state, id)
    if scope is None:
        raise Problem(ask.reader.t("web.custom.gone"), code="CUSTOMIZATION_UNKNOWN", status=404)
    try:
        action = set_enabled_action(state, CLIENT_ID, id, scope, None)
    except LookupError:
        raise Problem(ask.reader.t("web.custom.gone"), code="CUSTOMIZATION_UNKNOWN", status=404) from None
    return Done(page_path(session), answer=await answered(ask, session, action))


def _first_scope(state: State, id: str) -> Scope | None:
    from innkeeper.client.enablement import find_customization

    found = find_customization(state, id)
    first = next(iter((found[0].get("enablement") if found else None) or ()), None)
    return SCOPES.get(str(first["kind"])) if first is not None else None


async def pin(ask: Ask) -> Done:
    """Holds the value of a scope although it equals what it inherits, or lets it go (C2.3b)."""
    session, id, scope = _session(ask), ask.field("id"), SCOPES.get(ask.field("scope"))
    if scope is None or ask.field("do") not in ("pin", "unpin"):
        raise Problem(ask.reader.t("web.custom.bad_switch"))
    params = {"channel": session, "id": id, "scope": scope}
    try:
        await ask.link.request(f"x-innkeeper/customizations/{ask.field('do')}", params)
    except Refused as error:
        raise Problem(str(error)) from error
    ask.link.refresh(f"customizations:{session}")
    ask.link.refresh(f"why:{session}:{id}")
    return Done(page_path(session))


PAGES: Pages = (("/customizations", show_latest), ("/s/{session}/customizations", show))
ACTIONS: Actions = (
    ("/s/{session}/customizations/toggle", toggle),
    ("/s/{session}/customizations/clear", clear),
    ("/s/{session}/customizations/pin", pin),
)
