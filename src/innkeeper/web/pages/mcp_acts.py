"""What a person does in the MCP panel (M4.2-M4.5, M7.6, M9.1). Each act is one command that every client has.

Rules
* *Connect all* connects what policy allows; what it does not allow needs the confirmation in which every command stood,
  and exactly the servers that stood there.
* Trusting the workspace is a change of the settings under the revision that the page showed, and then a reload, so that
  it holds at once.
"""

from collections.abc import Mapping, Sequence
from posixpath import normpath
from typing import Any

from innkeeper.web.asking import Actions, Ask, Done, Problem
from innkeeper.web.mcp_reports import (
    change_settings,
    list_name,
    settings,
    tools_name,
    trust_directory,
)
from innkeeper.web.mcp_rows import servers
from innkeeper.web.names import session_path, session_uri

LIST = "x-innkeeper/mcp/"


def session_of(ask: Ask) -> str:
    """The session of the address. Raises Problem."""
    session = session_uri(ask.params["session"])
    if session is None:
        raise Problem(ask.reader.t("web.no_session"), status=404)
    return session


async def command(ask: Ask, session: str, name: str, **params: Any) -> Any:
    """A command whose answer is the list of servers; open pages get it at once."""
    answer = await ask.link.request(LIST + name, {"channel": session, **params})
    ask.link.put(list_name(session), answer)
    ask.link.refresh(tools_name(session))
    return answer


def act(name: str, *fields: str) -> Any:
    """The action that is the command `name` with these fields of the form."""

    async def done(ask: Ask) -> Done:
        session = session_of(ask)
        await command(ask, session, name, **{field: ask.field(field) for field in fields})
        return Done(session_path(session))

    return done


async def allow_again(ask: Ask) -> Done:
    """A changed declaration is allowed anew as it was before: for good, or for this session."""
    session, server = session_of(ask), ask.field("server")
    if ask.field("stored"):
        await command(ask, session, "allow", server=server)
    await command(ask, session, "connect", server=server)
    return Done(session_path(session))


async def tool(ask: Ask) -> Done:
    """*Always allowed*, or *asks first*."""
    session = session_of(ask)
    verb = "allow" if ask.field("on") else "revoke"
    await command(ask, session, verb, server=ask.field("server"), tool=ask.field("tool"))
    return await _within(ask, session)


async def start_by_itself(ask: Ask) -> Done:
    """The declaration may start by itself in this workspace, or may no longer."""
    session = session_of(ask)
    await command(ask, session, "allow" if ask.field("on") else "revoke", server=ask.field("server"))
    return await _within(ask, session)


async def _within(ask: Ask, session: str) -> Done:
    """An act of the dialog's tab answers the tab as it is then."""
    if ask.field("within") != "permissions":
        return Done(session_path(session))
    from innkeeper.web.pages.mcp_editor import Editor, permissions_of

    tools = await ask.link.request(LIST + "tools", {"channel": session})
    ask.link.put(tools_name(session), tools)
    html = await permissions_of(Editor(ask), ask.field("name"))
    return Done(session_path(session), answer={"pieces": {"edit-permissions": html}})


async def connect_all(ask: Ask) -> Done:
    """Connects what policy allows; with `confirmed` also what was shown in the confirmation."""
    from innkeeper.web.mcp_rows import connectable

    session = session_of(ask)
    shown = set(ask.fields("server")) if ask.field("confirmed") else set()
    rows = servers(await ask.link.state(session), await _listed(ask, session), ())
    for row in rows:
        if connectable(row) and (row.report["allowed"] or row.id in shown):
            retries = row.status in ("failed", "reconnecting")
            await command(ask, session, "retry" if retries else "connect", server=row.id)
    return Done(session_path(session))


async def disconnect_all(ask: Ask) -> Done:
    """Disconnects everything of the project that runs or tries to."""
    session = session_of(ask)
    for row in servers(await ask.link.state(session), await _listed(ask, session), ()):
        if row.project and row.status in ("connected", "unverified", "connecting", "reconnecting", "failed"):
            await command(ask, session, "disconnect", server=row.id)
    return Done(session_path(session))


async def trust(ask: Ask) -> Done:
    """Always trust this workspace, or no longer (M4.4: only a person's act does)."""
    session = session_of(ask)
    directory = trust_directory(await _listed(ask, session))
    if directory is None:
        raise Problem(ask.reader.t("web.mcp.trust.remote"), code="REMOTE_WORKSPACE")
    known = await settings(ask.link, after=session)
    trusted: Sequence[str] = known["settings"]["trusted_workspaces"]
    edits: list[Mapping[str, Any]]
    if ask.field("on"):
        edits = [{"op": "insert", "path": ["trusted_workspaces", len(trusted)], "value": directory}]
    else:
        found = [place for place, one in enumerate(trusted) if normpath(one) == directory]
        edits = [{"op": "delete", "path": ["trusted_workspaces", place]} for place in reversed(found)]
    if edits:
        await change_settings(ask.link, ask.field("revision"), edits)
        await command(ask, session, "reload")
    return Done(session_path(session))


async def sign_in(ask: Ask) -> Done:
    """Asks where to sign in; the row gets the link, which a person follows."""
    session, server = session_of(ask), ask.field("server")
    found = await ask.link.request(LIST + "authorize", {"channel": session, "server": server})
    url = str(found["url"])
    if not url.startswith(("https://", "http://")):
        raise Problem(ask.reader.t("web.failed"))
    rows = servers(await ask.link.state(session), await _listed(ask, session), ())
    key = next(row.key for row in rows if server in (row.id, row.name))
    html = ask.render("mcp_sign_in.html", id=f"{key}-link", url=url)
    return Done(session_path(session), answer={"pieces": {f"{key}-link": html}})


async def _listed(ask: Ask, session: str) -> Any:
    return await ask.link.request(LIST + "list", {"channel": session})


BELOW = "/s/{session}/mcp/"
PAGES = ()
ACTIONS: Actions = (
    (BELOW + "connect", act("connect", "server")),
    (BELOW + "disconnect", act("disconnect", "server")),
    (BELOW + "stop", act("stop", "server")),
    (BELOW + "retry", act("retry", "server")),
    (BELOW + "reload", act("reload")),
    (BELOW + "follow-policy", act("followPolicy")),
    (BELOW + "confirm", act("confirmFile", "file")),
    (BELOW + "again", allow_again),
    (BELOW + "allow", start_by_itself),
    (BELOW + "tool", tool),
    (BELOW + "connect-all", connect_all),
    (BELOW + "disconnect-all", disconnect_all),
    (BELOW + "trust", trust),
    (BELOW + "sign-in", sign_in),
)
