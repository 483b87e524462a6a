"""Where a conversation is held, where that matters to the answer: a terminal, or a line of an editor.

Rules
* The session's `_meta[SURFACE]` says so: `{kind: "terminal"}`, or `{kind: "editorInline", target: URI}`.
* A terminal adds an instruction. An editor adds one too, and the lines around the target in front of the user's words:
  of the attachment whose URI is the target, else of the sole selection, unless that is of another file.
* A file that cannot be read adds no lines, and the turn goes on.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, Final

from innkeeper.contributions.chat_surface.lines import FILE_BYTES, excerpt
from innkeeper.contributions.spi import Addition, Context, Contribution, OutgoingTurn
from innkeeper.ports.contributed import SURFACE, Channels
from innkeeper.ports.files import FileFault, Files
from innkeeper.protocol.uris import local_path

log = logging.getLogger(__name__)

TERMINAL: Final = """<terminal_chat>
The user reads your answer in a terminal. Be short, avoid wide tables and images, and give commands in full so that they
can be copied.
</terminal_chat>"""
INLINE: Final = """<editor_inline>
The user asks from a place in a file, shown before the message with its lines marked. Change that place and nothing else
unless asked, and keep the answer to what is needed there.
</editor_inline>"""


class ChatSurface(Contribution):
    """`chatSurface`."""

    id = "chatSurface"
    order = 300

    def __init__(self, context: Context, channels: Channels, files: Files) -> None:
        self._channels = channels
        self._files = files

    async def on_outgoing_turn(self, turn: OutgoingTurn) -> Addition | None:
        meta = (self._channels.head(turn.session) or {}).get("_meta") or {}
        surface: Any = meta.get(SURFACE)
        match surface.get("kind") if isinstance(surface, Mapping) else None:
            case "terminal":
                return Addition([TERMINAL])
            case "editorInline":
                block = await self._block(turn, str(surface.get("target") or ""))
                return Addition([INLINE], None if block is None else f"{block}\n\n{turn.text}")
            case _:
                return None

    async def _block(self, turn: OutgoingTurn, target: str) -> str | None:
        attachment = chosen([a for a in turn.message.get("attachments") or () if "selection" in a], target)
        path = None if attachment is None else local_path(str(attachment["uri"]))
        if attachment is None or path is None:
            return None
        try:
            content = await asyncio.to_thread(self._files.read, path, FILE_BYTES)
            return excerpt(str(attachment.get("label") or path), content.decode("utf-8"), attachment["selection"])
        except (FileFault, UnicodeDecodeError, KeyError, TypeError) as error:
            log.warning(
                "the lines around the selection of turn %s are left out: %s", turn.turn_id, type(error).__name__
            )
            return None


def chosen(selections: list[Any], target: str) -> Any | None:
    """The attachment that the surface is about; one for another target is never used."""
    of_target = next((a for a in selections if a.get("uri") == target), None)
    if of_target is not None or target or len(selections) != 1:
        return of_target
    return selections[0] if selections[0].get("uri") else None
