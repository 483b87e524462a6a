"""What a page or an action is asked: who reads, of what, with which words; and what it may answer.

Rules
* A page is a coroutine `page(ask) -> View`, an action `action(ask) -> Done`; both are registered with their path in
  `PAGES` and `ACTIONS` of a module below `web.pages`, and raise `Problem` for everything that a person is told.
* An action changes something, so that it comes by POST, from this origin, with the form token of the page.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup
from starlette.datastructures import FormData

from innkeeper.client import ClientError, RpcFailure
from innkeeper.errors import ERRORS, HostError
from innkeeper.web.highlight import highlighted
from innkeeper.web.link import HostLink, Refused
from innkeeper.web.live import Region
from innkeeper.web.names import folder
from innkeeper.web.templates import Reader, Templates


class Problem(Exception):
    """Something a person is told: words, what helps, and a stable code where there is one."""

    def __init__(self, message: str, *, code: str = "", remedy: str = "", status: int = 400) -> None:
        super().__init__(message)
        self.message, self.code, self.remedy, self.status = message, code, remedy, status


@dataclass(frozen=True, slots=True)
class WebOptions:
    """What the operator decided about the web UI."""

    language: str | None = None
    web_control: bool = True
    """False: no management page is served (M9.3)."""
    version: str = ""
    home: str | None = None
    """Shown as `~` in paths."""
    secret: bytes = b""
    """Makes form tokens; never leaves the host."""


@dataclass(slots=True)
class Ask:
    """One request for a page or an action."""

    link: HostLink
    templates: Templates
    reader: Reader
    options: WebOptions
    path: str
    """Path and query below the base path, as the browser has it."""
    params: Mapping[str, str]
    """Of the path."""
    query: Mapping[str, str]
    form_token: str
    form: FormData | None = None
    choices: dict[str, str] = field(default_factory=dict)
    """What the tab has set on its page; an action sees none."""
    cookies: Mapping[str, str] = field(default_factory=dict)

    def render(self, template: str, **values: Any) -> str:
        """A template, in the reader's language."""
        from innkeeper.web.words import words

        common = {**self.reader.values(), "words": words}
        return self.templates.render(template, {**common, "form_token": self.form_token, "ask": self, **values})

    def folder(self, uri: str) -> str:
        """A folder as a person knows it."""
        return folder(uri, self.options.home)

    def coloured(self, source: str, language: str) -> Markup:
        """Source in colours."""
        return Markup(highlighted(source, language))

    def pretty(self, rows: Sequence[tuple[str, str, str]]) -> str:
        """Arguments as JSON that a person can edit."""
        return json.dumps({name: json.loads(value) for name, value, _ in rows}, ensure_ascii=False, indent=2)

    def remedy(self, code: str) -> str:
        """What helps against an error with this code; empty where nobody knows."""
        return self.reader.t(f"error.{code}.remedy") if code in ERRORS else ""

    def field(self, name: str, default: str = "") -> str:
        """A text field of the form, line ends as `\\n`."""
        value = self.form.get(name, default) if self.form is not None else default
        return value.replace("\r\n", "\n") if isinstance(value, str) else default

    def fields(self, name: str) -> list[str]:
        """All values of a text field."""
        if self.form is None:
            return []
        return [value for value in self.form.getlist(name) if isinstance(value, str)]


@dataclass(frozen=True, slots=True)
class View:
    """A page: its template, which extends `base.html`, with what is live in it."""

    template: str
    title: str
    regions: Sequence[Region] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200
    noticed: Callable[[], None] | None = None
    """Called whenever somebody looks at the page and something changed in it."""
    prepare: Callable[[], Awaitable[None]] | None = None
    """Awaited after a choice of the tab, before the page is looked at again: subscribes what is shown now."""


@dataclass(frozen=True, slots=True)
class Done:
    """An action was done. `to` is the page to show then (below the base path): for browsers without script, and for
    those with one where `go` says so. `answer` is what the script gets."""

    to: str = "/"
    go: bool = False
    answer: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece that a page loads when it is wanted: markup, unless `type` says otherwise."""

    html: str
    type: str = "text/html"


PageHandler = Callable[[Ask], Awaitable[View | Fragment]]
ActionHandler = Callable[[Ask], Awaitable[Done]]
Pages = Sequence[tuple[str, PageHandler]]
Actions = Sequence[tuple[str, ActionHandler]]


def problem_of(error: Exception, reader: Reader) -> Problem:
    """What a person is told of an error of the host, the client library or this package."""
    match error:
        case Problem():
            return error
        case HostError():
            return Problem(error.message(reader.lang), code=error.code, remedy=error.remedy(reader.lang))
        case RpcFailure():
            data = error.data if isinstance(error.data, Mapping) else {}
            code = str(data.get("code") or "")
            remedy = reader.t(f"error.{code}.remedy") if code in ERRORS and not data.get("remedy") else ""
            status = 404 if error.code in (-32001, -32008) else 409 if code.endswith("CONFLICT") else 400
            return Problem(error.message, code=code, remedy=str(data.get("remedy") or remedy), status=status)
        case Refused():
            return Problem(str(error), status=409)
        case ClientError():
            return Problem(reader.t("web.host_lost"), status=503)
    raise error
