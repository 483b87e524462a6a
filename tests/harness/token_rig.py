"""A whole host on disk as `app` composes it, a protected MCP server, and a browser that says yes."""

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2

from innkeeper.app.compose import DATABASE, Circumstances, Host, open_host, standard_parts
from innkeeper.settings.config import Settings
from scripted.world import Client
from servers.authorization_server import AuthorizationServer, ProtectedServer

SESSION = "ahp-session:/1"
ID = "mcp:web"


class MovableClock:
    """Real time, plus what a test adds."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def now(self) -> str:
        return datetime.fromtimestamp(time.time() + self.ahead, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"

    def monotonic(self) -> float:
        return time.monotonic()


class Rig:
    """The host, its folder, and the server that it connects to. `restart` gives the next host on the same folder."""

    def __init__(self, folder: Path, server: ProtectedServer) -> None:
        self.folder = folder
        self.server = server
        self.clock = MovableClock()
        self.settings = Settings(access="full", gate_timeout=5.0)
        self.host: Host | None = None
        self.follows = 0
        self.inputs: Mapping[str, str] = {}
        (folder / "data").mkdir(exist_ok=True)
        (folder / "ws").mkdir(exist_ok=True)
        self.declare({})

    @property
    def authorization(self) -> AuthorizationServer:
        return self.server.authorization

    @property
    def driver(self) -> Any:
        assert self.host is not None
        return self.host.driver

    @property
    def tokens(self) -> Path:
        return self.folder / "data" / "tokens.json"

    def declare(self, more: Mapping[str, Any]) -> None:
        entry = {"type": "http", "url": self.server.url, **more}
        (self.folder / "ws" / ".mcp.json").write_text(json.dumps({"mcpServers": {"web": entry}}))

    async def start(self) -> "Rig":
        parts = standard_parts(self.folder / "data" / DATABASE, self.settings, quiet=True)
        given = Circumstances(self.settings, {}, self.folder, inputs=self.inputs)
        self.host = await open_host(replace(parts, clock=self.clock), given)
        return self

    async def stop(self) -> None:
        if self.host is not None:
            await self.host.close(2.0)
            self.host = None

    async def restart(self) -> None:
        await self.stop()
        await self.start()

    async def client(self, name: str = "alice") -> Client:
        client = Client(self, name)  # type: ignore[arg-type] - only the driver is used
        await client.initialize()
        return client

    async def opened(self, client: Client, session: str = SESSION) -> str:
        """A session in the workspace; gives its chat."""
        _, chat = await client.new_session(
            session, provider="console", workingDirectories=[(self.folder / "ws").as_uri()]
        )
        await client.state(session, lambda s: s.get("customizations"))
        return chat

    async def connect(self, client: Client, session: str = SESSION) -> Any:
        """Connect by hand; the state that came of it."""
        await client.request("x-innkeeper/mcp/connect", session, server="web")
        return await self.settled(client, session)

    async def settled(self, client: Client, session: str = SESSION, *kinds: str) -> Any:
        wanted = kinds or ("ready", "authRequired", "error")
        await client.state(session, lambda s: shown(s)["kind"] in wanted)
        return shown(client.states[session])

    def issued(self, *scopes: str, audience: str | None = None) -> str:
        """A token that a client got for itself."""
        given = self.authorization.issue("elsewhere", list(scopes) or ["read"], audience or self.server.url)
        return str(given["access_token"])

    async def authenticate(self, client: Client, token: str, **more: Any) -> Any:
        return await client.request("authenticate", resource=self.server.url, token=token, **more)

    async def followed(self, client: Client, session: str = SESSION) -> Any:
        """The server's state once it is connected and its lists are followed: no request of the host is under way."""
        before = self.follows
        state = await self.settled(client, session, "ready")
        await self.until(lambda: self._streams() > before)
        self.follows = self._streams()
        return state

    def _streams(self) -> int:
        """Streams of notifications that were opened, of either protocol generation."""
        return sum(self.server.posts.count((method, 200)) for method in ("subscriptions/listen", "GET"))

    def became(self, client: Client, kind: str) -> list[Any]:
        """How often the client was told that the server is now `kind`."""
        told = client.actions(SESSION, "session/mcpServerStateChanged")
        told += client.actions(SESSION, "session/customizationUpdated")
        states = [e["action"].get("state") or e["action"]["customization"]["state"] for e in told]
        return [state for state in states if state["kind"] == kind]

    def known_resources(self) -> Any:
        assert self.host is not None
        return self.host._authorization.resources()

    def access(self) -> Any:
        assert self.host is not None
        return self.host._authorization._accesses[SESSION, ID]

    def connection(self) -> Any:
        assert self.host is not None
        return self.host._servers.connected(SESSION, ID)[2]

    async def until(self, holds: Callable[[], Any]) -> None:
        """For what no client is told."""
        async with asyncio.timeout(5):
            while not holds():  # noqa: ASYNC110 - nothing announces it
                await asyncio.sleep(0.01)

    async def signed_in(self, client: Client, session: str = SESSION) -> Any:
        """The whole sign-in by the host, with a browser; the server's state then."""
        if shown(client.states[session])["kind"] != "authRequired":
            await self.connect(client, session)
        begun = await client.request("x-innkeeper/mcp/authorize", session, server="web")
        await browse(begun["url"])
        ended = await client.request("x-innkeeper/mcp/authorized", session, server="web")
        assert ended == {"completed": True}
        return await self.followed(client, session)

    def kept(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.tokens.read_text())["tokens"]
        return found


def shown(session: Any) -> Any:
    """The state of the only server."""
    return session["customizations"][0]["state"]


async def browse(url: str) -> str:
    """What a person sees in the end; every step of the way is a redirect."""
    async with httpx2.AsyncClient(follow_redirects=True, timeout=5) as browser:
        return (await browser.get(url)).text


def leaks(secrets: list[str], *texts: str) -> list[str]:
    return [secret for secret in secrets for text in texts if secret in text]
