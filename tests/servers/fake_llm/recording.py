"""What every fake model shares: the replies it gives, the requests it keeps, and the server in front (issue 6 §2).

A test says what the model answers, drives an agent, and reads what reached the model:

    async with FakeOpenAI(reply(call("echo", text="hi")), reply(say("done"))) as llm:
        ...
        assert llm.asked[0].offers("echo")

Rules
* Replies are used in order, each once; `when` puts one in front for the requests it describes; when all are used the
  model says `ok`.
* `asked` holds the requests for an answer of the model, oldest first, and nothing else that the agent fetched.
* A tool is named as the server knows it; the reply names it as this request offers it. `call(..., verbatim=True)` names
  it exactly so, offered or not.
"""

import asyncio
import contextlib
import json
import logging
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, Self

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from uvicorn import Config, Server

WAIT = 20.0


@dataclass(frozen=True, slots=True)
class Say:
    pieces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Think:
    pieces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Call:
    tool: str
    arguments: Mapping[str, object]
    id: str | None = None
    verbatim: bool = False
    raw: str | None = None
    """The whole input of a tool that takes text, not an object."""


Part = Say | Think | Call


class Usage(NamedTuple):
    fresh: int = 100
    cached: int = 0
    written: int = 20
    reasoned: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer. `then`: what follows its parts: a proper end, a stream that stays open, or a connection cut."""

    parts: tuple[Part, ...] = ()
    then: Literal["end", "hang", "cut"] = "end"
    pause: float = 0
    """Seconds between pieces."""
    after: asyncio.Event | None = None
    """Nothing is sent before this is set."""
    usage: Usage = field(default_factory=Usage)
    status: int = 200
    error: tuple[str, str] | None = None
    """Type and message: of an HTTP error where `status` says so, else of an error inside the stream."""
    headers: Mapping[str, str] = field(default_factory=dict)


def say(*pieces: str) -> Say:
    return Say(pieces)


def think(*pieces: str) -> Think:
    return Think(pieces)


def call(tool: str, *, id: str | None = None, verbatim: bool = False, raw: str | None = None, **arguments: Any) -> Call:
    return Call(tool, arguments, id, verbatim, raw)


def reply(*parts: Part, **more: Any) -> Reply:
    return Reply(parts, **more)


def failure(status: int, type: str = "server_error", message: str = "made to fail", **headers: str) -> Reply:
    return Reply(status=status, error=(type, message), headers=headers)


class Offered(NamedTuple):
    """A tool in a request; `space` is what groups it there, where the API has that."""

    name: str
    space: str | None = None

    @property
    def qualified(self) -> str:
        return f"{self.space}__{self.name}" if self.space else self.name

    def is_called(self, name: str) -> bool:
        whole = self.qualified
        return name in (self.name, whole) or whole.endswith((f"__{name}", f"-{name}", f".{name}", f"/{name}"))


@dataclass(eq=False, slots=True)
class Asked:
    """One request to the model, as it came."""

    number: int
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    tools: Sequence[Offered]
    last: str
    """The text of its last message or tool result."""
    left: bool = False
    """The agent closed the connection before the reply had ended."""
    done: bool = False

    def offers(self, tool: str) -> bool:
        return any(offered.is_called(tool) for offered in self.tools)

    def offered(self, tool: str) -> Offered | None:
        exact = next((o for o in self.tools if tool in (o.name, o.qualified)), None)
        return exact or next((o for o in self.tools if o.is_called(tool)), None)

    def mentions(self, words: str) -> bool:
        """Anywhere the model can read it: tools, instructions, messages."""
        return words in json.dumps(self.body, ensure_ascii=False)

    @property
    def names(self) -> list[str]:
        return [offered.qualified for offered in self.tools]


Match = Callable[[Asked], bool]


class _Quiet(Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class FakeModel:
    """Base of the fakes. A subclass gives `routes`, reads a request with `read` and writes a reply with `write`."""

    def __init__(self, *replies: Reply) -> None:
        self.asked: list[Asked] = []
        self.other: list[str] = []
        """Paths that were fetched and are no request to the model."""
        self.otherwise = reply(say("ok"))
        self._replies = list(replies)
        self._rules: list[tuple[Match, Reply, int]] = []
        self._news = asyncio.Event()
        self._hanging = asyncio.Event()
        self._server: _Quiet | None = None
        self._serving: asyncio.Task[None] | None = None
        self.port = 0

    # -- what tests say and ask ----------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def add(self, *replies: Reply) -> None:
        self._replies.extend(replies)

    def forget(self) -> None:
        """The replies that were not used: some agents end a turn early."""
        self._replies.clear()

    def when(self, match: Match, answer: Reply, times: int = 1_000_000) -> None:
        """The reply to the next `times` requests that match, before any other; a later rule goes first."""
        self._rules.insert(0, (match, answer, times))

    async def until(self, found: Callable[[], Any], seconds: float = WAIT) -> Any:
        """What `found` gives once it gives something; asked again whenever a request came, was left or has ended."""
        async with asyncio.timeout(seconds):
            while not (result := found()):
                self._news.clear()
                await self._news.wait()
        return result

    async def request(self, number: int) -> Asked:
        """The request of that number, from 0, once it is there."""
        found: Asked = await self.until(lambda: self.asked[number] if len(self.asked) > number else None)
        return found

    # -- what the APIs differ in ---------------------------------------------------------------------------------

    def routes(self) -> list[Route]:
        raise NotImplementedError

    def read(self, body: Mapping[str, Any]) -> tuple[Sequence[Offered], str]:
        """The tools of a request and the text of its last message."""
        raise NotImplementedError

    def write(self, asked: Asked, answer: Reply) -> AsyncIterator[bytes]:
        """The bytes of a streamed reply up to, and without, its end where `then` is not `end`."""
        raise NotImplementedError

    def error(self, type: str, message: str) -> Any:
        return {"error": {"type": type, "message": message}}

    # -- serving -------------------------------------------------------------------------------------------------

    async def answer(self, http: Request) -> Response:
        """The route of the API's request to the model."""
        body = json.loads(await http.body())
        tools, last = self.read(body)
        asked = Asked(len(self.asked), http.url.path, dict(http.headers), body, tools, last)
        self.asked.append(asked)
        self._news.set()
        answer = self._choose(asked)
        if answer.status != 200:
            if answer.after is not None:
                await answer.after.wait()
            self._done(asked)
            return JSONResponse(self.error(*(answer.error or ("", ""))), answer.status, headers=dict(answer.headers))
        return StreamingResponse(
            self._stream(asked, answer), media_type="text/event-stream", headers=dict(answer.headers)
        )

    async def aside(self, http: Request) -> Response:
        """Anything else that is fetched."""
        self.other.append(http.url.path)
        self._news.set()
        return JSONResponse(self.error("not_found", http.url.path), 404)

    async def _stream(self, asked: Asked, answer: Reply) -> AsyncIterator[bytes]:
        try:
            if answer.after is not None:
                await answer.after.wait()
            async for piece in self.write(asked, answer):
                yield piece
            while answer.then == "hang" and not self._hanging.is_set():
                yield b": still here\n\n"
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._hanging.wait(), 0.05)
            if answer.then == "cut":
                raise ConnectionAbortedError("cut, as the reply says")
        except (asyncio.CancelledError, GeneratorExit, ClientDisconnect):
            asked.left = True
            raise
        finally:
            self._done(asked)

    def _done(self, asked: Asked) -> None:
        asked.done = True
        self._news.set()

    def _choose(self, asked: Asked) -> Reply:
        for index, (match, answer, times) in enumerate(self._rules):
            if times and match(asked):
                self._rules[index] = (match, answer, times - 1)
                return answer
        return self._replies.pop(0) if self._replies else self.otherwise

    async def __aenter__(self) -> Self:
        for name in ("uvicorn", "uvicorn.error"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        every = ["GET", "HEAD", "POST", "PUT", "DELETE"]
        app = Starlette(routes=[*self.routes(), Route("/{rest:path}", self.aside, methods=every)])
        config = Config(app, log_config=None, access_log=False, lifespan="off", ws="none", timeout_graceful_shutdown=1)
        found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        found.bind(("127.0.0.1", 0))
        found.listen(64)
        found.setblocking(False)
        self.port = found.getsockname()[1]
        self._server = _Quiet(config)
        self._serving = asyncio.create_task(self._server.serve([found]), name="fake model")
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._hanging.set()
        if self._server is not None and self._serving is not None:
            self._server.should_exit = True
            self._server.force_exit = True
            await asyncio.wait([self._serving])


def event(kind: str, **data: Any) -> bytes:
    """One server-sent event whose data names its type."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()


def halves(text: str) -> list[str]:
    """The text in two pieces, one where it is too short."""
    middle = len(text) // 2
    return [piece for piece in (text[:middle], text[middle:]) if piece] or [""]


def now() -> int:
    return int(time.time())


def named(asked: Asked, wanted: Call) -> Offered:
    """The tool that a call means in this request."""
    found = None if wanted.verbatim else asked.offered(wanted.tool)
    return found or Offered(wanted.tool)


__all__ = [
    "Asked",
    "Call",
    "FakeModel",
    "Offered",
    "Reply",
    "Say",
    "Think",
    "Usage",
    "call",
    "event",
    "failure",
    "halves",
    "named",
    "now",
    "replace",
    "reply",
    "say",
    "think",
]
