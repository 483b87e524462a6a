"""A few words for a branch, from the session's agent where it answers outside conversations (K18).

Rules
* The first turn waits for them, so the time is short; without an answer, or with one that is no name, the words of the
  message serve. The setting that leaves out titles leaves these out too.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Final

from innkeeper.host.core import Core
from innkeeper.host.worktrees.naming import slug
from innkeeper.limits import BRANCH_HINT_SECONDS, TITLE_SOURCE_CHARACTERS
from innkeeper.providers.spi import Completing, Completion, Provider, ProviderError

log = logging.getLogger(__name__)

REQUEST: Final = (
    "Name a git branch for this task: two to five lower-case English words joined by dashes, 8 to 48 characters, no "
    "slash. Answer with the name alone."
)
SHORTEST: Final = 8


class BranchHints:
    def __init__(
        self,
        core: Core,
        providers: Mapping[str, Provider],
        *,
        generate: bool,
        seconds: float = BRANCH_HINT_SECONDS,
    ) -> None:
        self._core = core
        self._providers = providers
        self._generate = generate
        self._seconds = seconds

    async def hint(self, session: str, message: str) -> str | None:
        """Never raises but when it is cancelled."""
        state = self._core.head(session) or {}
        provider: object = self._providers.get(str(state.get("provider")))
        if not self._generate or not message.strip() or not isinstance(provider, Completing):
            return None
        completion = Completion(REQUEST, message[:TITLE_SOURCE_CHARACTERS], seconds=self._seconds)
        try:
            async with asyncio.timeout(self._seconds):
                name = slug(await provider.complete(completion))
        except (ProviderError, TimeoutError) as error:
            log.info("no name for a branch of %s: %s", session, getattr(error, "error_type", "too late"))
            return None
        except Exception:
            log.exception("naming a branch of %s", session)
            return None
        return name if len(name) >= SHORTEST else None
