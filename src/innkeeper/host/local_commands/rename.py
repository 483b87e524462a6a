"""`/rename <title>`: names the chat it is said in, in the default chat the session (K13, C1).

Rules
* The title is one line of at most 200 characters; without one nothing happens, and nothing is said.
* A person gave this title: no later one of the host or an agent replaces it.
"""

import re
from collections.abc import Callable
from typing import Any, Final

from innkeeper.host.core import Core, act
from innkeeper.host.local_commands.words import RENAME, title_wanted
from innkeeper.ports.local_commands import LocalOutput, LocalRequest
from innkeeper.texts import text

_MARKUP: Final = re.compile(r"([\\`*_{}\[\]<>#|~])")


class Rename:
    name = "rename"
    anywhere = True
    prefix = RENAME

    def __init__(self, core: Core, renamed: Callable[[str, str], None]) -> None:
        """`renamed` is told chat and title."""
        self._core = core
        self._renamed = renamed

    def takes(self, words: str) -> str | None:
        return title_wanted(words)

    def title(self, argument: str) -> str | None:
        return None

    async def run(self, request: LocalRequest, argument: str, output: LocalOutput) -> None:
        session = self._core.head(request.session)
        if not argument or session is None:
            return
        changes: list[dict[str, Any]] = []
        if session.get("defaultChat") == request.chat:
            changes.append({"type": "session/titleChanged", "title": argument})
        changes.append({"type": "session/chatUpdated", "chat": request.chat, "changes": {"title": argument}})
        if act(self._core, request.session, *changes):
            self._renamed(request.chat, argument)
            output.say(text("local.renamed", title=_MARKUP.sub(r"\\\1", argument)))
