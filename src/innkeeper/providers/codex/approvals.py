"""What Codex asks its host before it acts, as questions of AHP (AHP §9.2, §9.8, M6.4, M6.8).

Rules
* Nothing is allowed but by an answer that approves. What is not understood is declined.
* A call of a project's MCP server is asked about by the gate when it is made; here the host approves it unasked.
* A call of a server that was switched off since is declined, whoever owns the server.
* A denial lets the turn go on. Codex has no place for a reason in its answer, so a reason follows as a message.
* A changed input cannot be given to Codex: such an approval is a denial that says what to run instead.
"""

import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from innkeeper.ports.questions import Answer, Confirmation, Intent
from innkeeper.protocol.chat.state import ChatInputRequest
from innkeeper.providers.codex.items import Call, Items
from innkeeper.providers.codex.rpc import Message, NotOffered
from innkeeper.providers.spi import InputAnswer, TurnOutput
from innkeeper.texts import text
from innkeeper.wire.json import encode

Tell = Callable[[str | None, str], Awaitable[None]]
"""Gives the agent, or a child of it, a message of the host's."""

IsOn = Callable[[str | None], bool]
"""Whether the customization of that id may be used now."""

DENIED_LEGACY: Final = {"decision": "denied"}


class Approvals:
    """The requests of one turn, its children's included."""

    def __init__(
        self,
        output: TurnOutput,
        items: Items,
        tell: Tell,
        *,
        is_on: IsOn = lambda id: True,
        sandboxed: bool = False,
    ) -> None:
        """`sandboxed`: Codex asks about commands that stay in its sandbox too."""
        self._output = output
        self._sandboxed = sandboxed
        self._is_on = is_on
        self._items = items
        self._tell = tell
        self._asked = 0

    async def request(self, method: str, params: Message) -> Mapping[str, object]:
        """The answer. Raises NotOffered."""
        match method:
            case "item/commandExecution/requestApproval":
                return await self._command(params)
            case "item/fileChange/requestApproval":
                return await self._edit(params)
            case "item/permissions/requestApproval":
                return await self._permissions(params)
            case "mcpServer/elicitation/request":
                return await self._elicitation(params)
            case "item/tool/requestUserInput":
                return await self._input(params)
            case "applyPatchApproval" | "execCommandApproval":
                return DENIED_LEGACY
            case _:
                raise NotOffered(method)

    async def _command(self, params: Message) -> Mapping[str, object]:
        item = {"type": "commandExecution", "id": params.get("itemId"), **_given(params, "command", "cwd")}
        call = self._items.start(item, self._items.subagent(params.get("threadId")))
        shown = str(params.get("command") or params.get("reason") or "")
        given = encode(_given(params, "command", "cwd", "reason")).decode()
        answer = await self._confirm(call, text("codex.ask.command"), shown, given, self._shell(params))
        return _decision(answer)

    async def _edit(self, params: Message) -> Mapping[str, object]:
        item = {"type": "fileChange", "id": params.get("itemId")}
        call = self._items.start(item, self._items.subagent(params.get("threadId")))
        shown = " ".join(str(params[one]) for one in ("reason", "grantRoot") if params.get(one))
        intent = Intent("write", paths=call.paths, leaves_sandbox=True) if call.paths else None
        title = text("codex.ask.edit")
        return _decision(await self._confirm(call, title, shown or title, call.given, intent))

    def _shell(self, params: Message) -> Intent:
        """A command that is asked about because its kind is not trusted stays in the sandbox; every other one asks
        because it would leave it."""
        command, language = unwrapped(str(params.get("command") or ""))
        stays = self._sandboxed and not any(params.get(name) for name in ("reason", "additionalPermissions"))
        where = params.get("cwd")
        return Intent(
            "shell",
            command=command,
            language=language,
            directory=str(where) if where else None,
            leaves_sandbox=not stays,
        )

    async def _permissions(self, params: Message) -> Mapping[str, object]:
        wanted = params.get("permissions") or {}
        item = {"type": "requestPermissions", "id": params.get("itemId")}
        call = self._items.start(item, self._items.subagent(params.get("threadId")))
        shown = str(params.get("reason") or text("codex.ask.permissions"))
        intent = Intent("tool", tool="requestPermissions", leaves_sandbox=True)
        answer = await self._confirm(call, text("codex.ask.permissions"), shown, encode(wanted).decode(), intent)
        return {"permissions": wanted if answer.approved else {}, "scope": "turn"}

    async def _elicitation(self, params: Message) -> Mapping[str, object]:
        meta = params.get("_meta") or {}
        if meta.get("codex_approval_kind") != "mcp_tool_call":
            return await self._elicited(params)
        call = self._called(params, meta)
        if call is None or not self._is_on(self._items.ids.get(call.server or "")):
            return {"action": "decline", "content": None, "_meta": None}
        given = encode(call.arguments).decode() if call.arguments is not None else None
        shown = text("codex.ask.tool", server=str(params.get("serverName")))
        answer = await self._confirm(
            call, str(params.get("message") or shown), shown, given, Intent("mcp", tool=call.tool)
        )
        return {"action": "accept" if answer.approved else "decline", "content": {}, "_meta": None}

    def _called(self, params: Message, meta: Mapping[str, Any]) -> Call | None:
        """The call that is asked about: Codex names its server and arguments and not its id."""
        subagent, server = self._items.subagent(params.get("threadId")), params.get("serverName")
        for call in self._items.calls.values():
            same = call.server == server and call.subagent == subagent and not (call.asked or call.runs)
            if same and (call.arguments or {}) == (meta.get("tool_params") or {}):
                return call
        return None

    async def _confirm(self, call: Call, title: str, shown: str, given: str | None, intent: Intent | None) -> Answer:
        call.asked = True
        confirmation = Confirmation(title, shown, given, intent=intent)
        answer = await self._output.confirm(call.id, confirmation, subagent=call.subagent)
        call.runs = answer.approved
        if answer.approved and answer.edited_input is not None:
            await self._tell(call.subagent, text("codex.editedInput", input=answer.edited_input))
            return answer._replace(approved=False)
        if not answer.approved and answer.message:
            await self._tell(call.subagent, text("codex.deniedBecause", why=answer.message))
        return answer

    # -- questions -----------------------------------------------------------------------------------------------

    async def _elicited(self, params: Message) -> Mapping[str, object]:
        """A question of a server that the host does not own."""
        fields = (params.get("requestedSchema") or {}).get("properties") or {}
        request: dict[str, Any] = {"id": self._id(params), "message": str(params.get("message", ""))}
        if params.get("mode") == "url" and params.get("url"):
            request["url"] = str(params["url"])
        elif params.get("mode") == "form":
            required = (params.get("requestedSchema") or {}).get("required") or ()
            request["questions"] = [_field(name, field, name in required) for name, field in fields.items()]
        else:
            return {"action": "cancel", "content": None, "_meta": None}
        answer = await self._output.ask(request)  # type: ignore[arg-type]  # built as the protocol has it
        content = {name: _value(answer, name) for name in fields} if answer.response == "accept" else None
        given = {name: value for name, value in content.items() if value is not None} if content is not None else None
        return {"action": answer.response, "content": given, "_meta": None}

    async def _input(self, params: Message) -> Mapping[str, object]:
        asked: Sequence[Mapping[str, Any]] = params.get("questions") or ()
        questions = [_question(one) for one in asked]
        request: ChatInputRequest = {"id": self._id(params), "questions": questions}  # type: ignore[typeddict-item]
        answer = await self._output.ask(request)
        found = {str(one["id"]): _value(answer, str(one["id"])) for one in asked if "id" in one}
        answers = {
            id: {"answers": [str(v) for v in (value if isinstance(value, list) else [value])]}
            for id, value in found.items()
            if value is not None
        }
        return {"answers": answers}

    def _id(self, params: Message) -> str:
        self._asked += 1
        return f"{params.get('itemId') or params.get('elicitationId') or params.get('turnId')}-{self._asked}"


