"""Approval of tool calls: the rules applied to what the host knows, and what is done with the decision (§5.11, M6.8).

Correctness invariant: no call runs past it (K1).

Rules
* Configuration, directories, attachments are read from the host's own state when the decision is made, never from the
  agent. Paths are looked at in a thread; what changed meanwhile is looked at again before anything is done.
* What was decided, and why, is in the call's `_meta` as `x-innkeeper/approval`, so that any client can show it.
* "Allow in this session" adds the tool to the session's `permissions.allow`. It is not offered where it would not
  count.
* A call of a project's MCP server is the gate's to ask about, once: here it is only denied by name (M6.8).
* A confirmation without a running turn is answered at once: by the rules where they approve, else denied (T14).
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from posixpath import join
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from innkeeper.host import access
from innkeeper.host.approval import (
    BY_SETTING,
    ONCE_ONLY,
    Call,
    Ground,
    Inline,
    Standing,
    Tables,
    Verdict,
    asks_of_tool,
    decide,
)
from innkeeper.host.approval.layers import Effective, Layer, effective
from innkeeper.host.approval.shell.grammar import Parse, load
from innkeeper.host.core import Core, act
from innkeeper.host.questions import ConversationQuestions
from innkeeper.host.settings import HostSettings
from innkeeper.host.views import State, active_turn, customization, find_turn, tool_call
from innkeeper.ports.contributed import CHAT_CONFIG, SURFACE
from innkeeper.ports.paths import PathFacts, Real
from innkeeper.ports.questions import APPROVED_BY_SETTING, Answer, Confirmation, Intent, Option, Reason, Rules
from innkeeper.texts import text

log = logging.getLogger(__name__)

META: Final = "x-innkeeper/approval"
"""Of a call: `{outcome, row, message, values}`."""
SERVER_META: Final = "x-innkeeper/mcp"
"""Under which key the host's own MCP servers describe themselves: what a client bundles has none."""

ALLOW_SESSION, ALLOW_ONCE, SKIP = "allow-session", "allow-once", "skip"

UNENDED: Final = frozenset({"streaming", "running", "pending-confirmation"})
NO_INTENT: Final = Intent("tool")
WARNED_KEPT: Final = 1_000


class UnknownPaths:
    """Facts of a host that was composed without any: nothing about a path is certain."""

    def look(self, path: str, *, pattern: bool = False) -> Real:
        return Real(problem="failed")


@dataclass(frozen=True, slots=True)
class Approving:
    """What approvals need from outside. `home` and `attachment_area` are directories of this machine; `folder_of` names
    the part of the area that is a session's."""

    paths: PathFacts = field(default_factory=UnknownPaths)
    home: str | None = None
    attachment_area: str | None = None
    folder_of: Callable[[str], str] | None = None
    tables: Tables = field(default_factory=Tables)
    values: Mapping[str, Any] = field(default_factory=dict)
    """The host's own layer of configuration: what holds where a session says nothing, and names that add up."""
    managed: frozenset[str] = frozenset()
    """Tools about which a policy demands that a person decides."""


