"""`!<command>`: runs in a terminal of the session, shown as a tool call (K13, T15, T16).

Rules
* It is confirmed by the rules that hold for the tools of agents; what nobody allowed does not run. What was allowed is
  what runs: also when the person changed it while they were asked.
* The terminal begins in the session's first working directory. While the turn waits, the tool call holds it; then the
  chat does, and everybody may type into it. It stays until the session is disposed of; a shell that nobody uses any
  more ends when the next command of its chat begins, or after a while in which nobody looks at it.
* Whatever keeps the turn from waiting on (time, a client that takes over, a program that takes the whole screen) leaves
  the command running. A turn that is cancelled interrupts it.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from innkeeper.errors import HostError
from innkeeper.host.core import Core
from innkeeper.host.local_commands.words import PREFIX, shell_command
from innkeeper.host.outcomes import StorageFailed
from innkeeper.host.terminals.outcome import INTERRUPT, Outcome, Times
from innkeeper.host.terminals.service import TerminalChannels, Wanted
from innkeeper.ports.ids import Ids
from innkeeper.ports.local_commands import LocalOutput, LocalRequest
from innkeeper.ports.questions import Caller, Confirmation, Intent
from innkeeper.ports.terminals import Terminals
from innkeeper.protocol.chat.state import ToolCallResult
from innkeeper.protocol.chat.tools import ToolResultContent
from innkeeper.protocol.errors import RpcError
from innkeeper.protocol.uris import local_path, terminal_uri
from innkeeper.texts import Lang, text

if TYPE_CHECKING:
    from innkeeper.host.terminals.live import LiveTerminal

TOOL: Final = "shell"
SHOWN_CHARACTERS: Final = 80
INTERRUPTS: Final = 5
INTERRUPT_SECONDS: Final = 0.3
PREVIEW_CHARACTERS: Final = 2_000
_LANGUAGES: Final = {"bash": "bash", "sh": "sh", "dash": "sh", "ash": "sh"}
_TEXTS: Final = {
    "timedOut": "local.shell.timedOut",
    "shellEnded": "local.shell.shellEnded",
    "background": "local.shell.background",
    "interactive": "local.shell.interactive",
    "incomplete": "local.shell.incomplete",
    "untypable": "local.shell.untypable",
}


class Shell:
    name = "shell"
    anywhere = False
    prefix = None

    def __init__(
        self,
        core: Core,
        channels: TerminalChannels,
        terminals: Terminals,
        ids: Ids,
        language: Callable[[Caller], Lang],
        times: Times | None = None,
    ) -> None:
        self._core = core
        self._channels = channels
        self._terminals = terminals
        self._ids = ids
        self._language = language
        self._times = times or Times()
        self._left: dict[str, list[str]] = {}

    def takes(self, words: str) -> str | None:
        return shell_command(words)

    def title(self, argument: str) -> str | None:
        return PREFIX + argument

    async def run(self, request: LocalRequest, argument: str, output: LocalOutput) -> None:
        call = f"{TOOL}-{request.turn_id}"
        lang = self._language(Caller(request.session, request.chat, request.turn_id, call))
        directory = self._directory(request.session)
        output.start_call(call, TOOL, text("local.shell.name", lang=lang))
        answer = await output.confirm(call, self._question(argument, directory, lang))
        if not answer.approved:
            return
        command = argument if answer.edited_input is None else answer.edited_input
        try:
            live = await self._open(request, call, command, directory)
        except (HostError, RpcError, StorageFailed) as error:
            output.complete(call, _failed(text("local.shell.notStarted", lang=lang), _reason(error, lang)))
            return
        shown = _terminal(live.uri, command)
        output.progress(call, [shown])
        outcome = await self._waited(live, request, command)
        output.complete(call, _result(outcome, shown, command, self._times, lang))

    def _question(self, command: str, directory: str | None, lang: Lang) -> Confirmation:
        program = (self._terminals.shell(agent=True) or "").rsplit("/", 1)[-1]
        return Confirmation(
            title=text("local.shell.title", lang=lang),
            invocation=text("local.shell.running", lang=lang, command=_line(command)),
            tool_input=command,
            lang=lang,
            intent=Intent("shell", command=command, language=_LANGUAGES.get(program), directory=directory, tool=TOOL),
        )

    async def _open(self, request: LocalRequest, call: str, command: str, directory: str | None) -> "LiveTerminal":
        await self._end_unused(request.chat)
        claim = {**_claim(request), "turnId": request.turn_id, "toolCallId": call}
        place = directory if directory is not None else self._channels.home
        wanted = Wanted(terminal_uri(self._ids.new()), _line(command), claim, place, agent=True)
        live = await self._channels.open(wanted)
        self._left.setdefault(request.chat, []).append(live.uri)
        return live

    async def _waited(self, live: "LiveTerminal", request: LocalRequest, command: str) -> Outcome:
        from innkeeper.host.terminals.running import CommandRun

        run = CommandRun(live, command, self._times)
        live.taken_over = run.take_over
        finished = False
        try:
            outcome = await run.outcome()
            finished = True
            self._core.spawn(self._retire(live), f"unused shell of {live.uri}")
            return outcome
        finally:
            live.taken_over = None
            if not finished:
                self._core.spawn(_interrupt(live), f"interrupt {live.uri}")
            claim = (self._core.head(live.uri) or {}).get("claim") or {}
            if claim.get("turnId") == request.turn_id:
                self._channels.claim(live.uri, _claim(request))

    async def _end_unused(self, chat: str) -> None:
        kept: list[str] = []
        for uri in self._left.pop(chat, ()):
            live = self._channels.get(uri)
            if live is not None and self._is_unused(live):
                await self._channels.close_shell(uri)
            elif live is not None:
                kept.append(uri)
        if kept:
            self._left[chat] = kept

    async def _retire(self, live: "LiveTerminal") -> None:
        """So that a shell keeps no session in memory for ever."""
        while self._channels.get(live.uri) is live:
            await asyncio.sleep(self._times.idle)
            if self._is_unused(live) and not self._core.is_watched(live.uri):
                await self._channels.close_shell(live.uri)
                return

    def _is_unused(self, live: "LiveTerminal") -> bool:
        claim = (self._core.head(live.uri) or {}).get("claim") or {}
        return live.is_idle and claim.get("kind") == "session"

    def _directory(self, session: str) -> str | None:
        state = self._core.head(session) or {}
        return next((local_path(uri) for uri in (state.get("workingDirectories") or ())[:1]), None)


async def _interrupt(live: "LiveTerminal") -> None:
    """As a person would: again, when the shell was just about to start the program."""
    for _ in range(INTERRUPTS):
        live.type(INTERRUPT)
        await asyncio.sleep(INTERRUPT_SECONDS)
        if not live.transcript.is_running:
            return


def _claim(request: LocalRequest) -> dict[str, Any]:
    return {"kind": "session", "session": request.session, "chat": request.chat}


def _line(command: str) -> str:
    first = command.strip().split("\n", 1)[0]
    cut = first if len(first) <= SHOWN_CHARACTERS else first[: SHOWN_CHARACTERS - 1].rstrip() + "…"
    return cut if cut == command.strip() or cut.endswith("…") else f"{cut} …"


def _terminal(uri: str, command: str) -> ToolResultContent:
    return {"type": "terminal", "resource": uri, "title": _line(command), "isPty": True}


def _result(outcome: Outcome, shown: ToolResultContent, command: str, times: Times, lang: Lang) -> ToolCallResult:
    said = _past_tense(outcome, command, times, lang)
    if outcome.kind in ("untypable", "incomplete"):
        return {**_failed(said, said), "content": [shown]}
    result: dict[str, Any] = {"preview": outcome.output[-PREVIEW_CHARACTERS:]}
    if outcome.exit_code is not None:
        result["exitCode"] = outcome.exit_code
    if outcome.truncated or len(outcome.output) > PREVIEW_CHARACTERS:
        result["truncated"] = True
    content: list[Any] = [{**shown, "result": result}]
    if outcome.output:
        cut = text("local.shell.cut", lang=lang) + "\n" if outcome.truncated else ""
        content.append({"type": "text", "text": cut + outcome.output})
    return {"success": True, "pastTenseMessage": said, "content": content}


def _past_tense(outcome: Outcome, command: str, times: Times, lang: Lang) -> str:
    line = _line(command)
    if outcome.kind == "ran":
        if outcome.exit_code in (None, 0):
            return text("local.shell.ran", lang=lang, command=line)
        return text("local.shell.exited", lang=lang, command=line, code=outcome.exit_code)
    return text(_TEXTS[outcome.kind], lang=lang, command=line, seconds=f"{times.run:g}")


def _failed(said: str, why: str) -> ToolCallResult:
    return {"success": False, "pastTenseMessage": said, "error": {"message": why}}


def _reason(error: HostError | RpcError | StorageFailed, lang: Lang) -> str:
    match error:
        case HostError():
            return error.message(lang)
        case RpcError(message=message):
            return message
        case _:
            return text("error.STORAGE_FAILED.meaning", lang=lang)
