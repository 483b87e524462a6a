"""A tool call as its card shows it (design, ui.md §3, tool-call card). Pure.

Rules
* The state is a mark with a word. The header is one line: a verb and its subject, which is what the call is about and
  never markup.
* What a call brought is shown as it is: text, output of a terminal, files, images by name. Its size is bounded; the
  rest is loaded when it is wanted.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from innkeeper.web.names import last_part, local_path

Mark = Literal["waiting", "running", "done", "failed", "denied", "cancelled", "asks"]
State = Mapping[str, Any]

LINES: Final = 12
"""Lines of output that are shown; the rest on demand."""
LARGEST: Final = 20_000
"""Characters of an argument or output that are sent with the page."""
SUBJECTS: Final = ("command", "file_path", "path", "notebook_path", "pattern", "url", "query", "prompt", "description")
"""Arguments that say what a call is about, the first that is there."""


class Edit(NamedTuple):
    """One file that a call changed: number `at` among the call's contents."""

    at: int
    name: str
    path: str
    added: int | None
    removed: int | None
    kind: Literal["changed", "created", "deleted", "renamed"]


class Output(NamedTuple):
    """Text that a call brought: the end of it, and how many lines are before."""

    text: str
    before: int
    terminal: str = ""
    """The terminal's channel, where it runs in one."""
    exit_code: int | None = None


class Card(NamedTuple):
    """What is shown of a call."""

    id: str
    mark: Mark
    verb: str
    subject: str
    arguments: str
    """As given: JSON where it is JSON."""
    outputs: tuple[Output, ...]
    edits: tuple[Edit, ...]
    chats: tuple[State, ...]
    """Chats of subagents."""
    resources: tuple[State, ...]
    reason: str
    answer: str
    """The label of the option that a person chose."""
    open: bool
    """Open by itself: it failed, or runs."""

    @property
    def added(self) -> int:
        return sum(edit.added or 0 for edit in self.edits)

    @property
    def removed(self) -> int:
        return sum(edit.removed or 0 for edit in self.edits)


def card(call: State, folder: str = "") -> Card:
    """The card of a tool call in any of its states; paths below `folder`, a local path, are shown from there."""
    contents: Sequence[State] = call.get("content") or ()
    mark = _mark(call)
    given = _arguments(call)
    edits = tuple(_edit(at, one, folder) for at, one in enumerate(contents) if one.get("type") == "fileEdit")
    subject = _subject(call, given, edits, folder)
    outputs = tuple(found for one in contents if (found := _output(one)) is not None)
    return Card(
        id=str(call["toolCallId"]),
        mark=mark,
        verb=str(call.get("displayName") or call.get("toolName") or ""),
        subject=subject,
        arguments="" if _says_all(given, subject) else given[:LARGEST],
        outputs=outputs,
        edits=edits,
        chats=tuple(one for one in contents if one.get("type") == "subagent"),
        resources=tuple(one for one in contents if one.get("type") in ("resource", "embeddedResource")),
        reason=_reason(call, mark),
        answer=str((call.get("selectedOption") or {}).get("label") or ""),
        open=mark == "failed" or (mark == "running" and bool(outputs)),
    )


def _says_all(arguments: str, subject: str) -> bool:
    """The header shows everything that the call was given."""
    found = parsed(arguments)
    return isinstance(found, Mapping) and len(found) == 1 and str(next(iter(found.values()))) == subject


def is_over(call: State) -> bool:
    """The call has ended, however."""
    return call.get("status") in ("completed", "cancelled")


def running_terminal(call: State) -> str:
    """The channel of the terminal in which the call runs now; empty where it runs in none, or is over."""
    if call.get("status") != "running":
        return ""
    contents = call.get("content") or ()
    return next((str(one.get("resource") or "") for one in contents if one.get("type") == "terminal"), "")


def plain(value: Any) -> str:
    """AHP's `StringOrMarkdown` as text."""
    return str(value.get("markdown") or "") if isinstance(value, Mapping) else str(value or "")


def _mark(call: State) -> Mark:
    match call.get("status"):
        case "completed":
            return "done" if call.get("success") else "failed"
        case "cancelled":
            return "denied" if call.get("reason") in ("denied", "result-denied") else "cancelled"
        case "pending-confirmation" | "pending-result-confirmation" | "auth-required":
            return "asks"
        case "running":
            return "running"
        case _:
            return "waiting"


def _arguments(call: State) -> str:
    given = call.get("toolInput") if "toolInput" in call else call.get("partialInput")
    if isinstance(given, Mapping):
        return local_path(str(given.get("uri") or ""))
    return str(given or "")


def parsed(arguments: str) -> Any:
    """The arguments as JSON; None when they are none, or not complete yet."""
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return None


def _subject(call: State, arguments: str, edits: Sequence[Edit], folder: str) -> str:
    if edits:
        return edits[0].path if len(edits) == 1 else ", ".join(edit.name for edit in edits)
    found = parsed(arguments)
    if isinstance(found, Mapping):
        value = next((found[name] for name in SUBJECTS if isinstance(found.get(name), str)), None)
        if value is None and len(found) == 1 and isinstance(next(iter(found.values())), str | int | float):
            value = str(next(iter(found.values())))
        if value:
            return " ".join(str(value).removeprefix(folder.rstrip("/") + "/" if folder else "").split())[:400]
    said = plain(call.get("invocationMessage")).strip()
    return "" if said == call.get("displayName") else " ".join(said.split())[:400]


def _edit(at: int, content: State, folder: str) -> Edit:
    before, after = content.get("before"), content.get("after")
    uri = str((after or before or {}).get("uri") or "")
    diff = content.get("diff") or {}
    kind: Literal["changed", "created", "deleted", "renamed"] = "changed"
    if before is None:
        kind = "created"
    elif after is None:
        kind = "deleted"
    elif before.get("uri") != after.get("uri"):
        kind = "renamed"
    path = local_path(uri)
    shown = path.removeprefix(folder.rstrip("/") + "/") if folder else path
    return Edit(at, last_part(uri), shown, diff.get("added"), diff.get("removed"), kind)


def _output(content: State) -> Output | None:
    match content.get("type"):
        case "text":
            return tail(str(content.get("text") or ""))
        case "terminal":
            result = content.get("result") or {}
            shown = tail(str(result.get("preview") or ""))
            return shown._replace(terminal=str(content.get("resource") or ""), exit_code=result.get("exitCode"))
        case _:
            return None


def tail(text: str) -> Output:
    """The last lines of a text."""
    lines = text.rstrip("\n").split("\n")
    shown = "\n".join(lines[-LINES:])
    return Output(shown[-LARGEST:], max(0, len(lines) - LINES))


def _reason(call: State, mark: Mark) -> str:
    if mark == "failed":
        return str((call.get("error") or {}).get("message") or plain(call.get("pastTenseMessage")))
    if mark in ("denied", "cancelled"):
        suggestion = (call.get("userSuggestion") or {}).get("text")
        return plain(call.get("reasonMessage")) or str(suggestion or "")
    return ""
