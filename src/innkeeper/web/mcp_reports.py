"""What pages ask the host about MCP servers and settings, kept like states (docs/reference/management.md).

Rules
* Everything comes through the commands that every client has; nothing is asked when the operator switched the
  management off (M9.3).
* A report is asked for again when the session changed; what an act answers is put in its place at once.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from innkeeper.web.asking import Ask
from innkeeper.web.link import ROOT, HostLink
from innkeeper.web.mcp_rows import Server, servers
from innkeeper.web.names import local_path

SETTINGS: Final = "mcp-settings"
Answer = Mapping[str, Any]


def list_name(session: str) -> str:
    """Name of the report of a session's servers."""
    return f"mcp:{session}"


def tools_name(session: str) -> str:
    """Name of the report of their tools."""
    return f"mcp-tools:{session}"


async def watch(ask: Ask, session: str) -> None:
    """Has the reports of a session that the panel and the dialog show. Raises ClientError."""
    link = ask.link

    async def listed() -> Any:
        return await link.request("x-innkeeper/mcp/list", {"channel": session})

    async def tools() -> Any:
        return await link.request("x-innkeeper/mcp/tools", {"channel": session})

    await asyncio.gather(
        link.report(list_name(session), listed, (session,)),
        link.report(tools_name(session), tools, (session,)),
        settings(link, after=session),
    )


async def settings(link: HostLink, *, after: str = ROOT, fresh: bool = False) -> Answer:
    """The hot settings, as known, or asked for now."""
    name = f"{SETTINGS}:{after}"

    async def got() -> Any:
        return await link.request("x-innkeeper/settings/get", {"channel": ROOT})

    known = name in link.reports(name)
    found: Answer = await link.report(name, got, (after,))
    if known and fresh:
        found = await got()
        link.put(name, found)
    return found


def settings_now(link: HostLink, after: str = ROOT) -> Answer:
    """As known now."""
    return link.peek(f"{SETTINGS}:{after}") or {}


async def change_settings(link: HostLink, revision: str, edits: list[Answer], *, confirmed: bool = False) -> Answer:
    """Changes hot settings under the revision that the page showed. Raises RpcFailure (SETTINGS_CONFLICT)."""
    params = {"channel": ROOT, "revision": revision, "edits": edits, "confirmed": confirmed}
    try:
        answer: Answer = await link.request("x-innkeeper/settings/change", params)
    finally:
        for name in link.reports(f"{SETTINGS}:"):
            link.refresh(name)
    for name in link.reports(f"{SETTINGS}:"):
        link.put(name, answer)
    return answer


def rows_now(ask: Ask, session: str) -> list[Server]:
    """The servers of a session as known now."""
    link = ask.link
    tools = link.peek(tools_name(session)) or {}
    return servers(link.peek(session) or {}, link.peek(list_name(session)) or {}, tools.get("items") or ())


def directory_of(state: Answer) -> str | None:
    """The local path of a session's primary directory."""
    found = state.get("workingDirectories") or ()
    path = local_path(str(found[0])) if found else ""
    return path if path.startswith("/") else None


def trust_directory(listed: Answer) -> str | None:
    """The local path of the directory to which trust belongs: for a worktree of this host the one that it was made
    from (M4.1c). `listed` is what `mcp/list` answered."""
    path = local_path(str(listed.get("directory") or ""))
    return path if path.startswith("/") else None
