"""`innkeeper` with the scripted agent beside the console: `python scripted_host.py serve --quiet …`, all else is real.

Besides what the scripted agent does: `attached` says what it was given with the message, as JSON; `write PATH` asks
whether it may, writes if so, and says the answer.
"""

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parent.parent))

from innkeeper.app import agents, compose
from innkeeper.cli.main import main
from innkeeper.ports.questions import Confirmation, Intent
from innkeeper.providers.spi import Provider, TextDelta, ToolCompleted, ToolStarted, TurnOutput, TurnRequest
from scripted import provider
from scripted.provider import ScriptedProvider, Session


async def attached(session: Session, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    output.emit(TextDelta(json.dumps(request.message.get("attachments") or []), "t"))


async def write(session: Session, request: TurnRequest, output: TurnOutput, rest: str) -> None:
    call = f"write-{request.turn_id}"
    output.emit(ToolStarted(call, "write", "Write"))
    intent = Intent("write", paths=[rest])
    answer = await output.confirm(call, Confirmation("Write?", f"Writing {rest}", rest, intent=intent))
    if answer.approved:
        await asyncio.to_thread(Path(rest).write_text, "written by the agent\n")
        done: Any = {"success": True, "pastTenseMessage": "Wrote"}
        output.emit(ToolCompleted(call, done))
    output.emit(TextDelta(json.dumps([answer.approved, answer.message]), "t"))


class ScriptedAgents(agents.QuietAgents):
    def providers(self, *given: Any) -> Sequence[Provider]:
        return (*super().providers(*given), ScriptedProvider())


if __name__ == "__main__":
    provider.PROMPTS = {**provider.PROMPTS, "attached": attached, "write": write}
    setattr(compose, "QuietAgents", ScriptedAgents)  # noqa: B010  # the one part that `--quiet` swaps
    sys.exit(main())