class Approvals:
    """The adapter of `ports.questions.Approves`."""

    def __init__(
        self, core: Core, questions: ConversationQuestions, settings: HostSettings, given: Approving | None = None
    ) -> None:
        self._core = core
        self._questions = questions
        self._settings = settings
        self._given = given or Approving()
        self._warned: dict[str, None] = {}

    # -- what the rules say --------------------------------------------------------------------------------------

    def rules(self, place: str, tool: str) -> Rules:
        """What they say of a tool of a project's server, without their last row (M6.8). `place` is the chat that the
        call is made in, or a session."""
        standing = self._standing(place, tool)
        asks = () if standing.full_access is not None else asks_of_tool(standing, self._ground(place))
        return Rules(standing.denied_by, asks)

    def full_access(self, place: str) -> bool:
        """Whether the chat, or the session, runs with full access now (M6.3b)."""
        return self._standing(place, "").full_access is not None

    def mode(self, place: str) -> str:
        """The mode of the chat, or the session, now: `interactive`, `plan` or `autopilot`."""
        return self._effective(place).mode

    async def verdict(self, chat: str, tool: str, intent: Intent) -> Verdict:
        """The decision about a call in the chat now."""
        call, given, ground = Call(tool, intent), self._given, self._ground(chat)
        if intent.kind in ("shell", "read", "write"):
            standing = self._standing(chat, tool)
            verdict = await asyncio.to_thread(_decided, call, standing, ground, given.paths)
            if self._standing(chat, tool) == standing:
                return verdict
        return decide(call, self._standing(chat, tool), ground, given.paths, _parser())

    # -- what is done --------------------------------------------------------------------------------------------

    async def confirm(self, chat: str, turn_id: str, call: str, confirmation: Confirmation) -> Answer:
        """As `Approves.confirm` says."""
        intent = confirmation.intent or NO_INTENT
        if active_turn(self._core.head(chat), turn_id) is None:
            return await self._late(chat, turn_id, call, confirmation)
        asked = self._waiting(chat, turn_id, call)
        if asked is None:
            return Answer(False, reason="cancelled")
        tool = str(asked.get("toolName") or intent.tool or "")
        if self._is_gated(chat, asked):
            return self._gated(chat, turn_id, call, confirmation, tool)
        verdict = await self.verdict(chat, tool, intent)
        asked = self._waiting(chat, turn_id, call)
        if asked is None:
            return Answer(False, reason="cancelled")
        meta = {**(asked.get("_meta") or {}), META: told(verdict)}
        if verdict.outcome == "deny":
            return self._denied(chat, turn_id, call, confirmation, verdict, meta)
        if verdict.outcome == "approve":
            return self._approved(chat, turn_id, call, confirmation, verdict, meta, asked)
        return await self._asked(chat, turn_id, call, confirmation, verdict, tool)

    async def _asked(
        self, chat: str, turn_id: str, call: str, confirmation: Confirmation, verdict: Verdict, tool: str
    ) -> Answer:
        own = not confirmation.options
        question = _question(confirmation, verdict)
        answer = await self._questions.ask(chat, turn_id, call, question)
        if own and answer.approved and answer.option == ALLOW_SESSION:
            self._allow(self._core.owner(chat) or "", tool)
        return answer

    async def _late(self, chat: str, turn_id: str, call: str, confirmation: Confirmation) -> Answer:
        """Nobody can be asked about it any more; a turn that was cancelled runs nothing (T14)."""
        turn = find_turn(self._core.head(chat) or {}, turn_id)
        if turn is None or turn.get("state") == "cancelled":
            return Answer(False, reason="cancelled")
        intent = confirmation.intent or NO_INTENT
        named = (tool_call(turn, call) or {}).get("toolName") or intent.tool or ""
        verdict = await self.verdict(chat, str(named), intent)
        if verdict.outcome == "approve":
            return Answer(True, _approving(confirmation))
        return Answer(False, reason="no-conversation", message=words(verdict.reason, confirmation.lang))

    def _gated(self, chat: str, turn_id: str, call: str, confirmation: Confirmation, tool: str) -> Answer:
        standing = self._standing(chat, tool)
        if standing.denied_by is not None:
            verdict = decide(Call(tool, NO_INTENT), standing, Ground(), self._given.paths)
            return self._denied(chat, turn_id, call, confirmation, verdict, {META: told(verdict)})
        confirmed = "not-needed" if standing.full_access is None else "setting"
        act(self._core, chat, _ready(turn_id, call, confirmation, confirmed))
        return Answer(True, _approving(confirmation))

    def _approved(
        self,
        chat: str,
        turn_id: str,
        call: str,
        confirmation: Confirmation,
        verdict: Verdict,
        meta: State,
        asked: State,
    ) -> Answer:
        setting = verdict.row in BY_SETTING
        if setting and (asked.get("contributor") or {}).get("kind") == "client":
            meta = {**meta, APPROVED_BY_SETTING: True}
        ready = _ready(turn_id, call, confirmation, "setting" if setting else "not-needed")
        act(self._core, chat, {**ready, "_meta": meta})
        return Answer(True, _approving(confirmation))

    def _denied(
        self, chat: str, turn_id: str, call: str, confirmation: Confirmation, verdict: Verdict, meta: State
    ) -> Answer:
        """A call that the rules deny is shown as denied; nobody is asked."""
        why = words(verdict.reason, confirmation.lang)
        base = {"turnId": turn_id, "toolCallId": call}
        ready = {"type": "chat/toolCallReady", **base, "invocationMessage": confirmation.invocation, "_meta": meta}
        denied = {"type": "chat/toolCallConfirmed", **base, "approved": False, "reason": "denied", "reasonMessage": why}
        act(self._core, chat, ready, denied)
        return Answer(False, reason="user", message=why)

    def _allow(self, session: str, tool: str) -> None:
        """From now on the tool runs without a question in this session (S25)."""
        state = self._core.head(session)
        values = ((state or {}).get("config") or {}).get("values") or {}
        permissions = values.get("permissions")
        permissions = permissions if isinstance(permissions, Mapping) else {}
        allow = [name for name in permissions.get("allow") or () if isinstance(name, str)]
        if state is None or not tool or tool in allow:
            return
        changed = {"allow": [*allow, tool], "deny": list(permissions.get("deny") or ())}
        act(self._core, session, {"type": "session/configChanged", "config": {"permissions": changed}})

    def _waiting(self, chat: str, turn_id: str, call: str) -> State | None:
        """The call, as long as it has not ended."""
        found = tool_call(active_turn(self._core.head(chat), turn_id), call)
        return found if found is not None and found.get("status") in UNENDED else None

    # -- what the host knows -------------------------------------------------------------------------------------

    def _standing(self, place: str, tool: str) -> Standing:
        settings, given = self._settings, self._given
        return standing(
            self._effective(place),
            self._session(place),
            tool,
            full=settings.full_access,
            denied=settings.denied_tools,
            managed=given.managed,
        )

    def _session(self, place: str) -> State:
        """The state of the session, with the values that hold in the chat where `place` is one."""
        session = self._core.owner(place) or place
        state, config = self._core.head(session) or {}, (self._core.head(session) or {}).get("config")
        if session == place or not isinstance(config, Mapping):
            return state
        values: dict[str, Any] = {}
        for layer in reversed(self._layers(place)[:-1]):
            values.update(layer.values)
        return {**state, "config": {**config, "values": values}}

    def _layers(self, place: str) -> list[Layer]:
        """From the nearest: the chat, those it was spawned from, its session, the host."""
        session = self._core.owner(place) or place
        state = self._core.head(session) or {}
        kept, config = (state.get("_meta") or {}).get(CHAT_CONFIG), state.get("config")
        own: Mapping[str, Any] = kept if isinstance(kept, Mapping) else {}
        chats: list[str] = []
        while place != session and place not in chats:
            chats.append(place)
            origin = (self._core.head(place) or {}).get("origin") or {}
            place = str(origin["chat"]) if origin.get("kind") == "tool" and "chat" in origin else session
        values = config.get("values") if isinstance(config, Mapping) else None
        return [
            *(Layer("chat", own[chat]) for chat in chats if isinstance(own.get(chat), Mapping)),
            Layer("session", values if isinstance(values, Mapping) else {}),
            Layer("host", self._given.values),
        ]

    def _effective(self, place: str) -> Effective:
        found = effective(self._layers(place))
        for why in found.unusable:
            if (key := f"{place} {why}") not in self._warned:
                self._warned[key] = None
                log.warning("approvals of %s: %s; passed over", place, why)
        while len(self._warned) > WARNED_KEPT:
            del self._warned[next(iter(self._warned))]
        return found

    def _ground(self, place: str) -> Ground:
        session = self._core.head(self._core.owner(place) or place) or {}
        chat = self._core.head(place) or {}
        directories = chat.get("workingDirectories")
        if directories is None:
            directories = session.get("workingDirectories") or ()
        return Ground(
            roots=tuple(local_paths(directories)),
            home=self._given.home,
            attachment_area=self._given.attachment_area,
            attached_here=self._attached_here(self._core.owner(place) or place),
            attachments=frozenset(_attached(chat)),
            inline=inline(session),
            tables=self._given.tables,
        )

    def _attached_here(self, session: str) -> str | None:
        area, folder_of = self._given.attachment_area, self._given.folder_of
        return None if area is None or folder_of is None else join(area, folder_of(session))

    def _is_gated(self, chat: str, call: State) -> bool:
        """Whether the call goes to a server that this host mounted for the project, by what the host itself says."""
        contributor = call.get("contributor") or {}
        if contributor.get("kind") != "mcp":
            return False
        session = self._core.head(self._core.owner(chat) or "") or {}
        server = customization(session, str(contributor.get("customizationId"))) or {}
        described = (server.get("_meta") or {}).get(SERVER_META) or {}
        return server.get("type") == "mcpServer" and bool(described) and described.get("scope") != "host"


