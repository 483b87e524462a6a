"""Renewing what this host signed in for: before it ends, and when a server refuses it.

Rules
* One renewal of a token at a time, whoever asks; a caller that is cancelled does not stop it, since the authorization
  server may have replaced the refresh token already. The new tokens are stored before they are used.
* A refresh token that the authorization server refuses is forgotten, with its entry: only a new sign-in helps. One that
  could not be tried is kept.
"""

import asyncio
import logging

from innkeeper.mcp.oauth.tokens import EARLY, Token, Tokens

logger = logging.getLogger(__name__)


class Renewals:
    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._running: dict[tuple[str, str], asyncio.Task[Token | None]] = {}

    def due(self, token: Token) -> bool:
        return _renewable(token) and self._tokens.expired(token, early=EARLY)

    async def renew(self, token: Token, url: str) -> Token | None:
        """A token other than this one that may be used in its place; None when there is none."""
        current = self._tokens.current(url)
        if current is not None and current is not token and not self._tokens.expired(current):
            return current
        if not _renewable(token) or token.credentials is None:
            return None
        key = token.credentials.key
        task = self._running.get(key)
        if task is None:
            task = asyncio.create_task(self._run(token, url), name="mcp token renewal")
            self._running[key] = task
            task.add_done_callback(lambda _: self._running.pop(key, None))
        return await asyncio.shield(task)

    async def close(self) -> None:
        """Let what runs come to its end, so that no replaced token is lost."""
        if self._running:
            await asyncio.wait(tuple(self._running.values()))

    async def _run(self, token: Token, url: str) -> Token | None:
        from innkeeper.mcp.oauth.exchange import ExchangeFailed, refresh

        assert token.credentials is not None
        try:
            return await self._tokens.keep(await refresh(token.credentials, url, self._tokens.seconds))
        except ExchangeFailed as failed:
            logger.info("a token could not be renewed: %s", failed)
            if failed.final:
                await self._tokens.forget(token)
        except ValueError as error:
            logger.info("a stored sign-in is not usable: %s", type(error).__name__)
            await self._tokens.forget(token)
        return None


def _renewable(token: Token) -> bool:
    return token.credentials is not None and token.credentials.refresh_token is not None
