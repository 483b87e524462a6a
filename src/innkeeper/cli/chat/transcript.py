"""A chat as text: whole turns, and the new pieces of a turn that streams. Pure.

Rules
* What the agent says goes to standard output; what happens around it (tool calls, notices, errors) to standard error,
  so that a script gets the answer alone.
* Only the state is read, never single events: what was missed is in the state.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from innkeeper.cli.words import text

Part = Mapping[str, Any]
MARKS = {"completed": "✓", "cancelled": "✗"}


@dataclass(frozen=True, slots=True)
class Piece:
    """Text for one of the two outputs, newlines included."""

    to: Literal["out", "err"]
    text: str


def plain(value: object) -> str:
    """The text of AHP's `StringOrMarkdown`."""
    if isinstance(value, Mapping):
        return str(value.get("markdown", ""))
    return value if isinstance(value, str) else ""


def content_text(content: Iterable[Mapping[str, Any]]) -> str:
    """A tool result as text; what is no text is named."""
    lines = []
    for item in content:
        match item.get("type"):
            case "text":
                lines.append(str(item.get("text", "")))
            case "embeddedResource":
                lines.append(f"[{item.get('contentType', '?')}]")
            case "resource" | "subagent" | "terminal":
                lines.append(f"[{item.get('title') or item.get('resource') or item.get('uri', '?')}]")
            case other:
                lines.append(f"[{other}]")
    return "\n".join(lines)


def call_line(call: Mapping[str, Any]) -> str:
    """One line about a tool call, as it stands."""
    name = call.get("displayName") or call.get("toolName") or "?"
    match call.get("status"):
        case "completed":
            ok = call.get("success", True)
            told = plain(call.get("pastTenseMessage")) or name
            return f"{MARKS['completed'] if ok else MARKS['cancelled']} {told}"
        case "cancelled":
            reason = text(f"cli.chat.call.{call.get('reason', 'skipped')}")
            why = plain(call.get("reasonMessage"))
            return f"{MARKS['cancelled']} {name}: {reason}" + (f" ({why})" if why else "")
        case _:
            return f"→ {plain(call.get('invocationMessage')) or name}"


def transcript(chat: Mapping[str, Any]) -> str:
    """The loaded turns of a chat, each with the person's message and everything that followed."""
    turns: Sequence[Mapping[str, Any]] = chat.get("turns") or ()
    active = chat.get("activeTurn")
    return "\n\n".join(_turn(turn) for turn in (*turns, *([active] if active else [])))


def _turn(turn: Mapping[str, Any]) -> str:
    quoted = "\n".join(f"> {line}" for line in str(turn["message"].get("text", "")).splitlines() or [""])
    pieces = "".join(piece.text for piece in TurnPrinter().update(turn)).rstrip("\n")
    return f"{quoted}\n{pieces}" if pieces else quoted


class TurnPrinter:
    """Gives what is new in a turn since it was last shown."""

    def __init__(self) -> None:
        self._shown: dict[int, str] = {}
        self._open = False
        """The last text did not end its line."""

    def update(self, turn: Mapping[str, Any]) -> list[Piece]:
        """The new pieces, in the order of the turn's parts; the text of a part that was replaced is given again."""
        pieces: list[Piece] = []
        parts: Sequence[Part] = turn.get("responseParts") or ()
        for index, part in enumerate(parts):
            pieces += self._part(index, part)
        if "state" in turn:
            pieces += self._end(turn)
        return pieces

    def _part(self, index: int, part: Part) -> Iterator[Piece]:
        match part.get("kind"):
            case "markdown":
                yield from self._text(index, str(part.get("content", "")))
            case "toolCall":
                yield from self._line(index, call_line(part["toolCall"]), part["toolCall"].get("status") != "streaming")
            case "systemNotification":
                yield from self._line(index, plain(part.get("content")))
            case "error":
                error = part.get("error") or {}
                yield from self._line(index, text("cli.chat.error", reason=error.get("message", "?")))
            case "inputRequest":
                request = part.get("request") or {}
                if part.get("response") is not None:
                    yield from self._line(index, text("cli.chat.input", message=request.get("message") or "?"))
            case "contentRef":
                yield from self._line(index, f"[{part.get('uri', '?')}]")

    def _text(self, index: int, content: str) -> Iterator[Piece]:
        known = self._shown.get(index, "")
        fresh = content.removeprefix(known) if content.startswith(known) else content
        if not fresh:
            return
        if index not in self._shown and any(other < index for other in self._shown):
            yield from self._close()
        self._shown[index] = content
        self._open = not fresh.endswith("\n")
        yield Piece("out", fresh)

    def _line(self, index: int, line: str, ready: bool = True) -> Iterator[Piece]:
        if not ready or self._shown.get(index) == line or not line:
            return
        yield from self._close()
        self._shown[index] = line
        yield Piece("err", line + "\n")

    def _close(self) -> Iterator[Piece]:
        if self._open:
            self._open = False
            yield Piece("out", "\n")

    def _end(self, turn: Mapping[str, Any]) -> Iterator[Piece]:
        yield from self._close()
        if turn["state"] == "cancelled":
            yield from self._line(-1, text("cli.chat.cancelled"))
