"""Variables from a file of the workspace (M2.6): dotenv, taken literally.

Rules
* UTF-8, inside the workspace, no variable expanded, no command run. A line that is no assignment is passed over.
* It is a source of the child's environment only: no field of the entry is expanded from it.
* A file that is not there, or cannot be read, rejects the server: it would run without what it was to get.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import StringIO

from innkeeper.mcp.declarations import checks
from innkeeper.mcp.declarations.files import Content, Refused, decode, inside, read


@dataclass(frozen=True, slots=True)
class EnvironmentFile:
    """`digest` is of the content, for the fingerprint; `path` is relative to the workspace."""

    path: str
    digest: str
    values: Mapping[str, str] = field(repr=False)


def read_environment_file(workspace: str, written: str, limit: int, seen: dict[str, Content | None]) -> EnvironmentFile:
    """`written` is the path after expansion. Notes in `seen` what was looked at. Raises Refused."""
    try:
        path = inside(workspace, written)
        seen[path] = None
        content = read(workspace, path, limit)
        if content is None:
            raise Refused("ENV_FILE_MISSING")
        seen[path] = content
        text = decode(content.content)
    except Refused as refused:
        code = "ENV_FILE_MISSING" if refused.code == "FILE_UNREADABLE" else refused.code
        raise Refused(code, detail="envFile") from None
    return EnvironmentFile(path, hashlib.sha256(content.content).hexdigest(), _values(text))


def _values(text: str) -> dict[str, str]:
    from dotenv.parser import parse_stream

    values: dict[str, str] = {}
    for binding in parse_stream(StringIO(text.removeprefix("\ufeff"))):
        if binding.error or binding.key is None or binding.value is None:
            continue
        if checks.check_environment_name(binding.key) or checks.check_text(binding.value):
            raise Refused("NUL_BYTE" if "\0" in binding.value else "FIELD_VALUE")
        values[binding.key] = binding.value
    return values
