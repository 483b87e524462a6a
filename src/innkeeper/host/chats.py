"""Chats beside the default one: creation, forks, side chats, disposal (AHP §9.3, §9.4).

Rules
* Only where the agent declares `multipleChats`; `fork` and `sideChat` only where it declares those.
* Everything is checked before anything changes. `session/chatAdded` leaves before the answer.
* A fork begins with copies of the visible turns, under ids of its own, and with the directories and the configuration
  of its source; they go through the hydration hooks (K15, K17). The chat of a subagent cannot be forked: no agent could
  go on in it.
* No chat of ours is movable, so `moveChat` changes nothing and says so. The default chat stays as long as its session.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from innkeeper.contributions.spi import HydratedChat
from innkeeper.engine.effects import Act, Change, Create, Drop
from innkeeper.host.asking import sent_by
from innkeeper.host.core import Core
from innkeeper.host.faults import bad_params, no_chat, no_session
from innkeeper.host.hydration import Hydrator
from innkeeper.host.states import chat_state
from innkeeper.host.summaries import chat_summary
from innkeeper.host.titles import Titles
from innkeeper.host.turns import Turns
from innkeeper.host.views import State, agent, capability, find_turn
from innkeeper.ports.clock import Clock
from innkeeper.ports.contributed import CHAT_CONFIG
from innkeeper.ports.ids import Ids
from innkeeper.protocol.errors import ALREADY_EXISTS, CONFLICT, NOT_FOUND, PERMISSION_DENIED, RpcError
from innkeeper.protocol.uris import ROOT, is_uri
from innkeeper.texts import text

Params = Mapping[str, Any]


class Chats:
    def __init__(
        self,
        core: Core,
        turns: Turns,
        titles: Titles,
        hydrator: Hydrator,
        clock: Clock,
        ids: Ids,
        *,
        close_timeout: float,
    ) -> None:
        self._core = core
        self._hydrator = hydrator
        self._turns = turns
        self._titles = titles
        self._clock = clock
        self._ids = ids
        self._close_timeout = close_timeout

    async def create(self, client_id: str, params: Params) -> None:
        """`createChat` on a session, by a client. Raises RpcError: -32001, -32008, -32009, -32010, -32602."""
        session_uri, uri = params["channel"], params["chat"]
        session = self._session(session_uri)
        self._refuse_uri(uri)
        multiple = capability(agent(self._core.head(ROOT), session["provider"]), "multipleChats")
        if multiple is None:
            raise RpcError(PERMISSION_DENIED, f"the agent {session['provider']} keeps one chat a session")
        source = params.get("source")
        made = await self._made(uri, session_uri, session, multiple, source, params.get("workingDirectories"))
        self._session(session_uri)  # again, as the URI: hydration takes its time, and others do what they want
        self._refuse_uri(uri)
        adding: list[Change] = [
            *self._configured(session_uri, uri, made.config),
            Create(uri, "chat", session_uri, made.state),
            Act(session_uri, {"type": "session/chatAdded", "summary": chat_summary(made.state)}),
        ]
        if (message := params.get("initialMessage")) is not None:
            if (message.get("origin") or {}).get("kind", "user") != "user":
                raise bad_params("params.initialMessage must be a message of the user")
            adding.append(Act(uri, self._first_turn(message, client_id)))
        await self._core.commit(*adding)

    async def dispose(self, uri: str) -> None:
        """`disposeChat`. Raises RpcError: -32008, -32011 for the default chat."""
        session_uri = self._core.owner(uri)
        session = self._core.head(session_uri) if session_uri is not None else None
        if self._core.kind(uri) != "chat" or session_uri is None or session is None:
            raise no_chat(uri)
        if session.get("defaultChat") == uri:
            raise RpcError(CONFLICT, "the default chat goes with its session; dispose the session instead")
        await self._core.commit(Act(session_uri, {"type": "session/chatRemoved", "chat": uri}), Drop(uri))
        self._titles.forget(uri)
        await self._turns.end_chat(uri, self._close_timeout)

    def move(self, params: Params) -> NoReturn:
        """`moveChat`: no chat here is movable. Always raises RpcError."""
        if self._core.kind(params["channel"]) != "chat":
            raise no_chat(params["channel"])
        raise RpcError(PERMISSION_DENIED, "this chat cannot be moved: it is not marked as movable")

    def knows(self, uri: str) -> bool:
        return self._core.kind(uri) == "chat"

    # -- inside --------------------------------------------------------------------------------------------------

    def _session(self, uri: str) -> State:
        session = self._core.head(uri)
        if session is None or self._core.kind(uri) != "session":
            raise no_session(uri)
        if session.get("lifecycle") == "failed":
            raise RpcError(CONFLICT, "the session could not be created, so it takes no chats")
        return session

    def _refuse_uri(self, uri: str) -> None:
        if not is_uri(uri):
            raise bad_params("params.chat must be an absolute URI for the new chat")
        if self._core.kind(uri) is not None:
            raise RpcError(ALREADY_EXISTS, f"{uri[:200]} is taken")

    def _configured(self, session: str, chat: str, config: Mapping[str, object] | None) -> list[Change]:
        """What gives the chat a configuration of its own (K15)."""
        if not config:
            return []
        meta = (self._core.head(session) or {}).get("_meta") or {}
        own = {**(meta.get(CHAT_CONFIG) or {}), chat: dict(config)}
        return [Act(session, {"type": "session/metaChanged", "_meta": {**meta, CHAT_CONFIG: own}})]

    async def _made(
        self,
        uri: str,
        session_uri: str,
        session: State,
        multiple: State,
        source: Params | None,
        directories: Sequence[str] | None,
    ) -> "_Made":
        now = self._clock.now()
        if source is None:
            return _Made(chat_state(uri, now, directories=_subset(session, directories)))
        kind = str(source.get("kind"))
        if kind not in ("fork", "sideChat"):
            raise bad_params(f"params.source.kind {kind[:40]} is not supported")
        if not multiple.get(kind):
            raise RpcError(PERMISSION_DENIED, f"the agent {session['provider']} does not offer {kind}")
        origin_chat = await self._source(uri, session_uri, source)
        if kind == "fork" and (origin_chat.get("origin") or {}).get("kind") == "tool":
            raise RpcError(PERMISSION_DENIED, "an agent made this chat for its own work; it cannot be forked")
        if kind == "fork":
            return await self._fork(uri, now, session_uri, source, origin_chat)
        return _Made(_side_chat(uri, now, source, origin_chat, _subset(session, directories)))

    async def _source(self, uri: str, session_uri: str, source: Params) -> State:
        chat = source["chat"]
        if chat == uri or self._core.kind(chat) != "chat":
            raise no_chat(chat)
        if self._core.owner(chat) != session_uri:
            raise bad_params("params.source.chat belongs to another session")
        state = await self._core.load(chat)
        if state is None:
            raise no_chat(chat)
        return state

    async def _fork(self, uri: str, now: str, session: str, source: Params, of: State) -> "_Made":
        turns = list(of.get("turns") or ())
        last = next((i for i, turn in enumerate(turns) if turn.get("id") == source["turnId"]), None)
        if last is None:
            raise RpcError(NOT_FOUND, f"there is no completed turn {source['turnId'][:200]} to fork at")
        copies: Sequence[Any] = [{**turn, "id": self._ids.new()} for turn in turns[: last + 1]]
        copies = await self._hydrator.turns(session, uri, "snapshot", copies, logged=copies)
        configs = ((self._core.head(session) or {}).get("_meta") or {}).get(CHAT_CONFIG) or {}
        title = forked_title(self._titles.shown(session, source["chat"]))
        copied = HydratedChat(title, config=configs.get(source["chat"]))
        entered = await self._hydrator.chat(session, uri, "snapshot", copied)
        origin = {"kind": "fork", "chat": source["chat"], "turnId": source["turnId"]}
        directories = of.get("workingDirectories")
        state = chat_state(uri, now, title=entered.title or "", origin=origin, turns=copies, directories=directories)
        if entered.draft is not None:
            state["draft"] = entered.draft
        return _Made(state, entered.config)

    def _first_turn(self, message: Params, client_id: str) -> dict[str, Any]:
        return {
            "type": "chat/turnStarted",
            "turnId": self._ids.new(),
            "startedAt": self._clock.now(),
            "message": sent_by({"origin": {"kind": "user"}, **message}, client_id),
        }


class _Made(NamedTuple):
    """A chat that does not exist yet, with what it is configured with itself."""

    state: dict[str, Any]
    config: Mapping[str, object] | None = None


def forked_title(of: str) -> str:
    """The title of a fork: the prefix once, however often it was forked."""
    prefix = text("chat.forked")
    return of if not of or of.startswith(prefix) else f"{prefix}{of}"


def _side_chat(uri: str, now: str, source: Params, of: State, directories: Sequence[str] | None) -> dict[str, Any]:
    if find_turn(of, source["turnId"]) is None:
        raise RpcError(NOT_FOUND, f"there is no turn {source['turnId'][:200]} in the source chat")
    origin: dict[str, Any] = {"kind": "sideChat", "chat": source["chat"], "turnId": source["turnId"]}
    selection = source.get("selection")
    if selection is not None:
        if not selection.get("text"):
            raise bad_params("params.source.selection.text must not be empty")
        origin["selection"] = selection
    return chat_state(uri, now, origin=origin, directories=directories)


def _subset(session: State, directories: Sequence[str] | None) -> Sequence[str] | None:
    """The chat's own directories: absent inherits the session's, none is none (AHP §9.3)."""
    allowed = session.get("workingDirectories") or ()
    for uri in directories or ():
        if uri not in allowed:
            raise bad_params(f"{uri[:200]} is not a working directory of the session")
    return directories
