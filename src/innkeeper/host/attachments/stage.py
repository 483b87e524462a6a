"""The stage of the send path in which attachments become what an agent can use (reference §4.1, AHP §9.7).

Rules
* The state keeps what the client sent; only the agent's copy of the message is changed.
* A chat becomes its words up to a completed turn, the newest where none is named; annotations become their words. The
  end of a turn that still runs is no end: attaching it fails the turn (`sendFailed`).
* A reference that leads nowhere becomes words that name it, and never fails a turn.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, cast

from innkeeper.host.attachments.resources import Attachment, NotHad, Own, Snapshots
from innkeeper.host.attachments.words import annotations, conversation
from innkeeper.host.core import Core
from innkeeper.host.views import State, active_turn
from innkeeper.ports.attachments import AttachmentStore, NoAttachments
from innkeeper.ports.files import Files
from innkeeper.protocol.chat.state import Message
from innkeeper.providers.spi import ProviderError
from innkeeper.texts import text

log = logging.getLogger(__name__)


async def _none(_uri: str) -> object | None:
    return None


class Attachments:
    """`own` reads the URIs that this host made."""

    def __init__(
        self, core: Core, store: AttachmentStore | None = None, files: Files | None = None, own: Own = _none
    ) -> None:
        self._core = core
        self._store = store or NoAttachments()
        self._files = files
        self._own = own

    async def resolved(self, session: str, chat: str, about: str, message: Message, client: str | None) -> Message:
        """The message for the agent. `about` names it in its chat: a turn's id, or the id that it has in the queue.
        Raises ProviderError `sendFailed`."""
        given = message.get("attachments") or ()
        if not given:
            return message
        snapshots = self._snapshots(session, chat, about, client)
        one_by_one = (self._one(snapshots, index, cast(Attachment, one)) for index, one in enumerate(given))
        found = await asyncio.gather(*one_by_one, return_exceptions=True)
        for one in found:
            if isinstance(one, BaseException):
                raise one
        return cast(Message, {**message, "attachments": found})

    def prefetch(self, session: str, chat: str, about: str, message: Mapping[str, Any], client: str) -> None:
        """A message begins to wait: what only its sender can read is read while the sender is there."""
        if any(one.get("type") == "resource" for one in message.get("attachments") or ()):
            self._core.spawn(self._prefetch(session, chat, about, message, client), f"attachments of {chat}")

    async def _prefetch(self, session: str, chat: str, about: str, message: Mapping[str, Any], client: str) -> None:
        snapshots = self._snapshots(session, chat, about, client)
        for index, one in enumerate(message["attachments"]):
            if one.get("type") == "resource":
                await self._one(snapshots, index, one)
        if self._core.kind(session) != "session":
            await self.drop(session)

    def _snapshots(self, session: str, chat: str, about: str, client: str | None) -> Snapshots:
        return Snapshots(self._core, self._store, self._files, self._own, session, f"{chat}\n{about}", client)

    async def drop(self, session: str) -> None:
        """The session is gone."""
        await asyncio.to_thread(self._store.drop, self._store.folder(session))

    async def sweep(self) -> None:
        """What sessions left that are gone, because the host was killed while they ended, goes too."""
        stored = await asyncio.to_thread(self._store.stored)
        known = {self._store.folder(session) for session in self._core.known("session")} if stored else set()
        for folder in stored:
            if folder not in known:
                await asyncio.to_thread(self._store.drop, folder)

    async def _one(self, snapshots: Snapshots, index: int, attachment: Attachment) -> Attachment:
        try:
            match attachment.get("type"):
                case "chat":
                    return await self._chat(attachment)
                case "annotations":
                    return await self._annotations(attachment)
                case "resource":
                    return await snapshots.resource(index, attachment)
                case "embeddedResource":
                    return await snapshots.embedded(index, attachment)
                case _:
                    return attachment
        except NotHad as why:
            log.info("an attachment cannot be had: %s", why)
            where = attachment.get("resource") or attachment.get("uri")
            named = f" is {where}" if where else ""
            return _words(attachment, f"This attachment{named}; its content could not be had: {why}.")

    async def _chat(self, attachment: Attachment) -> Attachment:
        uri, end = str(attachment.get("resource") or ""), attachment.get("endTurn")
        state = await self._core.load(uri) if self._core.kind(uri) == "chat" else None
        if state is None:
            raise NotHad("there is no such conversation")
        turns = list(state.get("turns") or ())
        if end is not None:
            if active_turn(state, str(end)) is not None:
                reason = text("attachment.turnRuns", label=str(attachment.get("label") or uri)[:200])
                raise ProviderError("sendFailed", reason)
            last = next((i for i, turn in enumerate(turns) if turn.get("id") == end), None)
            if last is None:
                raise NotHad("it has no such turn")
            turns = turns[: last + 1]
        if not turns:
            raise NotHad("nothing was said there yet")
        return _words(attachment, conversation(self._title(uri, state), turns))

    def _title(self, uri: str, state: State) -> str:
        session = self._core.head(self._core.owner(uri) or "") or {}
        shown = next((one for one in session.get("chats") or () if one.get("resource") == uri), state)
        return str(shown.get("title") or uri)

    async def _annotations(self, attachment: Attachment) -> Attachment:
        uri = str(attachment.get("resource") or "")
        state = await self._core.load(uri) if self._core.kind(uri) == "annotations" else None
        if state is None:
            raise NotHad("there are no such annotations")
        return _words(attachment, annotations(state, attachment.get("annotationIds")))


def _words(attachment: Attachment, words: str) -> Attachment:
    """The attachment as words, under its label."""
    kept = {name: attachment[name] for name in ("label", "displayKind", "_meta") if name in attachment}
    return {"type": "simple", **kept, "modelRepresentation": words}
