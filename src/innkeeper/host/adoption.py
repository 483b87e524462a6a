"""Conversations that agents have on disk become sessions of this host (K17, providers.spi `Adopting`).

Rules
* Listing and reading change nothing at the agent. An adopted session opens its agent with its first turn, not before.
* Turns, title, draft and configuration go through the hydration hooks once; from then on the log is the truth.
* A conversation is adopted once: its session is named in the list, and adopting it again is refused. Its chat's URI is
  made of agent and conversation, so that this needs no search and no second store.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, Final

from innkeeper.contributions.spi import HydratedChat
from innkeeper.engine.effects import Act, Create
from innkeeper.host.commands import Asker, Handler
from innkeeper.host.core import Core
from innkeeper.host.faults import bad_params
from innkeeper.host.hydration import Hydrator
from innkeeper.host.sessions import Sessions
from innkeeper.host.states import NewSession, session_state
from innkeeper.host.summaries import chat_summary, session_summary
from innkeeper.ports.clock import Clock
from innkeeper.ports.contributed import BACKINGS, CHAT_CONFIG
from innkeeper.ports.ids import Ids
from innkeeper.protocol.errors import ALREADY_EXISTS, NOT_FOUND, PERMISSION_DENIED, RpcError
from innkeeper.protocol.uris import ROOT, chat_uri, is_uri, local_path
from innkeeper.providers.spi import Adopted, Adopting, ProviderError, Transcript

Params = Mapping[str, Any]
ADOPTED: Final = "x-innkeeper/adopted"
"""In a session's `_meta`: which conversation of the agent it was."""
ADOPTION_METHODS: Final = frozenset({"x-innkeeper/transcripts/list", "x-innkeeper/transcripts/adopt"})


class Adoption:
    def __init__(self, core: Core, sessions: Sessions, hydrator: Hydrator, clock: Clock, ids: Ids) -> None:
        self._core = core
        self._sessions = sessions
        self._hydrator = hydrator
        self._clock = clock
        self._ids = ids

    def table(self) -> dict[str, Handler]:
        return {"x-innkeeper/transcripts/list": self.transcripts, "x-innkeeper/transcripts/adopt": self.adopt}

    async def transcripts(self, asker: Asker, params: Params) -> object:
        """What an agent has on disk, of one directory or all, newest first."""
        name, provider = self._provider(params)
        try:
            found = await provider.transcripts(_directory(params))
        except ProviderError as error:
            raise RpcError(NOT_FOUND, error.message) from error
        return {"items": [_listed(one, self._taken(name, one.id)) for one in found]}

    async def adopt(self, asker: Asker, params: Params) -> object:
        """A session made of a conversation. Raises RpcError: -32002, -32008, -32009, -32010, -32602."""
        name, provider = self._provider(params)
        transcript, uri = str(params.get("transcript") or ""), str(params.get("session") or "")
        if not is_uri(uri):
            raise bad_params("params.session must be an absolute URI for the new session")
        self._refuse_taken(uri, name, transcript)
        of = await _found(provider, transcript, _directory(params))
        try:
            adopted = await provider.read_transcript(transcript, of.directory)
        except ProviderError as error:
            raise RpcError(NOT_FOUND, error.message) from error
        await self._create(uri, name, of, adopted)
        return {"session": uri}

    async def _create(self, uri: str, name: str, of: Transcript, adopted: Adopted) -> None:
        directories = [] if of.directory is None else [_uri(of.directory)]
        resolved = await self._sessions.resolve({"provider": name, "workingDirectories": directories, "config": {}})
        new = NewSession(
            provider=name,
            chat=_chat(name, of.id),
            now=self._clock.now(),
            directories=directories,
            config={"schema": resolved["schema"], "values": resolved["values"]},
        )
        state, chat = session_state(new)
        turns = await self._hydrator.turns(uri, new.chat, "transcript", adopted.turns)
        entered = await self._hydrator.chat(uri, new.chat, "transcript", HydratedChat(title=of.title))
        title = entered.title or ""
        chat |= {"turns": list(turns), "title": title, "modifiedAt": of.modified_at}
        if entered.draft is not None:
            chat["draft"] = entered.draft
        meta = {ADOPTED: {"provider": name, "id": of.id}, BACKINGS: {new.chat: dict(adopted.backing)}}
        if entered.config:
            meta[CHAT_CONFIG] = {new.chat: dict(entered.config)}
        state |= {"lifecycle": "ready", "title": title, "chats": [chat_summary(chat)]}
        state["_meta"] = {**state["_meta"], **meta}
        self._refuse_taken(uri, name, of.id)
        count = self._core.count("session") + 1
        await self._core.commit(
            Create(uri, "session", None, state),
            Create(new.chat, "chat", uri, chat),
            Act(ROOT, {"type": "root/activeSessionsChanged", "activeSessions": count}),
        )
        self._core.notify(ROOT, "root/sessionAdded", {"summary": session_summary(uri, state)})

    def _provider(self, params: Params) -> tuple[str, Adopting]:
        name, provider = self._sessions.provider(params.get("provider"))
        if not isinstance(provider, Adopting):
            raise RpcError(PERMISSION_DENIED, f"conversations of the agent {name} cannot be read by this host")
        return name, provider

    def _refuse_taken(self, uri: str, provider: str, id: str) -> None:
        """Raises RpcError -32010. Asked again at the last moment: two may adopt at once."""
        if self._core.kind(uri) is not None:
            raise RpcError(ALREADY_EXISTS, f"{uri[:200]} is taken")
        if (session := self._taken(provider, id)) is not None:
            raise RpcError(ALREADY_EXISTS, f"this conversation is the session {session}")

    def _taken(self, provider: str, id: str) -> str | None:
        """The session of this host that the conversation is."""
        return self._core.owner(_chat(provider, id))


def _chat(provider: str, id: str) -> str:
    return chat_uri("adopted-" + hashlib.sha256(f"{provider}\0{id}".encode()).hexdigest()[:32])


async def _found(provider: Adopting, id: str, directory: str | None) -> Transcript:
    try:
        found = await provider.transcripts(directory)
    except ProviderError as error:
        raise RpcError(NOT_FOUND, error.message) from error
    for one in found:
        if one.id == id:
            return one
    raise RpcError(NOT_FOUND, f"there is no conversation {id[:100]} of this agent")


def _directory(params: Params) -> str | None:
    uri = params.get("directory")
    if uri is None:
        return None
    path = local_path(str(uri))
    if path is None:
        raise bad_params("params.directory must be a file URI of this machine")
    return path


def _uri(path: str) -> str:
    from pathlib import PurePosixPath

    return PurePosixPath(path).as_uri()


def _listed(one: Transcript, session: str | None) -> dict[str, Any]:
    return {
        "id": one.id,
        "title": one.title,
        "directory": None if one.directory is None else _uri(one.directory),
        "modifiedAt": one.modified_at,
        "turns": one.turns,
        "session": session,
    }
