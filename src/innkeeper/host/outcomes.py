"""How things that the host waits for can fail."""


class StorageFailed(Exception):
    """The change could not be stored, and nothing of it took effect. `code` is a row of the error table."""

    def __init__(self, code: str) -> None:
        super().__init__(f"{code}: the host could not store the change")
        self.code = code


class ClientGone(Exception):
    """The client has no connection (any more)."""


class ClientTimeout(Exception):
    """The client did not answer in time."""


class ClientRefused(Exception):
    """The client answered with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
