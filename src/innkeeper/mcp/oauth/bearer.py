"""Bearer tokens on the requests of one connection, as authentication of the HTTP client (RFC 6750 §2.1).

Rules
* A request that was refused for want of a token is sent again with another one (`access`), each token at most once.
* `left` is called with the status of a refusal that stays one. The answer itself goes on to the SDK. A refused stream
  of notifications (GET) ends nothing: calls that were accepted before may still be running.
* A token replaces what the declaration says in `Authorization`; without one the declared header goes as it is.
"""

from collections.abc import AsyncGenerator, Callable

import httpx2

from innkeeper.mcp.oauth.access import ServerAccess
from innkeeper.mcp.oauth.challenges import read_challenge
from innkeeper.mcp.oauth.tokens import Token


class Bearer(httpx2.Auth):
    def __init__(self, access: ServerAccess, left: Callable[[int], None]) -> None:
        self._access = access
        self._left = left

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        tried: list[Token] = []
        self._access.sending()
        token = await self._access.token()
        while True:
            if token is not None:
                tried.append(token)
                request.headers["Authorization"] = f"Bearer {token.value}"
            response = yield request
            challenge = read_challenge(response.status_code, response.headers.get("www-authenticate", ""))
            if challenge is None:
                self._access.taken(token)
                return
            if request.method == "DELETE":
                return  # the end of a session is not worth a token
            token = await self._access.refused(challenge, token, tried)
            if token is None:
                if request.method == "POST" and self._access.ends_connection():
                    self._left(response.status_code)
                return