def standing(
    found: Effective,
    session: State,
    tool: str,
    *,
    full: bool = False,
    denied: Collection[str] = (),
    managed: Collection[str] = (),
) -> Standing:
    """What the effective configuration, the session's own state and the operator say of a tool."""
    by = found.deny.get(tool)
    by_operator = tool in denied or by == "host"
    return Standing(
        denied_by="operator" if by_operator else "session" if by is not None else None,
        full_access=access.full_access(session, operator_full=full, auto_approve=found.auto_approve),
        allowed=tool in found.allow,
        mode=found.mode,
        managed=tool in managed,
    )


def told(verdict: Verdict) -> dict[str, Any]:
    """The decision as the call's `_meta` has it: ids and values, so that each client says it in its own language."""
    return {
        "outcome": verdict.outcome,
        "row": verdict.row,
        "message": verdict.reason.message,
        "values": dict(verdict.reason.values),
    }


def words(why: Reason, lang: str = "en") -> str:
    """The reason in a language."""
    return text(why.message, lang=lang, **why.values)


def inline(session: State) -> Inline | None:
    """Whether the session is an editor's inline chat, and about which file."""
    surface = (session.get("_meta") or {}).get(SURFACE)
    if not isinstance(surface, Mapping) or surface.get("kind") != "editorInline":
        return None
    return Inline(next(local_paths((surface.get("target"),)), None))


