"""Names that are safe in `mcp__<server>__<tool>` (M2.10).

Rules
* A safe server name has letters, digits, `-` and `_` only, no `__`, no `_` at its end, and at most 32 characters; it
  stays as it is. Any other is cleaned, cut and given a hash of the original, so different names stay different.
* A qualified tool name has at most 64 characters. One that would be longer, or whose tool has other characters, ends in
  a hash of server and tool. It is never split again: who needs the parts keeps a table.
* Names that only look alike stay different, and can be told apart from equal ones by their skeleton.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

SERVER_LIMIT: Final = 32
TOOL_LIMIT: Final = 64

_SAFE = re.compile(r"[A-Za-z0-9_-]+")
_UNSAFE = re.compile(r"[^A-Za-z0-9-]+")
_LOOKALIKES: Final = MappingProxyType(
    dict(zip("авеѕіјкмнорстухһԁɡԛԝьαεικνορτυχω01|ⅼ", "abesijkmhopctyxhdgqwbaeikvoptuxwolll", strict=True))
)
"""Letters of other scripts, and digits, that look like Latin small letters."""


def safe_server_name(name: str) -> str:
    """The name itself when it is safe, else a cleaned one with eight hexadecimal digits of its SHA-256."""
    if _SAFE.fullmatch(name) and "__" not in name and not name.endswith("_") and len(name) <= SERVER_LIMIT:
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    cleaned = _UNSAFE.sub("_", name).strip("_")[: SERVER_LIMIT - len(digest) - 1].strip("_")
    return f"{cleaned}-{digest}" if cleaned else f"s-{digest}"


def qualified_tool_name(server: str, tool: str) -> str:
    """`mcp__<server>__<tool>` for the server's declared name; deterministic and at most 64 characters."""
    plain = f"mcp__{safe_server_name(server)}__{tool}"
    if _SAFE.fullmatch(plain) and len(plain) <= TOOL_LIMIT:
        return plain
    digest = hashlib.sha256(f"{server}\0{tool}".encode("utf-8", "surrogatepass")).hexdigest()[:12]
    cleaned = re.sub(r"[^A-Za-z0-9_-]", "_", plain)
    return f"{cleaned[: TOOL_LIMIT - len(digest) - 1]}_{digest}"


def skeleton(name: str) -> str:
    """What a person sees of a name: two names with one skeleton look alike. Letters of other scripts that look like
    Latin ones count as those; case, accents and invisible characters do not count."""
    decomposed = unicodedata.normalize("NFKD", name).casefold()
    visible = (c for c in decomposed if unicodedata.category(c) not in ("Mn", "Cf", "Cc", "Zs"))
    return "".join(_LOOKALIKES.get(c, c) for c in visible)


class ToolNames:
    """The table from qualified names back to servers and tools: names are looked up here, and never split (M2.10)."""

    def __init__(self, tools: Iterable[tuple[str, str]]) -> None:
        """`tools` are pairs of declared server name and raw tool name."""
        table: dict[str, tuple[str, str]] = {}
        for server, tool in tools:
            table.setdefault(qualified_tool_name(server, tool), (server, tool))
        self._table: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(table)

    def __len__(self) -> int:
        return len(self._table)

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def find(self, qualified: str) -> tuple[str, str] | None:
        """Server and raw tool of a qualified name; None for a name that is not of this table."""
        return self._table.get(qualified)
