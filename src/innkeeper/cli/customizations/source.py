"""Two ways to the customizations of a directory: through its host, or, where none runs, on what is stored.

Rules
* A set of decisions is built by the client library alone, from the list that was read in the same connection (C1.3).
* Without a host there is no session, so there is no session scope either.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from innkeeper.cli.failures import CliError, UsageProblem
from innkeeper.cli.words import text
from innkeeper.errors import HostError

if TYPE_CHECKING:
    from innkeeper.cli.customizations.offline import Offline
    from innkeeper.cli.mcp.asking import Where
    from innkeeper.client import Channel, Client
    from innkeeper.protocol.session.state import SessionState

Item = Mapping[str, Any]
Scope = Literal["session", "workspace", "global"]
Verb = Literal["enable", "disable", "inherit", "pin", "unpin"]
VALUES: Mapping[str, bool | None] = {"enable": True, "disable": False, "inherit": None}


@dataclass(frozen=True, slots=True)
class Answer:
    """`session` None: read without a host."""

    session: str | None
    items: Sequence[Item]
    history: Sequence[Item] = ()


def listed(where: "Where") -> Answer:
    """Every item, as a tree."""

    async def ask(client: "Client", session: "Channel[SessionState]") -> Answer:
        found = await client.request("x-innkeeper/customizations/list", {"channel": session.uri})
        return Answer(session.uri, found["items"])

    found = _through_host(where, ask)
    return _offline(where).listed() if found is None else found


def why(where: "Where", name: str, *, history: bool) -> Answer:
    """The chains of the items that the name may mean. Raises CliError when there is none."""

    async def ask(client: "Client", session: "Channel[SessionState]") -> Answer:
        return await _why(client, session, name, history=history)

    found = _through_host(where, ask)
    return _offline(where).why(name, history=history) if found is None else found


def change(where: "Where", verb: Verb, name: str, scope: Scope) -> Answer:
    """The item after the change. Raises CliError when it is refused."""

    async def ask(client: "Client", session: "Channel[SessionState]") -> Answer:
        item = one_of((await _why(client, session, name, history=False)).items, name)
        if verb in VALUES:
            await _set(session, str(item["id"]), scope, VALUES[verb])
        else:
            params = {"channel": session.uri, "id": item["id"], "scope": scope}
            await client.request(f"x-innkeeper/customizations/{verb}", params)
        return await _why(client, session, str(item["id"]), history=False)

    found = _through_host(where, ask)
    if found is not None:
        return found
    if scope == "session":
        raise UsageProblem(text("cli.customizations.noSession"))
    return _offline(where).change(verb, name, scope)


async def _why(client: "Client", session: "Channel[SessionState]", name: str, *, history: bool) -> Answer:
    from innkeeper.client import RpcFailure

    params = {"channel": session.uri, "name": name, "history": history}
    try:
        found = await client.request("x-innkeeper/customizations/why", params)
    except RpcFailure as error:
        if isinstance(error.data, dict) and error.data.get("code") == "CUSTOMIZATION_UNKNOWN":
            raise unknown(name) from error
        raise
    return Answer(session.uri, found["items"], found.get("history", ()))


async def _set(session: "Channel[SessionState]", id: str, scope: Scope, value: bool | None) -> None:
    from innkeeper.client import Rejected
    from innkeeper.client.enablement import find_customization, set_enabled

    # The command's answer may come before the publication that it speaks of.
    await session.wait_for(lambda state: find_customization(state, id) is not None)
    try:
        outcome = await set_enabled(session, id, scope, value)
    except ValueError as error:
        raise CliError(text("cli.customizations.noDirectory"), code="CHANGE_REFUSED") from error
    if isinstance(outcome, Rejected):
        raise CliError(text("cli.customizations.refused", reason=outcome.reason), code="CHANGE_REFUSED")


def unknown(name: str) -> CliError:
    return CliError(text("cli.customizations.unknown", name=name), code="CUSTOMIZATION_UNKNOWN")


def one_of(items: Sequence[Item], name: str) -> Item:
    """The only item that is meant. Raises UsageProblem when several are."""
    if len(items) > 1:
        raise UsageProblem(text("cli.customizations.several", name=name, ids="\n  ".join(str(i["id"]) for i in items)))
    return items[0]


def _through_host(where: "Where", ask: Any) -> Answer | None:
    """What the host says; None when none is named and none runs."""
    from innkeeper.cli.mcp.asking import with_session
    from innkeeper.cli.reach import locate, run

    try:
        locate(where.wanted)
    except HostError as error:
        if error.code == "HOST_NOT_RUNNING" and where.session is None:
            return None
        raise
    found: Answer = run(with_session(where, ask))
    return found


def _offline(where: "Where") -> "Offline":
    from innkeeper.cli.customizations.offline import Offline

    return Offline(where.directory, where.data_dir)
