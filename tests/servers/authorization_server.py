"""An authorization server and an MCP server that it protects, on two ports of this machine, for tests.

The authorization server: RFC 8414 metadata, authorization code with PKCE (S256 only), dynamic registration (RFC 7591),
registered clients, refresh with rotation (a replaced refresh token ends its whole family), revocation (RFC 7009),
resource indicators (RFC 8707). The MCP server: Streamable HTTP, RFC 9728 metadata, 401 and 403 as RFC 6750 says, one
scope for everything and another one for the tool `write`. Tests change its attributes while it runs.
"""

import base64
import contextlib
import hashlib
import json
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import uvicorn
from mcp.server.mcpserver import MCPServer
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send


@dataclass
class Issued:
    """One access token. `audience` is the resource that it was asked for."""

    client_id: str
    scopes: list[str]
    audience: str
    expires_at: float
    family: str
    alive: bool = True


@dataclass
class AuthorizationServer:
    """`seen` lists the requests by path, with their form; tests read it and the tables."""

    url: str = ""
    registration: bool = True
    lifetime: int = 3600
    grant_scopes: str | None = None
    """What is granted whatever is asked; None: what is asked."""
    deny: str | None = None
    """The error with which the person is sent back."""
    break_token: int | None = None
    """The status that the token endpoint answers with instead."""
    clients: dict[str, dict[str, Any]] = field(default_factory=dict)
    codes: dict[str, dict[str, Any]] = field(default_factory=dict)
    access: dict[str, Issued] = field(default_factory=dict)
    refresh: dict[str, Issued] = field(default_factory=dict)
    seen: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/.well-known/oauth-authorization-server", self.metadata),
                Route("/authorize", self.authorize),
                Route("/token", self.token, methods=["POST"]),
                Route("/register", self.register, methods=["POST"]),
                Route("/revoke", self.revoke, methods=["POST"]),
            ]
        )

    def forms(self, path: str) -> list[dict[str, str]]:
        return [form for seen, form in self.seen if seen == path]

    def secrets(self) -> list[str]:
        """Everything that was ever issued and must not be found anywhere."""
        given = [client["client_secret"] for client in self.clients.values() if client.get("client_secret")]
        return [*self.access, *self.refresh, *self.codes, *given]

    def issue(self, client_id: str, scopes: list[str], audience: str, *, refresh: bool = False) -> dict[str, Any]:
        """Tokens as the token endpoint gives them; also for tests that act as a client."""
        return self._issue(client_id, scopes, audience, secrets.token_hex(4), refresh=refresh)

    def end(self, family: str) -> None:
        """Revoke everything of one grant."""
        for issued in (*self.access.values(), *self.refresh.values()):
            if issued.family == family:
                issued.alive = False

    def end_all(self) -> None:
        for issued in (*self.access.values(), *self.refresh.values()):
            issued.alive = False

    def end_access(self) -> None:
        """Access tokens are refused from now on; refresh tokens live."""
        for issued in self.access.values():
            issued.alive = False

    def scopes_of(self, token: str, audience: str) -> tuple[list[str] | None, str]:
        """The scopes of a token that is good for `audience`, or None and why not."""
        issued = self.access.get(token)
        if issued is None or not issued.alive:
            return None, "unknown or revoked token"
        if issued.expires_at < time.time():
            return None, "the token has expired"
        if issued.audience != audience:
            return None, "the token is for another audience"
        return issued.scopes, ""

    async def metadata(self, request: Request) -> Response:
        self.seen.append((request.url.path, {}))
        found = {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "revocation_endpoint": f"{self.url}/revoke",
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic", "client_secret_post"],
            "authorization_response_iss_parameter_supported": True,
        }
        if self.registration:
            found["registration_endpoint"] = f"{self.url}/register"
        return JSONResponse(found)

    async def register(self, request: Request) -> Response:
        asked = await request.json()
        self.seen.append(("/register", {"redirect": str(asked["redirect_uris"])}))
        if not self.registration:
            return JSONResponse({"error": "access_denied"}, 403)
        client_id = f"dynamic-{secrets.token_hex(4)}"
        self.clients[client_id] = {**asked, "client_id": client_id}
        return JSONResponse(self.clients[client_id], 201)

    async def authorize(self, request: Request) -> Response:
        """A person who says yes at once."""
        asked = dict(request.query_params)
        self.seen.append(("/authorize", asked))
        client = self.clients.get(asked.get("client_id", ""))
        uri = asked.get("redirect_uri", "")
        if client is None or uri not in client["redirect_uris"]:
            return JSONResponse({"error": "invalid_request"}, 400)
        back = {"state": asked["state"], "iss": self.url}
        if asked.get("code_challenge_method") != "S256" or not asked.get("code_challenge"):
            return RedirectResponse(f"{uri}?{urlencode({**back, 'error': 'invalid_request'})}", 302)
        if self.deny is not None:
            return RedirectResponse(f"{uri}?{urlencode({**back, 'error': self.deny})}", 302)
        code = secrets.token_urlsafe(24)
        self.codes[code] = {**asked, "used": False}
        return RedirectResponse(f"{uri}?{urlencode({**back, 'code': code})}", 302)

    async def token(self, request: Request) -> Response:
        form = {name: str(value) for name, value in (await request.form()).items()}
        self.seen.append(("/token", form))
        if self.break_token is not None:
            return JSONResponse({"error": "temporarily_unavailable"}, self.break_token)
        client_id = self._authenticated(request, form)
        if client_id is None:
            return JSONResponse({"error": "invalid_client"}, 401)
        match form.get("grant_type"):
            case "authorization_code":
                return self._exchange(client_id, form)
            case "refresh_token":
                return self._rotate(client_id, form)
        return JSONResponse({"error": "unsupported_grant_type"}, 400)

    async def revoke(self, request: Request) -> Response:
        form = {name: str(value) for name, value in (await request.form()).items()}
        self.seen.append(("/revoke", form))
        issued = self.access.get(form["token"]) or self.refresh.get(form["token"])
        if issued is not None and self._authenticated(request, form) == issued.client_id:
            self.end(issued.family)
        return Response(status_code=200)

    def _authenticated(self, request: Request, form: dict[str, str]) -> str | None:
        given, secret = form.get("client_id"), form.get("client_secret")
        header = request.headers.get("authorization", "")
        if header.startswith("Basic "):
            given, _, secret = base64.b64decode(header[6:]).decode().partition(":")
        client = self.clients.get(given or "")
        return given if client is not None and client.get("client_secret") == secret else None

    def _exchange(self, client_id: str, form: dict[str, str]) -> Response:
        code = self.codes.get(form.get("code", ""))
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        proof = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        right = (
            code is not None
            and not code["used"]
            and code["client_id"] == client_id
            and code["redirect_uri"] == form.get("redirect_uri")
            and code["code_challenge"] == proof
            and code.get("resource") == form.get("resource")
        )
        if code is None or not right:
            return JSONResponse({"error": "invalid_grant"}, 400)
        code["used"] = True
        scopes = (self.grant_scopes or code.get("scope") or "").split()
        family = secrets.token_hex(4)
        return JSONResponse(self._issue(client_id, scopes, code.get("resource") or "", family, refresh=True))

    def _rotate(self, client_id: str, form: dict[str, str]) -> Response:
        issued = self.refresh.get(form.get("refresh_token", ""))
        if issued is None or issued.client_id != client_id:
            return JSONResponse({"error": "invalid_grant"}, 400)
        if not issued.alive:
            self.end(issued.family)
            return JSONResponse({"error": "invalid_grant"}, 400)
        if form.get("resource", issued.audience) != issued.audience:
            return JSONResponse({"error": "invalid_target"}, 400)
        issued.alive = False
        return JSONResponse(self._issue(client_id, issued.scopes, issued.audience, issued.family, refresh=True))

    def _issue(self, client_id: str, scopes: list[str], audience: str, family: str, *, refresh: bool) -> dict[str, Any]:
        def made() -> Issued:
            return Issued(client_id, scopes, audience, time.time() + self.lifetime, family)

        access = f"canary-access-{secrets.token_urlsafe(16)}"
        self.access[access] = made()
        given = {"access_token": access, "token_type": "Bearer", "expires_in": self.lifetime, "scope": " ".join(scopes)}
        if refresh:
            given["refresh_token"] = f"canary-refresh-{secrets.token_urlsafe(16)}"
            self.refresh[given["refresh_token"]] = made()
        return given


