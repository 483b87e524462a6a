"""The web UI as one ASGI application (docs/guide/web.md).

Rules
* Every answer has the policy that allows scripts, styles, images, connections and forms of this origin and nothing
  else, and no frame around it. No page is kept by a cache; static files are kept for ever, by their fingerprint.
* An address of ours is never taken from a request: redirects go to paths that this module makes.
* What changes something comes by POST from this origin with the form token, or is refused.
"""

import hashlib
import hmac
import logging
import re
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse

from innkeeper.client import ClientError, Transport
from innkeeper.errors import HostError
from innkeeper.texts import negotiate
from innkeeper.web.asking import (
    Ask,
    Fragment,
    Problem,
    View,
    WebOptions,
    problem_of,
)
from innkeeper.web.files import Files
from innkeeper.web.link import HostLink, Refused
from innkeeper.web.live import LivePage, LivePages
from innkeeper.web.pages import all_actions, all_pages
from innkeeper.web.streaming import stream
from innkeeper.web.templates import Reader, Templates

log = logging.getLogger(__name__)

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
FOR_EVER: Final = "public, max-age=31536000, immutable"
LANG_COOKIE: Final = "innkeeper_lang"
THEME_COOKIE: Final = "innkeeper_theme"
KEYS_COOKIE: Final = "innkeeper_keys"
THEMES: Final = ("system", "light", "dark")
FORM_BYTES: Final = 32 * 1024 * 1024
"""The largest form, its attachments included."""

_PREFIX = re.compile(r"(/(?!\.{1,2}(/|$))[A-Za-z0-9._~-]+)+")
ERRORS_TOLD: Final = (Problem, HostError, ClientError, Refused)


