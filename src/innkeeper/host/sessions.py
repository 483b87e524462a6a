"""Sessions: creation, disposal, the list, and their configuration (AHP §4, §9.1).

Rules
* The state of a session, with its default chat, exists and can be subscribed to before the command is answered; the
  agent starts behind it. `session/ready` or `session/creationFailed` says how that ended and leaves the status alone.
* A URI is taken once, whatever its scheme. A client can only bring itself in as the active client.
* Disposing removes the channels first, in one transaction, and answers; processes end behind it.
* The URI of a session that is gone may be used again only when its agent and servers have ended.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from innkeeper.engine.effects import Act, Also, Create, Drop
from innkeeper.host import config, listing
from innkeeper.host.attachments import Attachments
from innkeeper.host.backings import Backings
from innkeeper.host.changesets.service import Changesets
from innkeeper.host.core import Core, act
from innkeeper.host.customizations.service import Customizations
from innkeeper.host.faults import bad_params, logged, no_session
from innkeeper.host.servers import Servers
from innkeeper.host.settings import HostSettings
from innkeeper.host.states import NewSession, session_error, session_state
from innkeeper.host.summaries import session_summary
from innkeeper.host.titles import Titles
from innkeeper.host.turns import Turns
from innkeeper.host.views import capability
from innkeeper.host.worktrees import Worktrees
from innkeeper.host.worktrees.options import NoOptions
from innkeeper.limits import SESSION_PAGE, SESSION_PAGE_MAX
from innkeeper.ports.clock import Clock
from innkeeper.ports.ids import Ids
from innkeeper.protocol.errors import PROVIDER_NOT_FOUND, SESSION_ALREADY_EXISTS, RpcError
from innkeeper.protocol.uris import ROOT, chat_uri, file_uri, is_uri, local_path
from innkeeper.providers.spi import Provider, ProviderError
from innkeeper.texts import text

log = logging.getLogger(__name__)

Params = Mapping[str, Any]


class Ends(NamedTuple):
    """What ends with a session."""

    backings: Backings
    servers: Servers
    customizations: Customizations
    turns: Turns
    attachments: Attachments
    changes: Changesets | None = None
    worktrees: Worktrees | None = None


class Sessions:
    def __init__(
        self,
        core: Core,
        providers: Mapping[str, Provider],
        ends: "Ends",
        titles: Titles,
        clock: Clock,
        ids: Ids,
        settings: HostSettings,
        placing: NoOptions | None = None,
    ) -> None:
        self._core = core
        self._providers = providers
        self._backings = ends.backings
        self._servers = ends.servers
        self._customizations = ends.customizations
        self._turns = ends.turns
        self._attachments = ends.attachments
        self._changes = ends.changes
        self._worktrees = ends.worktrees
        self._placing = placing or NoOptions()
        self._titles = titles
        self._clock = clock
        self._ids = ids
        self._settings = settings
        self._ending: set[str] = set()
        self._created: list[Callable[[str], None]] = []

    def when_created(self, listener: Callable[[str], None]) -> None:
        """Be told each session that a client created, before the client is."""
        self._created.append(listener)

    # -- commands ------------------------------------------------------------------------------------------------

    async def create(self, client_id: str, params: Params) -> None:
        """`createSession`. Raises RpcError: -32602, -32002, -32003."""
        uri = params["channel"]
        self._refuse_uri(uri)
        name, provider = self.provider(params.get("provider"))
        directories = self._directories(provider, params)
        path = local_path(directories[0]) if directories else None
        schema, values = await self._resolved(provider, path, params.get("config") or {})
        await self._placing.check(path, values)
        client = params.get("activeClient")
        if client is not None and client["clientId"] != client_id:
            raise bad_params("params.activeClient.clientId must be the clientId of this connection")
        self._refuse_uri(uri)  # again: another client may have taken it while the configuration was looked at
        new = NewSession(
            provider=name,
            chat=chat_uri(self._ids.new()),
            now=self._clock.now(),
            directories=directories,
            config={"schema": schema, "values": values},
            active_client=client,
        )
        state, chat = session_state(new)
        count = self._core.count("session") + 1
        await self._core.commit(
            Create(uri, "session", None, state),
            Create(new.chat, "chat", uri, chat),
            Act(ROOT, {"type": "root/activeSessionsChanged", "activeSessions": count}),
        )
        created = self._core.head(uri)
        if created is not None:
            for listener in self._created:
                listener(uri)
            self._core.notify(ROOT, "root/sessionAdded", {"summary": session_summary(uri, created)})
            self._core.spawn(self.open(uri, params.get("progressToken")), f"start {uri}")

    async def dispose(self, uri: str) -> None:
        """`disposeSession`: its chats go with it. Raises RpcError -32001."""
        if self._core.kind(uri) != "session":
            raise no_session(uri)
        self._ending.add(uri)
        chats = self._core.owned_by(uri)
        count = self._core.count("session") - 1
        try:
            await self._core.commit(
                Drop(uri),
                Act(ROOT, {"type": "root/activeSessionsChanged", "activeSessions": max(0, count)}),
                Also(tuple(self._customizations.rows_of(uri))),
            )
        except BaseException:
            self._ending.discard(uri)
            raise
        for chat in chats:
            self._titles.forget(chat)
        self._core.spawn(self._end(uri), f"end {uri}")
        self._core.notify(ROOT, "root/sessionRemoved", {"session": uri})

    async def listed(self, params: Params) -> dict[str, Any]:
        """`listSessions`: latest change first. Raises RpcError -32602 for an unknown cursor."""
        limit, cursor = params.get("limit"), params.get("cursor")
        if limit is not None and limit < 1:
            raise bad_params("params.limit must be at least 1")
        try:
            after = None if cursor is None else listing.place(cursor)
        except listing.UnknownCursor:
            raise bad_params("params.cursor was not given out by this host") from None
        wanted = min(limit or SESSION_PAGE, SESSION_PAGE_MAX)
        rows, more = listing.page(self._core.listed(wanted + 1, after), wanted)
        summaries = [listing.read(row) or await self._listed_again(row.channel) for row in rows]
        return {"items": [summary for summary in summaries if summary is not None], **more}

    async def _listed_again(self, uri: str) -> Mapping[str, Any] | None:
        """The summary of a session whose row is damaged, from its state; None where that is damaged too."""
        log.warning("the list has a damaged row for %s; it is made from the session", uri)
        state = await self._core.load(uri)
        if state is None:
            return None
        self._core.list_again(uri)
        return session_summary(uri, state)

    async def resolve(self, params: Params) -> dict[str, Any]:
        """`resolveSessionConfig`: the whole schema, and the values with defaults."""
        _, provider = self.provider(params.get("provider"))
        directories = self._directories(provider, params)
        path = local_path(directories[0]) if directories else None
        schema, values = await self._resolved(provider, path, params.get("config") or {})
        return {"schema": schema, "values": values}

    async def completions(self, params: Params) -> dict[str, Any]:
        """`sessionConfigCompletions`: the values of an `enum` that match; an agent's own come with its schema, branches
        from the repository."""
        resolved = await self.resolve(params)
        prop = resolved["schema"]["properties"].get(params["property"])
        if prop is None:
            raise bad_params(f"there is no configuration property {params['property'][:200]}")
        if params["property"] == "branch" and prop.get("enumDynamic"):
            directories = self._directories(self.provider(params.get("provider"))[1], params)
            path = local_path(directories[0]) if directories else None
            branches = await self._placing.branches(path, str(params.get("query") or ""))
            if branches is not None:
                return {"items": branches}
        labels = prop.get("enumLabels") or ()
        query = str(params.get("query") or "").lower()
        items = []
        for index, value in enumerate(prop.get("enum") or ()):
            label = str(labels[index]) if index < len(labels) else str(value)
            if query in str(value).lower() or query in label.lower():
                items.append({"value": str(value), "label": label})
        return {"items": items}

    # -- the agent behind a session ------------------------------------------------------------------------------

    async def open(self, uri: str, progress_token: str | None = None) -> None:
        """Read the declarations, open the agent, and say how it went. An agent that is to work in a worktree is opened
        there, with the first turn."""
        if self._core.head(uri) is None:
            return
        self._progress(progress_token, 0, text("session.starting"))
        outcome: dict[str, Any]
        try:
            await self._servers.read(uri)
            if self._worktrees is None or not self._worktrees.pending(uri):
                await self._backings.get(uri)
            outcome = {"type": "session/ready"}
        except ProviderError as error:
            outcome = session_error(error.error_type, error.message)
        except Exception as error:
            reference = logged(error, f"opening the agent of {uri}", self._ids)
            outcome = session_error("providerFailed", text("turn.internalError", reference=reference))
        act(self._core, uri, outcome)
        self._progress(progress_token, 1, text("session.started"))

    def provider(self, name: str | None) -> tuple[str, Provider]:
        """The agent of that name, or the default one. Raises RpcError -32002."""
        known = name or self._settings.default_provider or next(iter(self._providers), "")
        provider = self._providers.get(known)
        if provider is None:
            names = ", ".join(sorted(self._providers)) or "none"
            raise RpcError(PROVIDER_NOT_FOUND, f"there is no agent {known[:100]}; this host has {names}")
        return known, provider

    # -- inside --------------------------------------------------------------------------------------------------

    def _refuse_uri(self, uri: str) -> None:
        if not is_uri(uri) or uri == ROOT:
            raise bad_params("params.channel must be an absolute URI for the new session")
        if self._core.kind(uri) is not None or uri in self._ending:
            raise RpcError(SESSION_ALREADY_EXISTS, f"{uri[:200]} is taken")

    def _directories(self, provider: Provider, params: Params) -> list[str]:
        """The session's directories, local ones; only the first where the agent works in one (AHP §4)."""
        given: Sequence[Any] = params.get("workingDirectories") or [params.get("workingDirectory")]
        directories = list(dict.fromkeys(_as_uri(value) for value in given if value))
        if len(directories) > 1 and capability(provider.info, "multipleWorkingDirectories") is None:
            directories = directories[:1]
        for uri in directories:
            if local_path(uri) is None:
                raise bad_params(f"the working directory {uri[:200]} is not on this machine (a file: URI)")
        return directories

    async def _resolved(
        self, provider: Provider, path: str | None, given: Params
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        placing = await self._placing.properties(path, given)
        schema = config.whole_schema(provider.config_schema(path, config.provider_values(given, placing)), placing)
        return schema, config.complete_values(schema, given)

    def _progress(self, token: str | None, progress: int, message: str) -> None:
        if token is not None:
            params = {"progressToken": token, "progress": progress, "total": 1, "message": message}
            self._core.notify(ROOT, "root/progress", params)

    async def _end(self, uri: str) -> None:
        seconds = self._settings.close_timeout
        await self._turns.end_session(uri, seconds)
        await self._backings.close(uri, seconds)
        self._customizations.close(uri)
        try:
            await self._servers.close(uri)
            if self._changes is not None:
                await self._changes.session_ended(uri)
            if self._worktrees is not None:
                await self._worktrees.dispose(uri)
            await self._attachments.drop(uri)
        except Exception as error:
            logged(error, f"ending the servers of {uri}", self._ids)
        finally:
            self._ending.discard(uri)


def _as_uri(value: Any) -> str:
    """Some clients send a path where a URI is due; what is meant is plain."""
    given = str(value)
    return file_uri(given) if given.startswith("/") else given
