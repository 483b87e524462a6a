"""The books of all sessions, read when first needed and written as they change (ports.edits).

Rules
* A record counts once it is written; one that cannot be written counts for this process, and the log says so.
* What one session writes is written in order.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Sequence

from innkeeper.host.changesets.book import Book, Content, Record, book_of, git_id
from innkeeper.ports.edits import EditsFault, EditStore

log = logging.getLogger(__name__)


class Books:
    def __init__(self, store: EditStore) -> None:
        self._store = store
        self._books: dict[str, Book] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def of(self, session: str) -> Book:
        """The session's book; changed by `write` only."""
        if session not in self._books:
            async with self._locks[session]:
                if session not in self._books:
                    self._books[session] = book_of(await asyncio.to_thread(self._store.read, session))
        return self._books[session]

    def known(self, session: str) -> Book | None:
        """The book if it was read already."""
        return self._books.get(session)

    async def write(self, session: str, *records: Record) -> None:
        """Durable when this returns, and in the book."""
        book = await self.of(session)
        async with self._locks[session]:
            try:
                await asyncio.to_thread(self._store.append, session, records)
            except EditsFault as fault:
                log.warning("what a turn of %s did is not stored: %s", session, fault)
            for record in records:
                book.apply(record)

    async def keep(self, session: str, content: bytes) -> Content:
        """Keep the content; one that cannot be kept has no digest."""
        try:
            digest = await asyncio.to_thread(self._store.keep, session, content)
        except EditsFault as fault:
            log.warning("the content of a file that a turn of %s changed is not stored: %s", session, fault)
            digest = ""
        return Content(digest, git_id(content), len(content))

    async def content(self, session: str, digest: str) -> bytes | None:
        return await asyncio.to_thread(self._store.content, session, digest)

    def let_go(self, session: str) -> None:
        """The session has left memory; its book is read again when it comes back."""
        if session in self._books and not self._locks[session].locked():
            del self._books[session]
            del self._locks[session]

    async def drop(self, session: str) -> None:
        """Everything of the session goes."""
        self._books.pop(session, None)
        await asyncio.to_thread(self._store.drop, session)
        self._locks.pop(session, None)

    async def sessions(self) -> Sequence[str]:
        return await asyncio.to_thread(self._store.sessions)
