"""Chats that enter the host from elsewhere (K17). Hook call sites: `on_hydrate_turns`, `on_hydrate_chat`.

Rules
* Once a chat, before it is in the catalog: read from an agent's transcript when it is adopted, copied when it is
  forked. A chat of this host that is read from its log has everything already, so nothing is asked again.
* What is logged wins; what a contribution could not do leaves the value as it was.
"""

from collections.abc import Sequence
from typing import Literal

from innkeeper.contributions.dispatch import Dispatcher
from innkeeper.contributions.spi import HydratedChat, Hydration, Turn

Source = Literal["transcript", "snapshot"]


class Hydrator:
    def __init__(self, hooks: Dispatcher) -> None:
        self._hooks = hooks

    async def turns(
        self, session: str, chat: str, source: Source, turns: Sequence[Turn], logged: Sequence[Turn] = ()
    ) -> Sequence[Turn]:
        """The turns that the chat begins with."""
        return await self._hooks.hydrate_turns(Hydration(session, chat, source, logged), turns)

    async def chat(self, session: str, chat: str, source: Source, restored: HydratedChat) -> HydratedChat:
        """Title, draft and configuration that the chat enters the catalog with."""
        return await self._hooks.hydrate_chat(Hydration(session, chat, source), restored)
