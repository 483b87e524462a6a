"""One agent that speaks ACP as a provider of the host (issue 6).

Rules
* Constructing it starts nothing and imports nothing of the SDK; looking for the program is looking on the PATH.
* Models and modes are what the agent reported in its last session; before it has run, its own default is offered and
  nothing is made up.
* Whether it has a login is what it said when it was asked to do something; a session may always be tried.
"""

import asyncio
import importlib.util
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from innkeeper.protocol.root.state import AgentInfo, SessionModelInfo
from innkeeper.protocol.session.state import SessionConfigSchema
from innkeeper.providers.acp.known import Known, learnt, load, store
from innkeeper.providers.acp.profiles import Profile, version_of
from innkeeper.providers.spi import Backing, Inspection, ProviderError, SessionOpening, Surroundings, Unavailable
from innkeeper.texts import text

if TYPE_CHECKING:
    from innkeeper.providers.acp.session import AcpSession

log = logging.getLogger(__name__)

MODULE: Final = "acp"
PACKAGE: Final = "agent-client-protocol"
INSTALL: Final = "pip install 'innkeeper[acp]'"


class AcpProvider:
    def __init__(self, given: Surroundings, profile: Profile) -> None:
        self._given = given
        self._profile = profile
        self._directory = given.directory / profile.name
        self._known: Known | None = None
        self._logged_out = False
        self._changed: Callable[[], None] = lambda: None
        self._storing: set[asyncio.Task[None]] = set()

    @property
    def info(self) -> AgentInfo:
        models: list[SessionModelInfo] = [self._model("default", text("acp.defaultModel"))]
        models.extend(self._model(id, name) for id, name in self._remembered().models if id != "default")
        return {
            "provider": self._profile.name,
            "displayName": self._profile.title,
            "description": text("acp.description"),
            "models": models,
            "capabilities": {"multipleChats": {"fork": True, "sideChat": True}},
        }

    def takes_model(self, id: str) -> bool:
        """Before the agent has said which it has, any (spi.Choosing)."""
        known = self._remembered().models
        return not known or id == "default" or any(one == id for one, _ in known)

    @property
    def unavailable(self) -> Unavailable | None:
        agent = self._profile.title
        if importlib.util.find_spec(MODULE) is None:
            reason = text("error.AGENT_EXTRA_MISSING.meaning", agent=agent, package=PACKAGE)
            return Unavailable("AGENT_EXTRA_MISSING", reason, INSTALL)
        program = self._profile.program
        if program is None or not Path(program).is_file():
            reason = text("error.AGENT_BINARY_MISSING.meaning", agent=agent)
            return Unavailable("AGENT_BINARY_MISSING", reason, self._profile.install)
        if self._logged_out:
            how = self._profile.signing_in(self._directory, share_login=self._given.share_login)
            reason = text("error.AGENT_LOGIN_MISSING.meaning", agent=agent)
            return Unavailable("AGENT_LOGIN_MISSING", reason, how or text("acp.signIn"))
        return None

    def watch(self, changed: Callable[[], None]) -> None:
        self._changed = changed

    def can_resume(self, backing: Backing | None) -> bool:
        return bool(backing and backing.get("session"))

    def config_schema(self, directory: str | None, values: Mapping[str, object]) -> SessionConfigSchema:
        modes = self._remembered().modes
        if not modes:
            return {"type": "object", "properties": {}}
        return {
            "type": "object",
            "properties": {
                "agentMode": {
                    "type": "string",
                    "title": text("acp.mode.title"),
                    "description": text("acp.mode.description"),
                    "enum": [id for id, _ in modes],
                    "enumLabels": [name for _, name in modes],
                    "sessionMutable": True,
                }
            },
        }

    async def open_session(self, opening: SessionOpening) -> "AcpSession":
        missing = self.unavailable
        if missing is not None and missing.code != "AGENT_LOGIN_MISSING":
            raise ProviderError(missing.code, text("agent.unavailable", reason=missing.reason, remedy=missing.remedy))
        await asyncio.to_thread(importlib.import_module, "acp")
        from innkeeper.providers.acp.session import AcpSession

        session = AcpSession(opening, self._given, self._profile, self._directory, self)
        try:
            await session.start()
        except BaseException:
            await session.close()
            raise
        return session

    async def close(self) -> None:
        if self._storing:
            await asyncio.wait(self._storing)

    def inspect(self) -> Inspection:
        """The agent's own version is what npm says of it, else what it said when it ran."""
        from importlib import metadata

        try:
            sdk = metadata.version(PACKAGE)
        except metadata.PackageNotFoundError:
            sdk = ""
        version = version_of(self._profile.program or "") or self._remembered().version
        return Inspection({PACKAGE: sdk, self._profile.name: version or ""}, version in self._profile.tested)

    # -- what its sessions report --------------------------------------------------------------------------------

    def learnt(self, options: Mapping[str, Any], version: str | None) -> None:
        found = learnt(options, version, self._remembered())
        if found == self._known:
            return
        self._known = found
        task = asyncio.create_task(asyncio.to_thread(store, self._directory, found))
        self._storing.add(task)
        task.add_done_callback(self._storing.discard)
        self._changed()

    def signed_in(self, found: bool) -> None:
        if self._logged_out is found:
            self._logged_out = not found
            self._changed()

    # -- inside --------------------------------------------------------------------------------------------------

    def _remembered(self) -> Known:
        if self._known is None:
            self._known = load(self._directory)
        return self._known

    def _model(self, id: str, name: str) -> SessionModelInfo:
        return {"id": id, "provider": self._profile.name, "name": name}