@cache
def _parser() -> Parse | None:
    """The grammar, loaded once and late."""
    parse = load()
    if parse is None:
        log.warning("the grammar of command lines cannot be loaded; every command is asked about")
    return parse


def _decided(call: Call, standing: Standing, ground: Ground, paths: PathFacts) -> Verdict:
    return decide(call, standing, ground, paths, _parser() if call.intent.kind == "shell" else None)


def _question(confirmation: Confirmation, verdict: Verdict) -> Confirmation:
    """The confirmation with the host's answers, unless the agent has its own, and with why it is asked."""
    lang = confirmation.lang
    options: Sequence[Option] = confirmation.options or (
        *(
            ()
            if verdict.row in ONCE_ONLY
            else (Option(ALLOW_SESSION, text("approval.allowSession", lang=lang), "approve"),)
        ),
        Option(ALLOW_ONCE, text("approval.allowOnce", lang=lang), "approve"),
        Option(SKIP, text("approval.skip", lang=lang), "deny"),
    )
    meta = {**confirmation.meta, META: told(verdict)}
    return Confirmation(
        confirmation.title,
        confirmation.invocation,
        confirmation.tool_input,
        options,
        meta,
        lang,
        confirmation.intent,
    )


def _ready(turn_id: str, call: str, confirmation: Confirmation, confirmed: str) -> dict[str, Any]:
    ready: dict[str, Any] = {
        "type": "chat/toolCallReady",
        "turnId": turn_id,
        "toolCallId": call,
        "invocationMessage": confirmation.invocation,
        "confirmed": confirmed,
    }
    if confirmation.tool_input is not None:
        ready["toolInput"] = confirmation.tool_input
    return ready


def _approving(confirmation: Confirmation) -> str | None:
    """The answer that stands for an approval without a question."""
    return next((option.id for option in confirmation.options if option.kind == "approve"), ALLOW_ONCE)


def _attached(chat: State) -> Iterator[str]:
    """Local files that were attached to the chat's messages."""
    turns = [*(chat.get("turns") or ()), *([chat["activeTurn"]] if chat.get("activeTurn") else [])]
    for turn in turns:
        attachments = (turn.get("message") or {}).get("attachments") or ()
        yield from local_paths(one.get("uri") for one in attachments if one.get("type") == "resource")


def local_paths(uris: Any) -> Iterator[str]:
    """The local paths among URIs."""
    for uri in uris:
        parts = urlsplit(str(uri or ""))
        if parts.scheme == "file" and parts.netloc in ("", "localhost") and parts.path.startswith("/"):
            yield unquote(parts.path, errors="surrogateescape")