@dataclass
class ProtectedServer:
    """The MCP server. `calls` are the tools that really ran; `refusals` the statuses of what was turned away."""

    authorization: AuthorizationServer
    url: str = ""
    scope: str = "read"
    metadata: bool = True
    foreign: str | None = None
    """What the metadata names instead of this server."""
    in_header: bool = True
    """Whether the challenge says where the metadata is; it is at the well-known place anyway."""
    echo_token: bool = False
    """Whether the challenge quotes the token that it refuses, as a careless server would."""
    echo_header: str | None = None
    """A header that the challenge quotes, as a careless server would."""
    calls: list[str] = field(default_factory=list)
    posts: list[tuple[str, int]] = field(default_factory=list)

    def app(self) -> ASGIApp:
        server = MCPServer("protected")

        @server.tool()
        def read(text: str) -> str:
            self.calls.append("read")
            return text

        @server.tool()
        def write(text: str) -> str:
            self.calls.append("write")
            return f"written {text}"

        inner = server.streamable_http_app()

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await inner(scope, receive, send)
            elif scope["path"] == "/.well-known/oauth-protected-resource/mcp":
                await self._about()(scope, receive, send)
            else:
                await self._guard(inner, scope, receive, send)

        return app

    def _about(self) -> Response:
        if not self.metadata:
            return Response(status_code=404)
        return JSONResponse(
            {
                "resource": self.foreign or self.url,
                "resource_name": "Protected",
                "authorization_servers": [self.authorization.url],
                "scopes_supported": ["read", "write"],
                "bearer_methods_supported": ["header"],
            }
        )

    async def _guard(self, inner: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        body = b""
        more = scope["method"] == "POST"
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        asked = json.loads(body) if body else {}
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        refusal = self._refusal(headers, asked)
        self.posts.append((str(asked.get("method", scope["method"])), 200 if refusal is None else refusal.status_code))
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        given = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def again() -> Any:
            return next(given, None) or await receive()

        await inner(scope, again, send)

    def _refusal(self, headers: dict[str, str], asked: dict[str, Any]) -> Response | None:
        token = headers.get("authorization", "").removeprefix("Bearer ")
        if not token:
            return self._challenge(401, scope=self.scope)
        scopes, why = self.authorization.scopes_of(token, self.url)
        if scopes is None:
            why = f"{why}: {token}" if self.echo_token else why
            why = f"{why}: {headers.get(self.echo_header)}" if self.echo_header else why
            return self._challenge(401, error="invalid_token", error_description=why)
        wanted = self.scope
        if asked.get("method") == "tools/call" and asked["params"]["name"] == "write":
            wanted = "write"
        if wanted not in scopes:
            return self._challenge(403, error="insufficient_scope", scope=wanted)
        return None

    def _challenge(self, status: int, **fields: str) -> Response:
        if self.in_header and self.metadata:
            place = self.url.removesuffix("/mcp")
            fields["resource_metadata"] = f"{place}/.well-known/oauth-protected-resource/mcp"
        written = ", ".join(f'{name}="{value}"' for name, value in fields.items())
        return Response("refused", status, headers={"WWW-Authenticate": f"Bearer {written}"})


@contextlib.contextmanager
def served(app: ASGIApp, listener: socket.socket) -> Iterator[None]:
    """The application on its socket, in a thread with a loop of its own."""
    config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1, ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: server.run(sockets=[listener]), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = server.force_exit = True
        thread.join(5)
        listener.close()


@contextlib.contextmanager
def protected() -> Iterator[ProtectedServer]:
    """Both servers, running."""
    with contextlib.ExitStack() as stack:
        sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
        ports = [listener.getsockname()[1] for listener in sockets]
        authorization = AuthorizationServer(url=f"http://127.0.0.1:{ports[0]}")
        server = ProtectedServer(authorization, url=f"http://127.0.0.1:{ports[1]}/mcp")
        stack.enter_context(served(authorization.app(), sockets[0]))
        stack.enter_context(served(server.app(), sockets[1]))
        yield server
