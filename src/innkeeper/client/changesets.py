"""What a client reads out of changesets: which channel is meant, and what happened to a file (AHP §7). Pure.

Rules
* A changeset is found by the template that the session lists (`Changeset.uriTemplate`), never by a URI made here.
* `_meta` has what AHP has no field for, under `x-innkeeper/` (docs/reference/changesets.md).
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from innkeeper.protocol.uris import local_path

State = Mapping[str, Any]
META: Final = "x-innkeeper/"
_TURNS: Final = {"turn": ("turnId",), "compare": ("originalTurnId", "modifiedTurnId")}


class Wanted(NamedTuple):
    """Which changeset: its kind, and the turns it is about (one, or the original and the modified one)."""

    kind: str
    turns: tuple[str, ...] = ()


def offer_of(kind: str, session: State) -> State | None:
    """What the session's catalogue says of a kind; None where it offers none such."""
    listed = "compare-turns" if kind == "compare" else kind
    return next((one for one in session.get("changesets") or () if one["changeKind"] == listed), None)


def channel_of(wanted: Wanted, session: State) -> str | None:
    """Its channel; None where the session offers none such, or a turn is missing."""
    offer, names = offer_of(wanted.kind, session), _TURNS.get(wanted.kind, ())
    if offer is None or len(wanted.turns) != len(names) or not all(wanted.turns):
        return None
    uri = str(offer["uriTemplate"])
    for name, turn in zip(names, wanted.turns, strict=True):
        uri = uri.replace(f"{{{name}}}", quote(turn, safe=""))
    return uri


class ChangedFile(NamedTuple):
    """One file. `change` is `added`, `deleted`, `renamed` or `changed`; `tags` its kinds, `shared` whose it is too;
    `version` is another when the content on a side is."""

    id: str
    path: str
    was: str
    change: str
    tags: tuple[str, ...]
    shared: str
    added: int | None
    removed: int | None
    reviewed: bool
    version: str


def changed_file(file: State, folders: Sequence[str]) -> ChangedFile:
    """A file of a changeset as it is shown, its path below the session's folder."""
    edit: State = file["edit"]
    before, after = edit.get("before"), edit.get("after")
    meta: State = file.get("_meta") or {}
    uri, old = str((after or before or {}).get("uri") or file["id"]), str((before or {}).get("uri") or "")
    change = "added" if before is None else "deleted" if after is None else "renamed" if old != uri else "changed"
    kind = meta.get(f"{META}kind")
    tags = [str(kind)] if kind else []
    tags += [name for name in ("binary", "lfs") if meta.get(f"{META}{name}")]
    diff: State = edit.get("diff") or {}
    nonces = [str(((side or {}).get("content") or {}).get("nonce") or "") for side in (before, after)]
    return ChangedFile(
        id=str(file["id"]),
        path=below(uri, folders),
        was=below(old, folders) if change == "renamed" else "",
        change=change,
        tags=tuple(tags),
        shared=str((meta.get(f"{META}attribution") or {}).get("kind") or ""),
        added=diff.get("added"),
        removed=diff.get("removed"),
        reviewed=bool(file.get("reviewed")),
        version=hashlib.sha256("\0".join(nonces).encode()).hexdigest()[:12],
    )


def below(uri: str, folders: Sequence[str]) -> str:
    """The path, relative to the folder that it is in."""
    path = _shown(uri)
    for folder in folders:
        root = _shown(folder).rstrip("/") + "/"
        if path.startswith(root):
            return path[len(root) :]
    return path


def operation_params(channel: str, operation: str, file: State | None = None, **words: str) -> dict[str, Any]:
    """The params of `invokeChangesetOperation`: on one file, or on all; `words` are `message` or `branch`."""
    params: dict[str, Any] = {"channel": channel, "operationId": operation}
    if file is not None:
        side = file["edit"].get("after") or file["edit"]["before"]
        params["target"] = {"kind": "resource", "resource": side["uri"]}
    if words:
        params["_meta"] = {f"{META}{name}": value for name, value in words.items()}
    return params


def _shown(uri: str) -> str:
    """A path for people: what is no UTF-8 in a name is shown as such."""
    path = local_path(uri)
    return uri if path is None else path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
