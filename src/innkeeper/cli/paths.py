"""Paths as people read them."""

from urllib.parse import unquote, urlsplit


def shown_path(uri: str) -> str:
    """The path of a `file:` URI of this machine; any other URI as it is."""
    parts = urlsplit(uri)
    if parts.scheme == "file" and parts.netloc in ("", "localhost"):
        return unquote(parts.path)
    return uri
