"""What the scripted agents of the browser tests do. A scene that waits does so for a file `go-NAME` in the host's home,
so that a test decides when it goes on."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from innkeeper.ports.customizations import Eligible
from innkeeper.ports.questions import Confirmation, Option
from innkeeper.protocol.chat.state import Message
from innkeeper.protocol.root.state import AgentInfo
from innkeeper.protocol.session.state import SessionConfigSchema
from innkeeper.providers.spi import (
    Adopted,
    Backing,
    Notice,
    ProviderError,
    ReasoningDelta,
    SessionOpening,
    SteeringConsumed,
    TextDelta,
    TitleSuggested,
    ToolCompleted,
    ToolProgress,
    ToolRunning,
    ToolStarted,
    Transcript,
    TurnOutput,
    TurnRequest,
    Unavailable,
    UsageReported,
)

Scene = Callable[["StagedSession", TurnRequest, TurnOutput, str], Awaitable[None]]


class StagedProvider:
    def __init__(self, name: str, display: str, home: Path) -> None:
        self.name, self.display, self.home = name, display, home
        self._changed: Callable[[], None] = lambda: None

    @property
    def info(self) -> AgentInfo:
        models = [("sonnet", "Sonnet"), ("opus", "Opus")]
        return {
            "provider": self.name,
            "displayName": self.display,
            "description": "Plays scenes.",
            "models": [
                {"id": id, "provider": self.name, "name": name, "maxContextWindow": 200_000} for id, name in models
            ],
            "protectedResources": [
                {"resource": f"https://{self.name}.example", "resource_name": f"{self.display} service"}
            ],
            "capabilities": {"multipleChats": {"fork": True, "sideChat": True}},
        }

    @property
    def unavailable(self) -> Unavailable | None:
        """What the file `missing-NAME` in the host's home says: code, reason and remedy, a line each."""
        path = self.home / f"missing-{self.name}"
        return Unavailable(*path.read_text().splitlines()) if path.exists() else None

    def watch(self, changed: Callable[[], None]) -> None:
        self._changed = changed

    async def take_token(self, resource: str, token: str | None) -> None:
        """A key that begins with `wrong` is refused; any other one signs the agent in, and is kept in `key-NAME`."""
        if token is not None and token.startswith("wrong"):
            raise ProviderError("AGENT_REFUSED", "This key is not taken.")
        (self.home / f"key-{self.name}").write_text(token or "")
        (self.home / f"missing-{self.name}").unlink(missing_ok=True)
        self._changed()

    def can_resume(self, backing: Backing | None) -> bool:
        return True

    def config_schema(self, directory: str | None, values: Mapping[str, object]) -> SessionConfigSchema:
        mode = {
            "type": "string",
            "title": "Permission mode",
            "enum": ["default", "acceptEdits", "plan"],
            "enumLabels": ["Ask before edits", "Edit without asking", "Plan only"],
            "default": "default",
            "sessionMutable": True,
        }
        return {"type": "object", "properties": {"permissionMode": mode}}  # type: ignore[typeddict-item]

    async def transcripts(self, directory: str | None) -> Sequence[Transcript]:
        """One conversation of 2,000 turns, to be adopted."""
        return [Transcript("long", "Two thousand turns", directory, "2026-11-30T10:00:00.000Z", 2000)]

    async def read_transcript(self, id: str, directory: str | None) -> Adopted:
        turns = [
            {
                "id": f"old-{number}",
                "message": {"text": f"line {number}", "origin": {"kind": "user"}},
                "responseParts": [{"kind": "markdown", "id": "m", "content": f"Answer **{number}**.\n\n- `a`\n- b"}],
                "state": "complete",
            }
            for number in range(2000)
        ]
        return Adopted(turns, {})  # type: ignore[arg-type]

    async def open_session(self, opening: SessionOpening) -> "StagedSession":
        return StagedSession(self.home, opening.session)

    async def close(self) -> None:
        return


