"""Codex as a provider: `codex app-server` of the `openai-codex` package, one process for all sessions (issue 6).

Rules
* Constructing it starts nothing and imports nothing of the SDK; looking for the binary costs no process.
* Models are what the agent reports; before it has run once none is listed, and nothing is made up.
* A login is a client's token, Codex's own stored one, the shared one of the person, or a key of the host's environment.
  The first and the last live in the memory of a process that stores no login at all. None is ever logged.
* Its own protocol is spoken here, not through the SDK's client, which offers no approval by a person.
"""

import asyncio
import logging
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from innkeeper.ports.processes import Command
from innkeeper.protocol.common.state import ProtectedResourceMetadata
from innkeeper.protocol.root.state import AgentInfo
from innkeeper.protocol.session.state import SessionConfigSchema
from innkeeper.providers.codex import known, settings
from innkeeper.providers.codex.install import AGENT, DISTRIBUTION, LOGIN, TESTED, find, installed_version
from innkeeper.providers.codex.known import Known
from innkeeper.providers.codex.launch import command, prepare_home, user_home
from innkeeper.providers.codex.rpc import Refused
from innkeeper.providers.codex.server import AppServer, AppServers
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
from innkeeper.providers.telling import failed_to_start, logged_out, masked, refused
from innkeeper.texts import text

if TYPE_CHECKING:
    from innkeeper.providers.codex.session import CodexSession

log = logging.getLogger(__name__)

RESOURCE: Final = "https://api.openai.com/"
LEARN_AFTER_SECONDS: Final = 1.0
"""The host itself starts first."""
KEYS: Final = ("CODEX_API_KEY", "OPENAI_API_KEY")


