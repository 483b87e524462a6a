"""What a new session is made of: agent, folder, configuration, first message (AHP §9.1).

Rules
* The configuration is what `resolveSessionConfig` says for the chosen agent and folder; it is asked for again when one
  of them changes, and what was chosen stays where it still fits.
* A folder is a path on the machine of the host, `~` for its home. Nothing is created before the button was pressed.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from innkeeper.client import RpcFailure
from innkeeper.web import agent_keys
from innkeeper.web.agent_keys import reason_of, remedy_of
from innkeeper.web.asking import Ask, Problem
from innkeeper.web.composing import HOST_MODES, offered_models
from innkeeper.web.link import ROOT
from innkeeper.web.live import Region, block
from innkeeper.web.names import folder, workspace

State = Mapping[str, Any]
HIDDEN: Final = frozenset({"permissions", "trackBranch", "createBranch", "includeFiles"})
"""Properties that a person sets elsewhere: rules of tools, and what the command line is for."""
FOLDERS: Final = 20


class NewSession:
    """The regions `new-agents` and `new-config`, and what the tab has chosen in them."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self._resolved: State = {}
        self._wrong = ""

    @property
    def agents(self) -> Sequence[State]:
        found: Sequence[State] = (self.ask.link.peek(ROOT) or {}).get("agents") or ()
        return found

    @property
    def provider(self) -> str:
        """The chosen agent: else the one of the latest session, else the first that can be had."""
        chosen = self.ask.choices.get("provider") or self.ask.query.get("agent", "")
        usable = [str(one["provider"]) for one in self.agents if reason_of(one) is None]
        if chosen in {str(one["provider"]) for one in self.agents}:
            return chosen
        latest = next((str(one.get("provider")) for one in self.ask.link.sessions.all()), "")
        others = [one for one in usable if one != "console"]
        return latest if latest in usable else (others or usable or [""])[0]

    @property
    def folder(self) -> str:
        """The chosen folder, as a person writes it."""
        return self.ask.choices.get("folder", self.ask.query.get("folder", "")) or next(iter(self.folders), "")

    @property
    def folders(self) -> Sequence[str]:
        """Folders of earlier sessions, and the one that the host offers."""
        found = [workspace(one) for one in self.ask.link.sessions.all()]
        offered = str(self.ask.link.initialized.get("defaultDirectory") or "")
        named = [folder(uri, self.ask.options.home) for uri in (*found, offered) if uri]
        return list(dict.fromkeys(named))[:FOLDERS]

    async def prepare(self) -> None:
        """Asks what can be configured for what is chosen now."""
        await self.ask.link.client()
        params: dict[str, Any] = {"channel": ROOT, "provider": self.provider}
        try:
            if self.folder:
                params["workingDirectory"] = folder_uri(self.ask, self.folder)
            self._resolved, self._wrong = await self.ask.link.request("resolveSessionConfig", params), ""
        except RpcFailure as error:
            self._resolved, self._wrong = {}, error.message
        except Problem as problem:
            self._resolved, self._wrong = {}, problem.message

    def regions(self) -> tuple[Region, ...]:
        return (
            block("new-agents", self._agents, (ROOT,)),
            block("new-config", self._config, (ROOT,)),
            agent_keys.region(self.ask),
        )

    def _agents(self) -> str:
        rows = [(one, found, *remedy_of(found)) for one in self.agents for found in (reason_of(one),)]
        return self.ask.render("new_agents.html", rows=rows, chosen=self.provider, keys=agent_keys.keys(self.ask))

    def _config(self) -> str:
        properties: Mapping[str, State] = (self._resolved.get("schema") or {}).get("properties") or {}
        values: State = self._resolved.get("values") or {}
        fields = [self._field(name, rule, values) for name, rule in properties.items() if _is_offered(name, rule)]
        return self.ask.render(
            "new_config.html", fields=fields, wrong=self._wrong, models=self.models, of=self.provider
        )

    @property
    def models(self) -> Sequence[State]:
        """What the chosen agent lets one choose; nothing where there is no choice."""
        agent = next((one for one in self.agents if one["provider"] == self.provider), {})
        offered = offered_models(agent)
        return offered if len(offered) > 1 else ()

    def _field(self, name: str, rule: State, values: State) -> dict[str, Any]:
        labels, t = list(rule.get("enumLabels") or ()), self.ask.reader.t
        options = []
        for at, value in enumerate(rule.get("enum") or ()):
            label = t(f"config.{name}.{value}") if name in HOST_MODES else labels[at] if at < len(labels) else value
            options.append((str(value), str(label)))
        title = t(f"config.{name}.title") if name in HOST_MODES else str(rule.get("title") or name)
        return {
            "name": name,
            "title": title,
            "options": options,
            "value": "" if values.get(name) is None else str(values[name]),
            "boolean": rule.get("type") == "boolean",
            "checked": values.get(name) is True,
        }


def _is_offered(name: str, rule: State) -> bool:
    return name not in HIDDEN and not rule.get("readOnly") and rule.get("type") in ("string", "boolean")


def folder_uri(ask: Ask, written: str) -> str:
    """The `file:` URI of a folder as a person writes it. Raises Problem."""
    path, home = written.strip(), ask.options.home
    if path == "~" or path.startswith("~/"):
        path = (home or "") + path[1:]
    if not path.startswith("/") or "\0" in path:
        raise Problem(ask.reader.t("web.new.absolute"))
    return "file://" + quote(path.rstrip("/") or "/")
