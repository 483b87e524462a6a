"""The first start: agents with what is missing of them, a folder, the first message (design, ui.md §4).

Rules
* Nothing is started by looking: agents say what is missing, and of a folder only its declarations are read.
* It is the form of a new session in three steps; what can be chosen, and what is sent, is the same.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from innkeeper.client import RpcFailure
from innkeeper.web import agent_keys
from innkeeper.web.agent_keys import reason_of, remedy_of
from innkeeper.web.asking import Ask, Problem
from innkeeper.web.composing import HOST_MODES
from innkeeper.web.link import ROOT
from innkeeper.web.live import Region, block
from innkeeper.web.new_session import NewSession, folder_uri

State = Mapping[str, Any]
MISSING: Final = ("AGENT_BINARY_MISSING", "AGENT_EXTRA_MISSING")


class AgentRow(NamedTuple):
    """One agent. `mark` is `ok`, `warn` (something is to be done) or `hollow` (not installed); `command` is the
    remedy where it is one that can be copied, `advice` where it is words."""

    provider: str
    name: str
    mark: str
    reason: str
    command: str
    advice: str


def agent_rows(agents: Sequence[State]) -> list[AgentRow]:
    """Those that can be had first, the one without a model behind them."""
    order = ("ok", "warn", "hollow")
    return sorted((_row(agent) for agent in agents), key=lambda row: (order.index(row.mark), row.provider == "console"))


def _row(agent: State) -> AgentRow:
    name, provider = str(agent.get("displayName") or agent["provider"]), str(agent["provider"])
    missing = reason_of(agent)
    if missing is None:
        return AgentRow(provider, name, "ok", "", "", "")
    mark = "hollow" if missing.get("code") in MISSING else "warn"
    return AgentRow(provider, name, mark, str(missing.get("reason") or ""), *remedy_of(missing))


class FirstStart(NewSession):
    """The regions of the page. `declared` are the servers that the chosen folder declares, by name and files."""

    def __init__(self, ask: Ask) -> None:
        super().__init__(ask)
        self.declared: Sequence[tuple[str, str]] = ()

    async def prepare(self) -> None:
        await super().prepare()
        self.declared = await self._scan()

    async def _scan(self) -> Sequence[tuple[str, str]]:
        """Nothing where the folder cannot be read, or where the operator closed this to clients."""
        if not self.folder:
            return ()
        try:
            params = {"channel": ROOT, "directory": folder_uri(self.ask, self.folder)}
            found = await self.ask.link.request("x-innkeeper/mcp/editScan", params)
        except (RpcFailure, Problem):
            return ()
        places = {(str(one["server"]), str(one["file"])) for group in found["groups"] for one in group["places"]}
        return sorted(places)

    @property
    def usable(self) -> bool:
        return any(reason_of(one) is None for one in self.agents)

    def regions(self) -> tuple[Region, ...]:
        return (
            block("new-agents", self._agents, (ROOT,)),
            block("first-folder", self._folder, (ROOT,)),
            block("new-config", self._config, (ROOT,)),
            agent_keys.region(self.ask),
        )

    def _agents(self) -> str:
        values = {"rows": agent_rows(self.agents), "keys": agent_keys.keys(self.ask)}
        return self.ask.render("first_agents.html", chosen=self.provider, usable=self.usable, **values)

    def _folder(self) -> str:
        files = sorted({file for _, file in self.declared})
        servers = len({name for name, _ in self.declared})
        return self.ask.render("first_folder.html", declared=self.declared, servers=servers, files=files)

    def _config(self) -> str:
        properties: Mapping[str, State] = (self._resolved.get("schema") or {}).get("properties") or {}
        values: State = self._resolved.get("values") or {}
        offered = {name: rule for name, rule in properties.items() if _in_row(rule)}
        own = {name: rule for name, rule in offered.items() if name not in HOST_MODES} or offered
        fields = [self._field(name, rule, values) for name, rule in own.items()]
        agents = {str(one["provider"]): str(one.get("displayName") or "") for one in self.agents}
        servers = len({name for name, _ in self.declared})
        values = {"agent": agents.get(self.provider, ""), "models": self.models, "of": self.provider}
        return self.ask.render("first_config.html", fields=fields, wrong=self._wrong, servers=servers, **values)


def _in_row(rule: State) -> bool:
    """Choices of words stand in the tool row, the agent's own where it has any; everything else is set on the page of
    a new session."""
    return bool(rule.get("enum")) and not rule.get("readOnly") and len(rule["enum"]) > 1
