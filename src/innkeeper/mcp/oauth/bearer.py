"""Bearer tokens on the requests of one connection, as authentication of the HTTP client (RFC 6750 §2.1).

Rules
* A request that was refused for want of a token is sent again with another one (`access`), each token at most once.
* `left` is called with the status of a refusal that stays one. The answer itself goes on to the SDK. A refused stream
  of notifications (GET) ends nothing: calls that were accepted before may still be running.
* What a refusal says is dropped when it repeats something that the request carried in a header or its address (M7.7).
* A token replaces what the declaration says in `Authorization`; without one the declared header goes as it is.
"""

from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from typing import Final

import httpx2

from innkeeper.mcp.oauth.access import ServerAccess
from innkeeper.mcp.oauth.challenges import read_challenge
from innkeeper.mcp.oauth.tokens import Token

SHORTEST_SECRET: Final = 6


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
            if challenge.description is not None and _repeats(request, challenge.description):
                challenge = replace(challenge, description=None)
            token = await self._access.refused(challenge, token, tried)
            if token is None:
                if request.method == "POST" and self._access.ends_connection():
                    self._left(response.status_code)
                return


def _repeats(request: httpx2.Request, said: str) -> bool:
    carried = [*request.headers.values(), *request.url.params.values(), request.url.userinfo.decode("latin-1")]
    words = {word for value in carried for word in value.replace(":", " ").split()}
    return any(word in said for word in words if len(word) >= SHORTEST_SECRET)
