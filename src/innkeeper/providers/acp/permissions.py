"""What an agent asks before it acts, as a question of AHP (AHP §9.2, M6.4, M6.8).

Rules
* An option is chosen by its kind, never by its place: some agents put *always* first. *Always* is never chosen, because
  what a person allows for good is remembered by the host, not by the agent.
* A call of a server of the host is asked about by the gate when it is made; here the host approves it unasked.
* Nothing that is not an approval allows anything.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from innkeeper.ports.questions import Confirmation, Intent
from innkeeper.providers.acp.updates import Call, Updates
from innkeeper.providers.spi import TurnOutput
from innkeeper.wire.json import encode

ALLOW: Final = ("allow_once",)
REJECT: Final = ("reject_once", "reject_always")


async def decide(
    output: TurnOutput, updates: Updates, asked: Mapping[str, Any], options: Sequence[Mapping[str, Any]], cwd: str
) -> str | None:
    """The id of the option that is the person's answer; None where there is none that says it."""
    call = updates.tool(asked, asked=True)
    call.asked = True
    title = str(asked.get("title") or call.name)
    given = encode(call.input).decode() if call.input is not None else None
    confirmation = Confirmation(title, title, given, intent=intent_of(call, cwd))
    answer = await output.confirm(call.id, confirmation, subagent=call.subagent)
    changed = answer.edited_input is not None
    call.runs = answer.approved and not changed
    return _option(options, ALLOW if call.runs else REJECT)


def intent_of(call: Call, cwd: str) -> Intent | None:
    """What the call wants, where the agent has said it in a way that can be relied on."""
    if call.server is not None:
        return Intent("mcp", tool=call.name)
    given = call.input if isinstance(call.input, Mapping) else {}
    command = _script(given.get("command"))
    if call.kind == "execute" and command is not None:
        where = given.get("cwd")
        directory = where if isinstance(where, str) else cwd
        return Intent("shell", command=command, language="bash", directory=directory, leaves_sandbox=False)
    if call.kind in ("edit", "delete", "move") and call.paths:
        return Intent("write", paths=call.paths)
    return None


def _script(command: object) -> str | None:
    """A command line, or the words of one that runs a script in a shell."""
    if isinstance(command, list) and len(command) == 3 and command[1] in ("-c", "-lc"):
        shell = str(command[0]).rpartition("/")[2]
        return str(command[2]) if shell in ("bash", "sh") else None
    return command if isinstance(command, str) else None


def _option(options: Sequence[Mapping[str, Any]], kinds: Sequence[str]) -> str | None:
    for kind in kinds:
        for option in options:
            if option.get("kind") == kind:
                return str(option.get("optionId"))
    return None
