"""Settings: keys, MCP, agents, language and theme, about (M9.2, M9.3, M9.4).

Rules
* What is shown of the host's settings is what `settings/get` gives: operator-only settings are not among it. Of those
  that changed in the file only the names are told, as *after restart*.
* A page that is looked at asks again every few seconds, since no state of AHP tells of a change in the file.
* With `web_control = false` every settings page is one panel: who switched it off, and the commands.
"""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final

from innkeeper.web import agent_keys
from innkeeper.web.agent_keys import reason_of, remedy_of
from innkeeper.web.asking import Ask, Pages, Problem, View
from innkeeper.web.link import LINK, ROOT, SESSIONS
from innkeeper.web.live import Region, block
from innkeeper.web.mcp_reports import SETTINGS, directory_of, settings, settings_now
from innkeeper.web.names import local_path

SECTIONS: Final = (("general", "gear"), ("mcp", "plug"), ("agents", "robot"), ("look", "globe"), ("about", "info"))
GRANTS: Final = "mcp-grants"
PLACES: Final = "mcp-places"
STATUS: Final = "host-status"
BUILTINS: Final = ("root", "vscode", "codex", "cursor", "gemini")
"""Those that `enabled_builtins` may name, in their order (M9.6)."""
NAMES: Final[Mapping[str, str]] = {"vscode": "VS Code", "codex": "Codex", "cursor": "Cursor", "gemini": "Gemini"}
Answer = Mapping[str, Any]


class SettingsPage:
    """The regions of the settings pages."""

    def __init__(self, ask: Ask, section: str) -> None:
        self.ask, self.section = ask, section
        self.folder = ""
        """Whose files are counted: that of the newest session."""

    async def prepare(self) -> None:
        """Asks for everything that this section shows."""
        if not self.ask.options.web_control:
            return
        link = self.ask.link
        if self.section == "mcp":
            await settings(link, fresh=True)
            self.folder = await self._newest_folder()
            await self._fresh(GRANTS, "x-innkeeper/mcp/grants", {"channel": ROOT})
            await self._fresh(PLACES, "x-innkeeper/mcp/editPlaces", {"channel": ROOT, "directory": self.folder})
        elif self.section == "about":
            await self._fresh(STATUS, "x-innkeeper/status", {"channel": ROOT})

    async def _fresh(self, name: str, method: str, params: Answer) -> None:
        async def asked() -> Any:
            return await self.ask.link.request(method, params)

        link = self.ask.link
        if name in link.reports(name):
            link.put(name, await asked())
        else:
            await link.report(name, asked, (ROOT,))

    async def _newest_folder(self) -> str:
        for session in self.ask.link.sessions.all():
            found = directory_of(session)
            if found is not None:
                return found
        return self.ask.options.home or "/"

    def regions(self) -> Sequence[Region]:
        shell = (block("settings-nav", self.nav, (LINK, SESSIONS)), block("settings-bar", self.bar, (self._name,)))
        if not self.ask.options.web_control:
            return (*shell, block("settings-off", lambda: self._render("settings_off.html"), (LINK,)))
        groups = {
            "general": (("keys", ()),),
            "mcp": (
                ("fault", (self._name,)),
                ("trust", (self._name,)),
                ("files", (self._name, PLACES)),
                ("workspaces", (self._name,)),
                ("allowances", (self._name, GRANTS)),
                ("conflict", (self._name,)),
            ),
            "agents": (("agents", (ROOT,)),),
            "look": (("look", ()),),
            "about": (("about", (STATUS, LINK)),),
        }[self.section]
        keys = (agent_keys.region(self.ask),) if self.section == "agents" else ()
        return (*shell, *(self._group(name, channels) for name, channels in groups), *keys)

    def group_ids(self) -> list[str]:
        return [region.id for region in self.regions() if region.id.startswith(("group-", "settings-off"))]

    def nav(self) -> str:
        return self._render("settings_nav.html", sections=SECTIONS, connected=self.ask.link.connected)

    def bar(self) -> str:
        known = settings_now(self.ask.link) if self.section == "mcp" else {}
        return self._render("settings_bar.html", fault=known.get("fault"))

    _name = f"{SETTINGS}:{ROOT}"

    def _group(self, name: str, channels: Sequence[str]) -> Region:
        return block(f"group-{name}", lambda: self._render(f"settings_{name}.html", **self._values(name)), channels)

    def _values(self, name: str) -> dict[str, Any]:
        link = self.ask.link
        match name:
            case "agents":
                root = link.peek(ROOT) or {}
                agents = root.get("agents") or ()
                rows = [(one, found, *remedy_of(found)) for one in agents for found in (reason_of(one),)]
                return {"agents": rows, "keys": agent_keys.keys(self.ask)}
            case "about":
                return {"status": link.peek(STATUS) or {}, "connected": link.connected}
            case "keys" | "look":
                return {}
        known = settings_now(link)
        values: dict[str, Any] = {"revision": known.get("revision") or "", "known": known, "group": name}
        hot = known.get("settings") or {}
        values["hot"] = hot
        if name == "files":
            values |= {"builtins": self._builtins(hot), "folder": self.ask.folder(self.folder)}
        if name == "allowances":
            values["grants"] = (link.peek(GRANTS) or {}).get("items") or ()
        return values

    def _builtins(self, hot: Answer) -> list[dict[str, Any]]:
        places = (self.ask.link.peek(PLACES) or {}).get("items") or ()
        found = []
        for id in BUILTINS:
            mine = [one for one in places if one["preset"] == id]
            files = [one["file"] for one in mine]
            exists = any(one["exists"] for one in mine)
            on = id in (hot.get("enabled_builtins") or ())
            found.append({"id": id, "name": NAMES.get(id, id), "files": files, "exists": exists, "on": on})
        return found

    def _render(self, template: str, **values: Any) -> str:
        return self.ask.render(template, section=self.section, where=workspace_name(self.ask), **values)


def workspace_name(ask: Ask) -> Any:
    """How a stored workspace, a path or a URI, is written."""
    return lambda found: ask.folder(local_path(str(PurePosixPath(found))) if found.startswith("/") else found)


async def show(ask: Ask) -> View:
    """One section."""
    section = ask.params.get("section", "general")
    if section not in dict(SECTIONS):
        raise Problem(ask.reader.t("web.not_found"), status=404)
    page = SettingsPage(ask, section)
    await page.prepare()
    regions = page.regions()
    values = {"section": section, "groups": page.group_ids()}
    title = "MCP" if section == "mcp" else ask.reader.t(f"web.settings.{section}")
    return View("settings.html", title, regions, values, prepare=page.prepare)


PAGES: Pages = (("/settings", show), ("/settings/{section}", show))
ACTIONS = ()
