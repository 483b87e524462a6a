"""URIs under which a file's content before or after a change is read with `resourceRead` (AHP §4, `ContentRef`).

Rules
* `x-innkeeper-content:/<source>/<session>/<…>/<name>`, each part percent-encoded. A URI names content that never
  changes: a blob of a repository, or of the session's store. Only the host makes and reads them.
* Reading is bounded; what is larger than the limit is refused with its size, never cut.
* Text comes as `utf-8` when it is that, else as base64; a submodule's side is the line that git shows for it.
"""

import base64
import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import quote, unquote

from innkeeper.protocol.types import URI

SCHEME: Final = "x-innkeeper-content"
Source: TypeAlias = Literal["git", "edit", "submodule"]


@dataclass(frozen=True, slots=True)
class Reference:
    """What a content URI says. `place` is a repository's root (`git`), else empty."""

    source: Source
    session: str
    place: str
    id: str
    name: str


def content_uri(reference: Reference) -> URI:
    parts = (reference.source, reference.session, reference.place, reference.id, reference.name)
    return f"{SCHEME}:/" + "/".join(quote(part, safe="", errors="surrogateescape") for part in parts)


def read_uri(uri: str) -> Reference | None:
    """The reference; None for a URI of another kind."""
    scheme, _, rest = uri.partition(":/")
    parts = [unquote(part, errors="surrogateescape") for part in rest.split("/")]
    if scheme != SCHEME or len(parts) != 5 or parts[0] not in ("git", "edit", "submodule"):
        return None
    source: Source = parts[0]  # type: ignore[assignment]  # checked the line before
    return Reference(source, *parts[1:])


def content_type(name: str) -> str | None:
    """The media type that a file's name suggests."""
    return mimetypes.guess_type(PurePosixPath(name).name, strict=False)[0]


def answer(content: bytes, name: str) -> Mapping[str, Any]:
    """The result of `resourceRead`."""
    try:
        data, encoding = content.decode("utf-8"), "utf-8"
        if "\0" in data:
            raise ValueError("no text")
    except ValueError:
        data, encoding = base64.b64encode(content).decode("ascii"), "base64"
    kind = content_type(name)
    return {"data": data, "encoding": encoding, **({} if kind is None else {"contentType": kind})}


def submodule_text(commit: str) -> bytes:
    """What git shows for a submodule."""
    return f"Subproject commit {commit}\n".encode()