class CodexProvider:
    def __init__(self, given: Surroundings) -> None:
        self._given = given
        self._known: Known | None = None
        self._changed: Callable[[], None] = lambda: None
        self._learning: asyncio.Task[None] | None = None
        self._token: str | None = None
        self._wants_login = False
        self._logged_out: bool | None = None
        """What a process said; None before one has run."""
        self._servers = AppServers(given.processes, self._launch, self._started)

    # -- Provider ------------------------------------------------------------------------------------------------

    @property
    def info(self) -> AgentInfo:
        return {
            "provider": "codex",
            "displayName": text("codex.name"),
            "description": text("codex.description"),
            "models": list(self._known.models) if self._known is not None else [],
            "protectedResources": [_resource()],
            "capabilities": {
                "multipleChats": {"fork": True, "sideChat": True},
                "multipleWorkingDirectories": {"immutablePrimary": True},
            },
        }

    @property
    def unavailable(self) -> Unavailable | None:
        found = find(self._given.program)
        if isinstance(found, Unavailable):
            return found
        if self._misses_login():
            return Unavailable(
                "AGENT_LOGIN_MISSING", text("error.AGENT_LOGIN_MISSING.meaning", agent=AGENT), self._remedy
            )
        return None

    def watch(self, changed: Callable[[], None]) -> None:
        """Learns what it is from a process of its own, once in the life of its folder."""
        self._changed = changed
        self._known = known.load(self._given.directory)
        if self._known is None and not isinstance(find(self._given.program), Unavailable):
            self._learning = asyncio.get_running_loop().create_task(self._learn(), name="codex learns")

    def can_resume(self, backing: Backing | None) -> bool:
        return bool(backing and backing.get("thread"))

    def config_schema(self, directory: str | None, values: Mapping[str, object]) -> SessionConfigSchema:
        return settings.schema()

    async def open_session(self, opening: SessionOpening) -> "CodexSession":
        found = self.unavailable
        if found is not None and found.code != "AGENT_LOGIN_MISSING":
            raise ProviderError(found.code, f"{found.reason} {found.remedy}")
        self._servers.enter()
        try:
            await self._servers.get()
            if self._logged_out:
                raise self._no_login()
        except BaseException:
            await self._servers.leave()
            raise
        from innkeeper.providers.codex.session import CodexSession

        return CodexSession(opening, self._given, self._servers)

    async def close(self) -> None:
        if self._learning is not None:
            self._learning.cancel()
            await asyncio.wait([self._learning])
        await self._servers.close()

    # -- Completing, Adopting, TokenTaking, Inspecting -----------------------------------------------------------

    async def complete(self, completion: Completion) -> str:
        from innkeeper.providers.codex.completing import complete

        self._servers.enter()
        try:
            server = await self._servers.get()
            if self._logged_out:
                raise self._no_login()
            return await complete(server, completion, str(self._given.directory), self._given.clock.monotonic)
        finally:
            await self._servers.leave()

    async def transcripts(self, directory: str | None) -> Sequence[Transcript]:
        from innkeeper.providers.codex import transcripts

        theirs = user_home(self._given.environment)
        return [] if theirs is None else await asyncio.to_thread(transcripts.listed, theirs, directory)

    async def read_transcript(self, id: str, directory: str | None) -> Adopted:
        from innkeeper.providers.codex import transcripts

        theirs = user_home(self._given.environment)
        self._servers.enter()
        try:
            return await transcripts.adopted(await self._servers.get(), theirs, self._home, id)
        finally:
            await self._servers.leave()

    async def take_token(self, resource: str, token: str | None) -> None:
        if resource.rstrip("/") != RESOURCE.rstrip("/"):
            raise refused(AGENT, resource)
        self._token = token
        self._logged_out = None
        server = self._servers.running
        if server is not None:
            server.retires = True
        self._changed()

    def inspect(self) -> Inspection:
        """The operator's own binary has a version that is not known before it runs."""
        version = None if self._given.program is not None else installed_version()
        return Inspection({DISTRIBUTION: version or ""}, version in TESTED)

    # -- inside --------------------------------------------------------------------------------------------------

    @property
    def _home(self) -> Path:
        return self._given.directory / "home"

    @property
    def _remedy(self) -> str:
        if not self._home.exists():
            return LOGIN
        return f"CODEX_HOME={shlex.quote(str(self._home))} {shlex.quote(str(find(self._given.program)))} login"

    def _no_login(self) -> ProviderError:
        why = text("error.AGENT_LOGIN_MISSING.meaning", agent=AGENT)
        return ProviderError("AGENT_LOGIN_MISSING", f"{why} {self._remedy}")

    def _key(self) -> str | None:
        environment = self._given.environment
        return self._token or next((environment[name] for name in KEYS if environment.get(name)), None)

    def _launch(self) -> tuple[Command, Path]:
        program = find(self._given.program)
        if isinstance(program, Unavailable):
            raise ProviderError(program.code, f"{program.reason} {program.remedy}")
        given = self._given
        try:
            home = prepare_home(given.directory, given.environment, share_login=given.share_login)
        except OSError as error:
            raise failed_to_start(AGENT, f"{given.directory}: {error.strerror or type(error).__name__}") from None
        keeps = (home / "auth.json").exists() and self._token is None
        return command(program, given.environment, given.directory, home, keep_login=keeps), given.directory

    async def _started(self, server: AppServer) -> None:
        """What a new process says of itself: models, login, servers of its own configuration."""
        try:
            configured = (await server.call("config/read")).get("config") or {}
            server.own_servers = tuple(sorted(configured.get("mcp_servers") or {}))
            await self._log_in(server)
            listed: list[object] = []
            cursor: object = None
            while True:
                page = await server.call("model/list", cursor=cursor)
                listed.extend(page.get("data") or ())
                cursor = page.get("nextCursor")
                if not cursor:
                    break
        except Refused as error:
            raise failed_to_start(AGENT, masked(error.message)) from None
        found = Known(settings.models(listed), self._wants_login)
        if found != self._known:
            self._known = found
            await asyncio.to_thread(known.store, self._given.directory, found)
            self._changed()

    async def _learn(self) -> None:
        await asyncio.sleep(LEARN_AFTER_SECONDS)
        self._servers.enter()
        try:
            await self._servers.get()
        except ProviderError as error:
            log.info("Codex could not be looked at: %s", error.error_type)
        finally:
            await self._servers.leave()

    def _misses_login(self) -> bool:
        """What the running process says; before one has run, what is on disk and in the environment."""
        if self._logged_out is not None:
            return self._logged_out
        stored = (self._home / "auth.json").exists() or self._given.share_login
        return self._known is not None and self._known.wants_login and self._key() is None and not stored

    async def _log_in(self, server: AppServer) -> None:
        """Use the key there is, where Codex has no login of its own."""
        account = await server.call("account/read")
        wanted = self._wants_login = bool(account.get("requiresOpenaiAuth"))
        key = self._key()
        if wanted and key is not None and account.get("account") is None:
            try:
                await server.call("account/login/start", type="apiKey", apiKey=key)
                account = await server.call("account/read")
            except Refused:
                raise logged_out(AGENT) from None
        missing = wanted and account.get("account") is None
        if missing != self._logged_out:
            self._logged_out = missing
            self._changed()


def _resource() -> ProtectedResourceMetadata:
    return {
        "resource": RESOURCE,
        "resource_name": text("codex.resource"),
        "bearer_methods_supported": ["header"],
        "required": False,
    }
