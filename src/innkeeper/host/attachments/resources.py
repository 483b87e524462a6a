"""Resources that an agent cannot read where they are: fetched once, kept as a snapshot (reference §4.1, T19).

Rules
* A file of this machine, and what is on the web, the agent reads itself. What this host made a URI for, the host reads.
  Everything else only the client that sent the message can read: it is asked, bounded in time and size.
* A snapshot is taken once a message: a turn that is resumed has what was attached when it began, a message of the queue
  what was attached when it was left there. A client that does not answer is not asked again for the same message.
* What is embedded stays so, unless no agent could show it: neither a picture nor text, or too long.
* Nothing here fails a turn: what cannot be had becomes words that say so.
"""

import asyncio
import base64
import binascii
import logging
import mimetypes
from collections.abc import Awaitable, Callable, Mapping
from pathlib import PurePosixPath
from typing import Any, Final, Protocol
from urllib.parse import unquote, urlsplit
from uuid import NAMESPACE_URL, uuid5

from innkeeper.errors import HostError
from innkeeper.host.outcomes import ClientGone, ClientRefused, ClientTimeout
from innkeeper.limits import (
    ATTACHMENT_BYTES,
    ATTACHMENT_SECONDS,
    ATTACHMENTS_AT_ONCE,
    ATTACHMENTS_BYTES,
    EMBEDDED_CHARACTERS,
)
from innkeeper.ports.attachments import AttachmentFault, AttachmentStore
from innkeeper.ports.files import FileFault, Files
from innkeeper.protocol.uris import ROOT, local_path

log = logging.getLogger(__name__)

Attachment = Mapping[str, Any]
Own = Callable[[str], Awaitable[object | None]]
"""`resourceRead` of a URI that this host made; None for another one. May raise HostError."""

ON_THE_WEB: Final = frozenset({"http", "https"})
PICTURES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
CHANNELS: Final = ("ahp-",)


class Asks(Protocol):
    """Requests to clients."""

    async def ask(self, client_id: str, method: str, params: Mapping[str, Any], *, seconds: float) -> object:
        """Raises ClientGone, ClientTimeout, ClientRefused."""
        ...


class NotHad(Exception):
    """The resource cannot be had; the words say why, and are for the model."""


class Snapshots:
    """The resources of one message. `about` names the message: the same one finds what it kept before."""

    def __init__(
        self,
        asks: Asks,
        store: AttachmentStore,
        files: Files | None,
        own: Own,
        session: str,
        about: str,
        client: str | None,
        seconds: float = ATTACHMENT_SECONDS,
    ) -> None:
        self._asks = asks
        self._store = store
        self._files = files
        self._own = own
        self._session = session
        self._about = about
        self._client = client
        self._seconds = seconds
        self._silent: str | None = None
        self._room = ATTACHMENTS_BYTES
        self._slots = asyncio.Semaphore(ATTACHMENTS_AT_ONCE)

    async def resource(self, index: int, attachment: Attachment) -> Attachment:
        """An attachment of kind `resource`, as the agent can read it. Raises NotHad."""
        uri = str(attachment.get("uri") or "")
        if await self._is_readable(uri):
            return attachment
        id = self._id(index, uri)
        path = await asyncio.to_thread(self._store.find, self._session, id)
        if path is None:
            async with self._slots:
                content, told = await self._content(uri)
            path = await self._kept(id, _name(attachment, uri, attachment.get("contentType") or told), content)
        kind = attachment.get("contentType") or mimetypes.guess_type(path)[0]
        found = {**attachment, "uri": PurePosixPath(path).as_uri()}
        return {**found, "contentType": kind} if kind else found

    async def embedded(self, index: int, attachment: Attachment) -> Attachment:
        """An attachment of kind `embeddedResource`: as it is, or by its path. Raises NotHad."""
        kind = str(attachment.get("contentType") or "").partition(";")[0]
        data = str(attachment.get("data") or "")
        content = await asyncio.to_thread(_unshowable, kind, data)
        if content is None:
            return attachment
        id = self._id(index, kind)
        path = await asyncio.to_thread(self._store.find, self._session, id)
        if path is None:
            path = await self._kept(id, _name(attachment, "", kind), content)
        kept = {name: value for name, value in attachment.items() if name not in ("data", "type")}
        return {**kept, "type": "resource", "uri": PurePosixPath(path).as_uri()}

    async def _is_readable(self, uri: str) -> bool:
        scheme = urlsplit(uri).scheme.lower()
        if scheme in ON_THE_WEB or scheme.startswith(CHANNELS):
            return True
        path = local_path(uri)
        if path is None:
            return False
        if self._files is None or self._client is None:
            return True
        try:
            await asyncio.to_thread(self._files.stat, path)
        except FileFault as fault:
            return fault.reason not in ("missing", "notADirectory")
        return True

    async def _content(self, uri: str) -> tuple[bytes, str | None]:
        try:
            own = await self._own(uri)
        except HostError as error:
            raise NotHad(error.code) from None
        if own is not None:
            return self._measured(_decoded(own))
        if self._client is None or self._silent is not None:
            raise NotHad(self._silent or "nobody is there who could read it")
        params = {"channel": ROOT, "uri": uri, "encoding": "base64"}
        try:
            answer = await self._asks.ask(self._client, "resourceRead", params, seconds=self._seconds)
        except ClientRefused as refused:
            raise NotHad(f"the client refused ({refused.code})") from None
        except (ClientGone, ClientTimeout) as error:
            self._silent = "the client is gone" if isinstance(error, ClientGone) else "the client did not answer"
            raise NotHad(self._silent) from None
        return self._measured(_decoded(answer))

    def _measured(self, found: tuple[bytes, str | None]) -> tuple[bytes, str | None]:
        size = len(found[0])
        if size > ATTACHMENT_BYTES or size > self._room:
            raise NotHad(f"it is too large: {size} bytes")
        self._room -= size
        return found

    async def _kept(self, id: str, name: str, content: bytes) -> str:
        try:
            return await asyncio.to_thread(self._store.keep, self._session, id, name, content)
        except AttachmentFault as fault:
            log.warning("an attachment of %s cannot be kept: %s", self._session, fault)
            raise NotHad("this host could not keep it") from None

    def _id(self, index: int, what: str) -> str:
        return str(uuid5(NAMESPACE_URL, f"{self._about}\n{index}\n{what}"))


def _decoded(answer: object) -> tuple[bytes, str | None]:
    """The content, and its type where it is told. Raises NotHad."""
    if not isinstance(answer, Mapping) or not isinstance(answer.get("data"), str):
        raise NotHad("the answer has no content")
    data, kind = str(answer["data"]), answer.get("contentType")
    try:
        content = base64.b64decode(data, validate=True) if answer.get("encoding") == "base64" else data.encode()
    except (binascii.Error, ValueError):
        raise NotHad("the answer cannot be read") from None
    return content, kind if isinstance(kind, str) else None


def _unshowable(kind: str, data: str) -> bytes | None:
    """The content of what goes by path: neither a picture nor text of a fitting length. None for all else."""
    if kind in PICTURES:
        return None
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
    try:
        return content if len(content.decode()) > EMBEDDED_CHARACTERS else None
    except UnicodeDecodeError:
        return content


def _name(attachment: Attachment, uri: str, kind: object) -> str:
    """A file name with a suffix that tells its type, as far as that is known."""
    given = unquote(urlsplit(uri).path).rpartition("/")[2] or str(attachment.get("label") or "attachment")
    if PurePosixPath(given).suffix or not isinstance(kind, str):
        return given
    return given + (mimetypes.guess_extension(kind.partition(";")[0]) or "")
