"""The protocol matrix: every command, notification and action with direction and version, from `innkeeper.protocol`."""


def protocol_page() -> str | None:
    """The page, or None while the method table is not there."""
    return None
