"""GitHub Copilot CLI as an agent of the host, by the official SDK (issue 6; providers.spi).

Rules
* The SDK is imported, and the runtime started, when the first session opens; before that their presence is looked up.
* One runtime serves all sessions, with a configuration directory of the host's.
* A login is a client's token, a token of the host's environment, the agent's own in its directory, or a shared one; or
  none is needed, with a model service of the operator's own. Tokens are in memory only, and shown nowhere.
"""

import asyncio
import hashlib
import logging
import shlex
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from innkeeper.protocol.root.state import AgentInfo
from innkeeper.protocol.session.state import SessionConfigSchema
from innkeeper.providers.copilot import install, known
from innkeeper.providers.copilot.install import AGENT
from innkeeper.providers.copilot.launch import Launch, launch, own_home, stored_login, stored_token
from innkeeper.providers.copilot.place import place
from innkeeper.providers.copilot.runtime import Runtimes
from innkeeper.providers.copilot.service import RESOURCE, Service, agent_info, models, service
from innkeeper.providers.spi import (
    Adopted,
    Backing,
    Completion,
    Inspection,
    ProviderError,
    SessionOpening,
    Surroundings,
    Transcript,
    Unavailable,
)
from innkeeper.texts import text

if TYPE_CHECKING:
    from innkeeper.providers.copilot.session import CopilotSession

log = logging.getLogger(__name__)

IDS: Final = uuid.UUID("0b6d8e5c-54a7-4f0e-9a43-6a8f4c0f6f52")