def unwrapped(command: str) -> tuple[str, str | None]:
    """The script in `/bin/bash -lc '…'`, as Codex shows what it runs, and its language; None where it is none."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command, None
    shell = words[0].rpartition("/")[2] if words else ""
    if len(words) == 3 and shell in ("bash", "sh") and words[1] in ("-c", "-lc"):
        return words[2], shell
    return command, None


def _decision(answer: Answer) -> Mapping[str, object]:
    return {"decision": "accept" if answer.approved else "decline"}


def _given(params: Message, *names: str) -> dict[str, object]:
    return {name: params[name] for name in names if params.get(name) is not None}


def _question(one: Mapping[str, Any]) -> dict[str, Any]:
    base: dict[str, Any] = {"id": str(one.get("id")), "message": str(one.get("question") or one.get("header") or "")}
    if one.get("header"):
        base["title"] = str(one["header"])
    options = [
        {"id": str(option.get("label")), "label": str(option.get("label")), "description": option.get("description")}
        for option in one.get("options") or ()
    ]
    if not options:
        return {**base, "kind": "text"}
    return {**base, "kind": "single-select", "options": options, "allowFreeformInput": bool(one.get("isOther"))}


def _field(name: str, field: Mapping[str, Any], required: bool) -> dict[str, Any]:
    base = {"id": name, "message": str(field.get("description") or field.get("title") or name), "required": required}
    if isinstance(field.get("enum"), list):
        return {**base, "kind": "single-select", "options": [{"id": str(v), "label": str(v)} for v in field["enum"]]}
    kinds = {"boolean": "boolean", "number": "number", "integer": "integer"}
    return {**base, "kind": kinds.get(str(field.get("type")), "text")}


def _value(answer: InputAnswer, name: str) -> Any:
    given = answer.answers.get(name)
    if given is None or given["state"] != "submitted":
        return None
    return given["value"]["value"]