class Site:
    """The pages of one host. `transport` connects to it in this process; nothing happens before the first request."""

    def __init__(self, transport: Transport, options: WebOptions) -> None:
        self.options = options
        self.files = Files()
        self.templates = Templates(self.files)
        self.link = HostLink(transport, locale=options.language)
        self.live = LivePages()
        self.closing = False
        secret = options.secret or secrets.token_bytes(32)
        self._form_token = hmac.new(secret, b"innkeeper form", hashlib.sha256).hexdigest()
        self._pages = [(_pattern(path), handler) for path, handler in all_pages(options)]
        self._actions = [(_pattern(path), handler) for path, handler in all_actions(options)]
        self.link.listen(self.live.stir)

    async def close(self) -> None:
        """Ends the streams and the client. Idempotent."""
        self.closing = True
        for page in self.live.all():
            page.stirred.set()
        await self.link.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        base = _base(request)
        path = request.url.path
        if base and path.startswith(base + "/"):
            path = path[len(base) :]
        response = await self._answer(request, base, path)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        response.headers.setdefault("cache-control", "no-store")
        await response(scope, receive, send)

    async def _answer(self, request: Request, base: str, path: str) -> Response:
        if path.startswith("/static/"):
            return self._static(request, path)
        reader = self._reader(request, base)
        try:
            if request.method in ("GET", "HEAD"):
                if path == "/-/live":
                    return await self._stream(request, reader)
                return await self._show(request, reader, path)
            if request.method == "POST":
                return await self._act(request, reader, path)
            raise Problem(reader.t("web.not_found"), status=405)
        except ERRORS_TOLD as error:
            return self._refuse(request, reader, problem_of(error, reader))
        except Exception:
            log.exception("a page failed: %s", path)
            return self._refuse(request, reader, Problem(reader.t("web.failed"), status=500))

    # Pages

    async def view(self, ask: Ask, path: str) -> View | Fragment:
        """The page of a path. Raises Problem when there is none."""
        handler, params = _find(self._pages, path)
        if handler is None:
            raise Problem(ask.reader.t("web.not_found"), status=404)
        ask.params = params
        await self.link.client()
        view: View | Fragment = await handler(ask)
        return view

    def ask(self, request: Request, reader: Reader, address: str, choices: dict[str, str] | None = None) -> Ask:
        """The request as pages see it; `address` is path and query below the base path."""
        query = dict(parse_qsl(urlsplit(address).query, keep_blank_values=True))
        return Ask(
            self.link,
            self.templates,
            reader,
            self.options,
            address,
            {},
            query,
            self._form_token,
            choices=choices if choices is not None else {},
            cookies=request.cookies,
        )

    async def open_page(self, ask: Ask, path: str, id: str) -> tuple[View, LivePage] | Fragment:
        """Makes the page and remembers it as `id`."""
        view = await self.view(ask, path)
        if isinstance(view, Fragment):
            return view
        page = LivePage(id, view.regions, ask.choices, noticed=view.noticed, prepare=view.prepare)
        for gone in self.live.add(page):
            self.link.release(gone.held)
        self.hold(page)
        return view, page

    def hold(self, page: LivePage) -> None:
        """Subscribes for the page what it depends on now."""
        wanted = page.channels()
        if wanted != page.held:
            self.link.hold(wanted - page.held)
            self.link.release(page.held - wanted)
            page.held = wanted

    async def _show(self, request: Request, reader: Reader, path: str) -> Response:
        address = path + (f"?{request.url.query}" if request.url.query else "")
        ask = self.ask(request, reader, address)
        opened = await self.open_page(ask, path, secrets.token_urlsafe(12))
        if isinstance(opened, Fragment):
            return Response(opened.html, media_type=opened.type)
        view, page = opened
        values = {**view.values, "title": view.title, "live": _live(page), "page_id": page.id, "address": address}
        return Response(ask.render(view.template, **values), view.status, media_type="text/html")

    async def _stream(self, request: Request, reader: Reader) -> Response:
        query = request.query_params
        headers = {"x-accel-buffering": "no"}
        source = stream(self, request, reader, query.get("page", ""), query.get("at", "/"), query.get("after", ""))
        return StreamingResponse(source, media_type="text/event-stream", headers=headers)

    # Actions

    async def _act(self, request: Request, reader: Reader, path: str) -> Response:
        if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise Problem(reader.t("web.foreign"), code="ORIGIN_FOREIGN", status=403)
        if int(request.headers.get("content-length") or 0) > FORM_BYTES:
            raise Problem(reader.t("web.form_large"), status=413)
        handler, params = _find(self._actions, path)
        if handler is None and path not in ("/-/choose", "/-/preferences"):
            raise Problem(reader.t("web.not_found"), status=404)
        async with request.form(max_files=64, max_fields=2000, max_part_size=FORM_BYTES) as form:
            given = str(form.get("form_token", "")) or request.headers.get("x-form-token", "")
            if not hmac.compare_digest(given.encode(), self._form_token.encode()):
                raise Problem(reader.t("web.form_stale"), code="FORM_STALE", status=403)
            ask = self.ask(request, reader, path)
            ask.params, ask.form = params, form
            if path == "/-/choose":
                return await self._choose(ask)
            if path == "/-/preferences":
                return self._prefer(request, ask)
            assert handler is not None
            await self.link.client()
            done = await handler(ask)
        if _wants_json(request):
            target = {"to": reader.url(done.to)} if done.go else {}
            answer = {**target, **(done.answer or {})}
            return JSONResponse(answer) if answer else Response(status_code=204)
        return RedirectResponse(reader.url(done.to), 303)

    async def _choose(self, ask: Ask) -> Response:
        """A tab sets something of its own page: a search, how far back it reads."""
        page = self.live.get(ask.field("page"))
        if page is None:
            raise Problem(ask.reader.t("web.form_stale"), code="FORM_STALE", status=409)
        name = ask.field("name")
        page.choices[name] = ask.field("value")[:1000]
        if page.prepare is not None:
            await page.prepare()
        page.stir(f"choice:{name}")
        return Response(status_code=204)

    def _prefer(self, request: Request, ask: Ask) -> Response:
        """Language, theme and keys of this browser."""
        back = ask.field("back", "/")
        target = back if back.startswith("/") and not back.startswith(("//", "/\\")) else "/"
        response = RedirectResponse(ask.reader.url(target), 303)
        preferences = (
            ("lang", LANG_COOKIE, ("en", "zh_Hans", "")),
            ("theme", THEME_COOKIE, THEMES),
            ("keys", KEYS_COOKIE, ("on", "off")),
        )
        for name, cookie, allowed in preferences:
            value = ask.field(name, "\0")
            if value in allowed:
                response.set_cookie(
                    cookie,
                    value,
                    max_age=365 * 24 * 3600,
                    path=ask.reader.base or "/",
                    httponly=True,
                    samesite="strict",
                    secure=_is_https(request),
                )
        return response

    # The rest

    def _reader(self, request: Request, base: str) -> Reader:
        accepted = request.headers.get("accept-language")
        lang = negotiate(request.cookies.get(LANG_COOKIE), accepted, self.options.language, "zh")
        theme = request.cookies.get(THEME_COOKIE, "system")
        fingerprint = self.files.fingerprint
        return Reader(lang=lang, base=base, fingerprint=fingerprint, theme=theme if theme in THEMES else "system")

    def _static(self, request: Request, path: str) -> Response:
        _, _, fingerprint, name = [*path.split("/", 3), "", ""][:4]
        found = self.files.read(name) if request.method in ("GET", "HEAD") else None
        if found is None:
            return Response("nothing here\n", 404, media_type="text/plain")
        content, type = found
        fresh = fingerprint == self.files.fingerprint
        return Response(content, media_type=type, headers={"cache-control": FOR_EVER if fresh else "no-store"})

    def _refuse(self, request: Request, reader: Reader, problem: Problem) -> Response:
        if _wants_json(request):
            told = {"message": problem.message, "code": problem.code, "remedy": problem.remedy}
            return JSONResponse(told, problem.status)
        ask = self.ask(request, reader, "/")
        values = {"title": problem.message, "problem": problem, "page_id": "", "address": "/", "live": lambda _: ""}
        return Response(ask.render("error.html", **values), problem.status, media_type="text/html")


def _live(page: LivePage) -> Callable[[str], str]:
    from markupsafe import Markup

    return lambda region: Markup(page.html(region))


def _pattern(path: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", path)
    return re.compile("".join(f"(?P<{part}>[^/]+)" if odd % 2 else re.escape(part) for odd, part in enumerate(parts)))


def _find(table: Iterable[tuple[re.Pattern[str], Any]], path: str) -> tuple[Any, Mapping[str, str]]:
    for pattern, handler in table:
        if (match := pattern.fullmatch(path)) is not None:
            return handler, match.groupdict()
    return None, {}


def _base(request: Request) -> str:
    prefix = request.headers.get("x-forwarded-prefix", "").rstrip("/")
    return prefix if _PREFIX.fullmatch(prefix) else ""


def _is_https(request: Request) -> bool:
    return request.headers.get("x-forwarded-proto", request.url.scheme).split(",")[0].strip() == "https"


def _wants_json(request: Request) -> bool:
    return "application/json" in request.headers.get("accept", "")