class CopilotProvider:
    def __init__(self, given: Surroundings) -> None:
        self._given = given
        self._token: str | None = None
        self._models = known.load(given.directory)
        self._changed: Callable[[], None] = lambda: None
        self._lacking: list[str] | None = None
        self._learnt_from: object = None
        self._runtimes = Runtimes(given.processes, self._launch)
        self.sessions: set[CopilotSession] = set()
        """Those that are open."""

    # -- what is listed ------------------------------------------------------------------------------------------

    @property
    def info(self) -> AgentInfo:
        own = self._service()
        return agent_info(self._models if own.provider is None else (), own)

    @property
    def unavailable(self) -> Unavailable | None:
        found = install.find(self._given.program, self._given.environment)
        if isinstance(found, Unavailable):
            return found
        if self._lacking:
            reason = text("error.AGENT_UNSUPPORTED.meaning", agent=AGENT, missing=", ".join(self._lacking))
            return Unavailable("AGENT_UNSUPPORTED", reason, install.INSTALL)
        if not self._logged_in():
            home = shlex.quote(str(self._home))
            remedy = f"COPILOT_HOME={home} {shlex.quote(str(found))} login"
            if self._given.share_login:
                remedy = f"{shlex.quote(str(found))} login"
            return Unavailable("AGENT_LOGIN_MISSING", text("error.AGENT_LOGIN_MISSING.meaning", agent=AGENT), remedy)
        return None

    def watch(self, changed: Callable[[], None]) -> None:
        self._changed = changed

    def can_resume(self, backing: Backing | None) -> bool:
        return place(backing) is not None

    def config_schema(self, directory: str | None, values: Mapping[str, object]) -> SessionConfigSchema:
        """Nothing beside the host's own: what the agent may do is for the host to answer, and models have their own."""
        return {"type": "object", "properties": {}}

    # -- sessions ------------------------------------------------------------------------------------------------

    async def open_session(self, opening: SessionOpening) -> "CopilotSession":
        await self._admitted()
        from innkeeper.providers.copilot import transcripts
        from innkeeper.providers.copilot.conversation import Shared
        from innkeeper.providers.copilot.session import CopilotSession

        name = hashlib.sha256(opening.session.encode()).hexdigest()[:24]
        shared = Shared(
            session=opening.session,
            directories=list(opening.directories) or [await self._empty_directory()],
            folder=self._given.directory / "handed" / name,
            runtimes=self._runtimes,
            service=self._service,
            learnt=self._learn,
            adopt=lambda folder, id: transcripts.copy(folder, id, self._home),
            eligible=opening.customizations,
            new_id=self._new_id,
        )
        self._runtimes.enter()
        try:
            await self._runtimes.get()
        except BaseException:
            await self._runtimes.leave()
            raise
        session = CopilotSession(shared, self._given, self.sessions.discard)
        self.sessions.add(session)
        return session

    async def close(self) -> None:
        await self._runtimes.close()

    # -- beside sessions -----------------------------------------------------------------------------------------

    async def complete(self, completion: Completion) -> str:
        await self._admitted()
        from innkeeper.providers.copilot.completing import complete

        self._runtimes.enter()
        try:
            runtime = await self._runtimes.get()
            directory = await self._empty_directory()
            return await complete(runtime, self._service(), completion, directory, self._new_id())
        finally:
            await self._runtimes.leave()

    async def transcripts(self, directory: str | None) -> Sequence[Transcript]:
        """The person's own."""
        from innkeeper.providers.copilot import transcripts

        theirs = own_home(self._given.environment)
        return [] if theirs is None else await asyncio.to_thread(transcripts.listed, theirs, directory)

    async def read_transcript(self, id: str, directory: str | None) -> Adopted:
        from innkeeper.providers.copilot import transcripts

        theirs = own_home(self._given.environment)
        found = None if theirs is None else await asyncio.to_thread(transcripts.read, theirs, id, directory)
        if found is None:
            raise ProviderError("TRANSCRIPT_UNKNOWN", text("error.TRANSCRIPT_UNKNOWN.meaning", agent=AGENT))
        return found

    async def take_token(self, resource: str, token: str | None) -> None:
        if resource.rstrip("/") != RESOURCE:
            raise ProviderError("AGENT_REFUSED", text("agent.foreignResource"))
        self._token = token
        self._learnt_from = None
        self._changed()

    def inspect(self) -> Inspection:
        from innkeeper.providers.copilot.sdk import lacking

        found = install.find(self._given.program, self._given.environment)
        agent = None if isinstance(found, Unavailable) else install.agent_version(found)
        versions = (install.sdk_version() or "", agent or "")
        names = dict(zip((install.PACKAGE, install.NPM), versions, strict=True))
        return Inspection(names, versions in install.TESTED, lacking())

    # -- inside --------------------------------------------------------------------------------------------------

    @property
    def _home(self) -> Path:
        return self._given.directory / "home"

    def _service(self) -> Service:
        token = self._token
        if token is None and self._given.share_login:
            token = stored_token(own_home(self._given.environment))
        return service(self._given.environment, token)

    def _logged_in(self) -> bool:
        """Whether a token or a stored login is there. What a keychain holds is noted in the agent's own file."""
        own = self._service()
        if own.provider is not None or own.token is not None or stored_login(self._home):
            return True
        return self._given.share_login and stored_login(own_home(self._given.environment))

    def _new_id(self) -> str:
        """For a conversation of the agent's, which takes UUIDs only."""
        return str(uuid.uuid5(IDS, self._given.ids.new()))

    async def _empty_directory(self) -> str:
        folder = self._given.directory / "empty"
        await asyncio.to_thread(folder.mkdir, mode=0o700, parents=True, exist_ok=True)
        return str(folder)

    async def _admitted(self) -> None:
        """Raises ProviderError. Imports the SDK, once, off the loop."""
        found = install.find(self._given.program, self._given.environment)
        if self._lacking is None and not isinstance(found, Unavailable):
            from innkeeper.providers.copilot.sdk import lacking

            self._lacking = await asyncio.to_thread(lacking)
        missing = self.unavailable
        if missing is not None:
            raise ProviderError(missing.code, text("agent.unavailable", reason=missing.reason, remedy=missing.remedy))

    async def _launch(self) -> Launch:
        given = self._given
        program = install.find(given.program, given.environment)
        if isinstance(program, Unavailable):
            raise ProviderError(program.code, text("agent.unavailable", reason=program.reason, remedy=program.remedy))
        return await asyncio.to_thread(
            launch, program, given.environment, given.directory, share_login=given.share_login
        )

    async def _learn(self, session: Any) -> None:
        """Which models there are, from a session that is open; once with each login."""
        if self._service().provider is not None or self._learnt_from is not None:
            return
        self._learnt_from = session
        runtime = self._runtimes.running
        if runtime is None:
            return
        try:
            reported = await runtime.ask(session.rpc.model.list())
        except Exception as error:  # a session without them can be used all the same
            log.info("copilot did not say which models it has: %s", type(error).__name__)
            return
        found = models([one if isinstance(one, Mapping) else one.to_dict() for one in reported.list])
        if found and found != self._models:
            self._models = found
            await asyncio.to_thread(known.store, self._given.directory, found)
            self._changed()
