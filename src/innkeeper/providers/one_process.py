"""One process of an agent for all its sessions: started with the first, ended with the last, again when it died."""

import asyncio
from abc import ABC, abstractmethod
from typing import Generic, Protocol, TypeVar


class Living(Protocol):
    @property
    def alive(self) -> bool: ...

    @property
    def spent(self) -> bool:
        """It is replaced when it is asked for the next time, though it lives."""
        ...

    async def close(self) -> None: ...


L = TypeVar("L", bound=Living)


class OneProcess(ABC, Generic[L]):
    """A subclass says how it is started."""

    def __init__(self) -> None:
        self._one: L | None = None
        self._starting = asyncio.Lock()
        self._users = 0

    def enter(self) -> None:
        self._users += 1

    async def leave(self) -> None:
        """A session is over; with the last one the process ends."""
        self._users -= 1
        if self._users <= 0:
            await self.close()

    @property
    def running(self) -> L | None:
        return self._one if self._one is not None and self._one.alive else None

    async def get(self) -> L:
        """The process, ready. Raises ProviderError."""
        async with self._starting:
            if self._one is not None and self._one.alive and not self._one.spent:
                return self._one
            if self._one is not None:
                await self._one.close()
            self._one = await self._start()
            return self._one

    async def close(self) -> None:
        async with self._starting:
            one, self._one = self._one, None
            if one is not None:
                await one.close()

    @abstractmethod
    async def _start(self) -> L:
        """Raises ProviderError; then nothing of it is left."""
