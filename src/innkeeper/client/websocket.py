"""AHP over a WebSocket, on TCP or on a Unix socket: one message a text frame (AHP §1).

A token travels in the `Authorization` header, or in the address as `tkn` when the person wrote it there. Redirects are
not followed, since that would hand the token to another server; loopback addresses never go through a proxy.
"""

from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import urlsplit

from innkeeper.client.errors import AccessDenied, ConnectFailed, TargetInvalid
from innkeeper.client.transport import CONNECT_SECONDS, TransportClosed

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

LARGEST_MESSAGE: Final = 256 * 1024 * 1024
"""A snapshot of a very long chat fits; a peer that sends more is not a host."""
CLOSE_SECONDS: Final = 2.0
"""How long a host may take to answer a farewell."""
ABNORMAL: Final = 1006


class WebSocketTransport:
    """A client's end of a WebSocket; see `innkeeper.client.transport` for what the methods guarantee."""

    def __init__(self, target: str, token: str | None = None) -> None:
        """Raises TargetInvalid."""
        self._socket_path: str | None = None
        self._url = target
        if target.startswith("unix:"):
            self._socket_path = target.removeprefix("unix:")
            self._url = "ws://localhost/"
            if not self._socket_path:
                raise TargetInvalid("unix: names no socket")
        else:
            _check_url(target)
        if token is not None and not (token.isascii() and token.isprintable() and token and " " not in token):
            raise TargetInvalid("the access token has characters that no token has")
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._connection: ClientConnection | None = None

    async def open(self) -> None:
        from websockets.asyncio.client import connect, unix_connect
        from websockets.exceptions import InvalidStatus, InvalidURI, WebSocketException

        class Direct(connect):
            """`connect` that stays with the server it was told to use."""

            def process_redirect(self, exc: Exception) -> Exception | str:
                return exc

        options: dict[str, Any] = {
            "additional_headers": self._headers,
            "compression": None,
            "max_size": LARGEST_MESSAGE,
            "open_timeout": CONNECT_SECONDS,
            "close_timeout": CLOSE_SECONDS,
        }
        try:
            if self._socket_path is not None:
                self._connection = await unix_connect(self._socket_path, self._url, ping_interval=None, **options)
            else:
                proxy: Literal[True] | None = None if _is_loopback(self._url) else True
                self._connection = await Direct(self._url, proxy=proxy, **options)
        except InvalidStatus as error:
            status = error.response.status_code
            if status in (401, 403):
                raise AccessDenied(f"the host refused the connection (HTTP {status})") from error
            raise ConnectFailed(f"no AHP host answers there (HTTP {status})") from error
        except InvalidURI as error:
            raise TargetInvalid(str(error)) from error
        except TimeoutError as error:
            raise ConnectFailed(f"no answer within {CONNECT_SECONDS:g} s") from error
        except (OSError, WebSocketException) as error:
            raise ConnectFailed(_plain(error)) from error

    async def send(self, message: bytes) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            await self._open_connection().send(message, text=True)
        except ConnectionClosed as error:
            raise _closed(error) from error

    async def receive(self) -> bytes | str:
        from websockets.exceptions import ConnectionClosed

        try:
            # Text frames stay bytes: they are decoded once, by the JSON library.
            return await self._open_connection().recv(decode=False)
        except ConnectionClosed as error:
            raise _closed(error) from error

    async def close(self, code: int = 1000, reason: str = "") -> None:
        if self._connection is not None:
            await self._connection.close(code, reason)
            self._connection = None

    def _open_connection(self) -> "ClientConnection":
        if self._connection is None:
            raise TransportClosed(ABNORMAL, "not open")
        return self._connection


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("ws", "wss") and bool(parts.hostname) and not parts.fragment
        _ = parts.port
    except ValueError as error:
        raise TargetInvalid(f"not an address: {error}") from error
    if not usable:
        raise TargetInvalid("the address of a host begins with ws://, wss:// or unix:")


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return host == "localhost" or host == "::1" or host.startswith("127.")


def _closed(error: Exception) -> TransportClosed:
    received = getattr(error, "rcvd", None)
    if received is None:
        return TransportClosed(ABNORMAL, "the connection broke")
    return TransportClosed(received.code, received.reason)


def _plain(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
