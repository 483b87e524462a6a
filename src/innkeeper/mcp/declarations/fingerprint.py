"""What a grant is bound to (M4.2b): the whole entry as written, so a changed declaration never runs on an old grant."""

import hashlib
import json
from collections.abc import Mapping, Sequence


def fingerprint(
    *,
    file: str,
    transport: str,
    command: str | None,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    directory: str | None,
    url: str | None,
    headers: Mapping[str, str],
    sources: Mapping[str, object],
) -> str:
    """`sha256:` and the digest of all fields, variables unexpanded; `file` is relative to the workspace. The order of
    `environment` and `headers` does not count. `sources` are the other places that values come from: names of
    forwarded variables, and an environment file with the digest of its content."""
    content = {
        "file": file,
        "transport": transport,
        "command": command,
        "args": list(arguments),
        "env": dict(environment),
        "cwd": directory,
        "url": url,
        "headers": dict(headers),
        "sources": {name: value for name, value in sources.items() if value},
    }
    encoded = json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":")).encode()
    return f"sha256:{hashlib.sha256(encoded).hexdigest()}"
