"""Names that are safe in `mcp__<server>__<tool>` (M2.10).

Rules
* A safe server name has letters, digits, `-` and `_` only, no `__`, no `_` at its end, and at most 32 characters; it
  stays as it is. Any other is cleaned, cut and given a hash of the original, so different names stay different.
* A qualified tool name has at most 64 characters. One that would be longer, or whose tool has other characters, ends in
  a hash of server and tool. It is never split again: who needs the parts keeps a table.
"""

import hashlib
import re
from typing import Final

SERVER_LIMIT: Final = 32
TOOL_LIMIT: Final = 64

_SAFE = re.compile(r"[A-Za-z0-9_-]+")
_UNSAFE = re.compile(r"[^A-Za-z0-9-]+")


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