class StagedSession:
    def __init__(self, home: Path, uri: str = "") -> None:
        self.home, self.uri = home, uri
        self.steered: asyncio.Queue[tuple[str, Message]] = asyncio.Queue()

    async def run_turn(self, request: TurnRequest, output: TurnOutput) -> None:
        asked = request.text.rsplit("</side-conversation>", 1)[-1].strip()
        word, _, rest = asked.partition(" ")
        await SCENES.get(word, say)(self, request, output, rest if word in SCENES else asked)

    async def until(self, name: str) -> None:
        """Waits for the test."""
        while not (self.home / f"go-{name}").exists():  # noqa: ASYNC110 - another process says so
            await asyncio.sleep(0.02)

    async def reconcile(self, customizations: Eligible) -> Sequence[str] | None:
        return None

    async def steer(self, chat: str, message_id: str, message: Message) -> bool:
        self.steered.put_nowait((message_id, message))
        return True

    async def close(self) -> None:
        return


def done(words: str, verb: str = "Done", **more: object) -> dict[str, object]:
    return {"success": True, "pastTenseMessage": verb, "content": [{"type": "text", "text": words}], **more}


async def say(session: StagedSession, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    """The words, in pieces."""
    for start in range(0, len(rest), 12):
        output.emit(TextDelta(rest[start : start + 12], "t"))
        await asyncio.sleep(0)


async def slow(session: StagedSession, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    """Paragraphs, one after the other, and the last one when the test says so: `slow NAME COUNT`."""
    name, _, count = rest.partition(" ")
    output.emit(ReasoningDelta("First this, then that.", "r"))
    for number in range(int(count or 20)):
        for word in f"Paragraph {number} has **some** words and `code`.\n\n".split(" "):
            output.emit(TextDelta(word + ("" if word.endswith("\n\n") else " "), "t"))
            await asyncio.sleep(0.004)
    await session.until(name)
    output.emit(TextDelta("The end.", "t"))


ROUNDING = """The total is rounded **per line** and once more for tax, so half a cent can be counted twice:

- `cart/total.py` rounds each line with `round()`, which rounds half to even.
- The invoice service rounds once, half up. [Both results differ for 3 of 200 carts](https://example.com/carts).

```python cart/total.py
def total(lines: list[Line], rate: Decimal) -> Decimal:
    net = sum((l.price * l.qty for l in lines), Decimal(0))
    return (net * (1 + rate)).quantize(CENT, ROUND_HALF_UP)  # once
```
"""
OPTIONS = (
    Option("allow-once", "Allow once", "approve"),
    Option("allow-always", "Always allow this tool", "approve"),
    Option("deny", "Deny", "deny"),
)


def gate_meta(server: str, tool: str, also: Sequence[Mapping[str, object]] = ()) -> dict[str, object]:
    options = {"allow-once": "gate.allow_once", "allow-always": "gate.allow_always", "deny": "gate.deny"}
    values = {"server": server, "tool": tool}
    told = {"message": "gate.title", "invocation": "gate.invocation", "values": values, "options": options}
    return {"x-innkeeper/gate": {**told, "why": "unknown", "tool": f"mcp__{server}__{tool}", "also": list(also)}}


async def pictured(session: StagedSession, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    """The conversation of the target pictures."""
    await rounding(session, request, output, rest, also=[{"message": "gate.why.askingRule"}], thought=1.6)


async def rounding(
    session: StagedSession,
    request: TurnRequest,
    output: TurnOutput,
    rest: str,
    also: Sequence[Mapping[str, object]] = (),
    thought: float = 0.1,
) -> None:
    """Thought, answer, an edit, a running command, the gate's question."""
    output.emit(ReasoningDelta("The cart rounds twice. Let me look at both places.", "r"))
    await asyncio.sleep(thought)
    for start in range(0, len(ROUNDING), 16):
        output.emit(TextDelta(ROUNDING[start : start + 16], "t"))
        await asyncio.sleep(0)
    file = (session.home / "work" / "shop" / "cart" / "total.py").as_uri()
    edit = {
        "type": "fileEdit",
        "before": {"uri": file, "content": {"uri": file}},
        "after": {"uri": file, "content": {"uri": file}},
        "diff": {"added": 4, "removed": 7},
    }
    output.emit(ToolStarted("edit", "Edit", "Edited"))
    output.emit(ToolRunning("edit", "Edited", '{"file_path": "cart/total.py"}'))
    await asyncio.sleep(0.1)
    output.emit(ToolCompleted("edit", {"success": True, "pastTenseMessage": "Edited", "content": [edit]}))  # type: ignore[typeddict-item, list-item]
    output.emit(ToolStarted("run", "Bash", "Running"))
    output.emit(ToolRunning("run", "Running", '{"command": "pytest tests/test_cart.py -q"}'))
    dots = "." * 50 + "  [ 64%]\n" + "." * 14
    output.emit(ToolProgress("run", [{"type": "text", "text": dots}]))
    output.emit(UsageReported({"inputTokens": 82_000, "outputTokens": 1_200}))
    output.emit(ToolStarted("ask", "mcp__ledger__query_invoices", "query_invoices"))
    arguments = '{"customer": "c_1042", "since": "2026-11-01", "limit": 50}'
    meta = gate_meta("ledger", "query_invoices", also)
    asked = Confirmation("Allow it?", "Calling", arguments, OPTIONS, meta)
    answer = await output.confirm("ask", asked)
    if answer.approved:
        output.emit(ToolCompleted("ask", done("3 invoices")))  # type: ignore[arg-type]
    output.emit(ToolCompleted("run", done(dots + "\n64 passed")))  # type: ignore[arg-type]
    output.emit(TextDelta(f"Answered: {answer.option}.", "u"))


async def gates(session: StagedSession, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    """Several questions at once."""

    async def one(number: int) -> None:
        call = f"g{number}"
        output.emit(ToolStarted(call, f"mcp__ledger__tool_{number}", f"tool_{number}"))
        meta = gate_meta("ledger", f"tool_{number}")
        await output.confirm(call, Confirmation("Allow?", "Calling", f'{{"n": {number}}}', OPTIONS, meta))
        output.emit(ToolCompleted(call, done(f"result {number}")))  # type: ignore[arg-type]

    await asyncio.gather(*(one(number) for number in range(int(rest or 3))))
    output.emit(TextDelta("All answered.", "t"))


async def tools(session: StagedSession, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    """So many calls that end well, then one that fails."""
    for number in range(int(rest or 5)):
        output.emit(ToolStarted(f"c{number}", "Read", "Read"))
        output.emit(ToolRunning(f"c{number}", "Read", f'{{"file_path": "src/file_{number}.py"}}'))
        lines = "\n".join(f"line {n} of {number}" for n in range(40))
        output.emit(ToolCompleted(f"c{number}", done(lines)))  # type: ignore[arg-type]
        await asyncio.sleep(0.01)
    output.emit(TextDelta("Read.", "t"))
    output.emit(ToolStarted("bad", "Bash", "Bash"))
    output.emit(ToolRunning("bad", "Bash", '{"command": "make"}'))
    failed = {"success": False, "pastTenseMessage": "Failed", "error": {"message": "make: *** No rule\nsecond line"}}
    output.emit(ToolCompleted("bad", failed))  # type: ignore[arg-type]


async def confirm(session: StagedSession, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    """An agent's own confirmation, with the host's options."""
    output.emit(ToolStarted("sh", "Bash", "Bash"))
    answer = await output.confirm("sh", Confirmation("Run `make clean`?", "Bash", '{"command": "make clean"}'))
    if answer.approved:
        output.emit(ToolCompleted("sh", done("cleaned")))  # type: ignore[arg-type]
    output.emit(TextDelta(f"{answer.approved} {answer.option}", "t"))


QUESTIONS = [
    {"kind": "text", "id": "name", "message": "Your name?", "required": True},
    {"kind": "number", "id": "rate", "message": "Which rate?", "min": 0, "max": 1},
    {"kind": "integer", "id": "count", "message": "How many?"},
    {"kind": "boolean", "id": "sure", "message": "Are you sure?"},
    {
        "kind": "single-select",
        "id": "colour",
        "title": "Colour",
        "message": "Which one?",
        "options": [{"id": "r", "label": "Red"}, {"id": "g", "label": "Green", "description": "like grass"}],
        "allowFreeformInput": True,
    },
    {
        "kind": "multi-select",
        "id": "days",
        "message": "Which days?",
        "options": [
            {"id": "mo", "label": "Monday"},
            {"id": "tu", "label": "Tuesday"},
            {"id": "we", "label": "Wednesday"},
        ],
    },
]


async def ask(session: StagedSession, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    """Questions of every kind; what was answered is said."""
    answer = await output.ask({"id": "ask", "message": "Some questions", "questions": QUESTIONS})  # type: ignore[typeddict-item]
    output.emit(TextDelta(f"`{answer.response}` " + json.dumps(dict(answer.answers), sort_keys=True), "t"))


async def fail(session: StagedSession, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    output.emit(TextDelta("Half an answer", "t"))
    raise ProviderError("AGENT_LOGIN_MISSING", "Codex is not signed in.", resumable=rest == "resumable")


async def steered(session: StagedSession, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    """Says what it is steered to, then ends."""
    output.emit(TextDelta("Waiting to be steered. ", "t"))
    id, message = await session.steered.get()
    output.emit(SteeringConsumed(id))
    output.emit(TextDelta(f"Steered: {message['text']}", "t"))


async def hostile(session: StagedSession, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    """Markup wherever an agent can put some."""
    bad = "<img src=x onerror=window.hit=1><script>window.hit=1</script>"
    links = "[a](javascript:window.hit=1) [b](data:text/html,<script>) [c](//evil.example/x) ![i](https://evil.example/i.png)"
    output.emit(ReasoningDelta(bad, "r"))
    output.emit(TextDelta(f"{bad}\n\n{links}\n\n```html {bad}\n{bad}\n```\n\n<style>*{{}}</style>\n", "t"))
    output.emit(ToolStarted("x", bad, bad))
    output.emit(ToolRunning("x", bad, f'{{"command": "{bad}"}}'))
    output.emit(ToolCompleted("x", done(bad)))  # type: ignore[arg-type]
    output.emit(Notice(bad))
    output.emit(TitleSuggested(bad))
    output.emit(ToolStarted("g", bad, bad))
    await output.confirm("g", Confirmation(bad, bad, f'{{"{bad}": "{bad}"}}', OPTIONS))


async def write(session: StagedSession, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    """A file of that path below the host's home, then it waits for the test: `write PATH NAME`."""
    path, _, name = rest.partition(" ")
    file = session.home / path
    file.write_text("written\n")
    edit = {"type": "fileEdit", "after": {"uri": file.as_uri(), "content": {"uri": file.as_uri()}}}
    output.emit(ToolStarted("w", "Write", "Wrote"))
    output.emit(ToolRunning("w", "Wrote", json.dumps({"file_path": str(file)})))
    output.emit(ToolCompleted("w", {"success": True, "pastTenseMessage": "Wrote", "content": [edit]}))  # type: ignore[typeddict-item, list-item]
    await session.until(name)


async def spend(session: StagedSession, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    """So many tokens."""
    output.emit(TextDelta("Spent.", "t"))
    output.emit(UsageReported({"inputTokens": int(rest), "outputTokens": 34}))


SCENES: dict[str, Scene] = {
    "spend": spend,
    "write": write,
    "say": say,
    "slow": slow,
    "rounding": rounding,
    "Some": pictured,
    "gates": gates,
    "tools": tools,
    "confirm": confirm,
    "ask": ask,
    "fail": fail,
    "steered": steered,
    "hostile": hostile,
}
