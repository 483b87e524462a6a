"""Claude Code as an agent of the host, by the official SDK (issue 6; providers.spi).

Rules
* The SDK, and what drives an agent, is imported when the first session opens; before that its presence is looked up.
* The agent has a configuration directory of the host's; with a shared login it uses the person's own.
* A token that a client gives is held in memory, for processes that start from then on, and shown nowhere.
"""

import asyncio
import hashlib
import logging
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from innkeeper.protocol.root.state import AgentInfo
from innkeeper.protocol.session.state import SessionConfigSchema
from innkeeper.providers.claude import install
from innkeeper.providers.claude.environment import agent_environment, bash, logged_in, own_directory
from innkeeper.providers.claude.history import place
from innkeeper.providers.claude.models import RESOURCE, Models, agent_info, schema
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
from innkeeper.providers.telling import refused, unresponsive
from innkeeper.texts import text

if TYPE_CHECKING:
    from innkeeper.providers.claude.session import ClaudeSession

log = logging.getLogger(__name__)

AGENT: Final = install.AGENT


class ClaudeProvider:
    def __init__(self, given: Surroundings) -> None:
        self._given = given
        self._models = Models(given.directory / "models.json")
        self._token: str | None = None
        self._changed: Callable[[], None] = lambda: None
        self._lacking: list[str] | None = None
        self._told_version = False
        self.sessions: set[ClaudeSession] = set()
        """Those that are open."""

    # -- what is listed ------------------------------------------------------------------------------------------

    @property
    def info(self) -> AgentInfo:
        return agent_info(self._models.listed())

    def takes_model(self, id: str) -> bool:
        """Before the agent has said which it has, any (spi.Choosing)."""
        return not self._models.known or any(one["id"] == id for one in self._models.listed())

    @property
    def unavailable(self) -> Unavailable | None:
        missing = install.missing(self._given.program)
        if missing is not None:
            return missing
        if self._lacking:
            names = ", ".join(self._lacking)
            reason = text("error.AGENT_UNSUPPORTED.meaning", agent=AGENT, missing=names)
            return Unavailable("AGENT_UNSUPPORTED", reason, install.INSTALL)
        if self._token is None and not logged_in(self._given.environment, self._config_directory):
            return Unavailable(
                "AGENT_LOGIN_MISSING", text("error.AGENT_LOGIN_MISSING.meaning", agent=AGENT), self._login()
            )
        return None

    def watch(self, changed: Callable[[], None]) -> None:
        self._changed = changed

    def can_resume(self, backing: Backing | None) -> bool:
        return place(backing) is not None

    def config_schema(self, directory: str | None, values: Mapping[str, object]) -> SessionConfigSchema:
        return schema()

    # -- sessions ------------------------------------------------------------------------------------------------

    async def open_session(self, opening: SessionOpening) -> "ClaudeSession":
        await self._admitted()
        from innkeeper.providers.claude import transcripts
        from innkeeper.providers.claude.conversation import Shared
        from innkeeper.providers.claude.session import ClaudeSession

        name = hashlib.sha256(opening.session.encode()).hexdigest()[:24]
        directories = list(opening.directories) or [str(await asyncio.to_thread(self._empty_directory))]
        shared = Shared(
            session=opening.session,
            directories=directories,
            folder=self._given.directory / "handed" / name,
            spawn=self._spawn,
            learnt=self._learnt,
            missing=self._missing,
            login=lambda: "" if self._token is None else hashlib.sha256(self._token.encode()).hexdigest(),
            adopt=lambda file: transcripts.copy(Path(file), self._config_directory),
            has=lambda conversation, id: transcripts.has(self._config_directory, conversation, id),
            shell="bash" if bash(self._given.environment) else None,
            eligible=opening.customizations,
            ids=self._given.ids,
        )
        session = ClaudeSession(shared, self._given.gateway, self._given.endpoints, self.sessions.discard)
        self.sessions.add(session)
        return session

    async def close(self) -> None:
        return

    # -- beside sessions -----------------------------------------------------------------------------------------

    async def complete(self, completion: Completion) -> str:
        """One answer of the agent's small model."""
        await self._admitted()
        from innkeeper.providers.claude.cli import Cli, Unanswered
        from innkeeper.providers.claude.content import words_of
        from innkeeper.providers.claude.launch import completion_options
        from innkeeper.providers.claude.process import Ended

        directory = completion.directory or str(await asyncio.to_thread(self._empty_directory))
        said: list[str] = []
        over: asyncio.Future[dict[str, Any] | None] = asyncio.get_running_loop().create_future()

        def heard(message: dict[str, Any]) -> None:
            if message.get("type") == "assistant":
                said.append(words_of(message["message"].get("content")))
            elif message.get("type") == "result" and not over.done():
                over.set_result(message)

        client, transport = self._spawn(completion_options(completion.instructions, directory), directory)
        cli = Cli(client, transport, heard, lambda ended: None if over.done() else over.set_result(None))
        try:
            async with asyncio.timeout(completion.seconds):
                await cli.start()
                await cli.send([{"type": "text", "text": completion.text}], "00000000-0000-4000-8000-000000000001")
                result = await over
        except (TimeoutError, Ended, OSError, Unanswered) as error:
            raise unresponsive(AGENT) from error
        finally:
            await cli.close()
        if result is None or result.get("is_error"):
            raise refused(AGENT, str((result or {}).get("result") or (result or {}).get("subtype") or ""))
        return "".join(said).strip()

    async def transcripts(self, directory: str | None) -> list[Transcript]:
        """Of the person's own agent; those of this host are among them where it shares their directory."""
        from innkeeper.providers.claude import transcripts

        return await asyncio.to_thread(transcripts.listed, self._theirs, directory)

    async def read_transcript(self, id: str, directory: str | None) -> Adopted:
        from innkeeper.providers.claude import transcripts

        found = await asyncio.to_thread(transcripts.read, self._theirs, id, directory)
        if found is None:
            raise ProviderError("TRANSCRIPT_UNKNOWN", text("error.TRANSCRIPT_UNKNOWN.meaning", agent=AGENT))
        return found

    async def take_token(self, resource: str, token: str | None) -> None:
        if resource != RESOURCE:
            raise ProviderError("AGENT_REFUSED", text("claude.foreignResource"))
        self._token = token
        self._changed()

    def inspect(self) -> Inspection:
        from innkeeper.providers.claude.cli import lacking

        versions = (install.sdk_version() or "", install.agent_version(self._given.program) or "")
        names = dict(zip((install.PACKAGE, "claude"), versions, strict=True))
        return Inspection(names, versions in install.TESTED, lacking())

    # -- inside --------------------------------------------------------------------------------------------------

    @property
    def _config_directory(self) -> Path:
        if self._given.share_login:
            return own_directory(self._given.environment)
        return self._given.directory / "config"

    @property
    def _theirs(self) -> Path:
        return own_directory(self._given.environment)

    def _login(self) -> str:
        program = shlex.quote(str(install.binary(self._given.program)))
        if self._given.share_login:
            return f"{program} auth login"
        return f"CLAUDE_CONFIG_DIR={shlex.quote(str(self._config_directory))} {program} auth login"

    def _empty_directory(self) -> Path:
        folder = self._given.directory / "empty"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return folder

    async def _admitted(self) -> None:
        """Raises ProviderError. Imports the SDK, once, off the loop."""
        if self._lacking is None and install.missing(self._given.program) is None:
            from innkeeper.providers.claude.cli import lacking

            self._lacking = await asyncio.to_thread(lacking)
        if (why := self._missing()) is not None:
            raise why

    def _missing(self) -> ProviderError | None:
        missing = self.unavailable
        if missing is None:
            return None
        return ProviderError(missing.code, text("agent.unavailable", reason=missing.reason, remedy=missing.remedy))

    def _spawn(self, options: Any, directory: str) -> tuple[Any, Any]:
        from innkeeper.providers.claude.cli import make

        config = None if self._given.share_login else self._config_directory
        if config is not None:
            config.mkdir(parents=True, exist_ok=True, mode=0o700)
        sdk = install.sdk_version() or ""
        environment = agent_environment(self._given.environment, config, self._token, sdk=sdk)
        program = str(install.binary(self._given.program))
        return make(options, self._given.processes, {**environment, "PWD": directory}, directory, program)

    def _learnt(self, about: Mapping[str, Any]) -> None:
        """An agent has started and said what it is."""
        version = (install.sdk_version() or "", str(about.get("claude_code_version")))
        if not self._told_version:
            self._told_version = True
            if version not in install.TESTED:
                log.info(
                    "the version %s of %s is unverified, its capabilities are confirmed", " with ".join(version), AGENT
                )
        if self._models.learnt(about):
            self._changed()
