"""A changed file as AHP shows it: `ChangesetFile` with its `FileEdit` (AHP Appendix A, channels-changeset). Pure.

Rules
* `id` is the URI after the change, of a deleted file the one before. No `before` is a creation, no `after` a deletion,
  two URIs a rename; both sides carry a `nonce`, so that another content is another nonce.
* `diff` has lines; absent when binary, or when the contents are too large to compare.
* What AHP has no field for stands in `_meta` under `x-innkeeper/`: `kind`, `modes`, `binary`, `lfs`, `attribution`.
"""

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, Final

from innkeeper.host.changesets.attribution import Shown
from innkeeper.host.changesets.book import Content
from innkeeper.host.changesets.contents import Reference, content_type, content_uri
from innkeeper.ports.git import FileChange, Side
from innkeeper.protocol.uris import file_uri

JsonFile = Mapping[str, Any]

COMPARED_LINES: Final = 5_000
"""Reports of files with more lines are shown without a count: comparing is quadratic at worst."""


def changed_file(session: str, root: str, change: FileChange) -> JsonFile:
    """A file by its two snapshots."""
    path = f"{root}/{change.path}"
    old = f"{root}/{change.old_path}" if change.old_path is not None else path
    edit: dict[str, Any] = {}
    if change.before is not None:
        edit["before"] = _git_side(session, root, old, change.before)
    if change.after is not None:
        edit["after"] = _git_side(session, root, path, change.after)
    if change.added is not None and change.removed is not None:
        edit["diff"] = {"added": change.added, "removed": change.removed}
    return _file(edit, _git_meta(change))


def shown_file(session: str, root: str, shown: Shown, stats: tuple[int, int] | None = None) -> JsonFile:
    """A file of a turn; `stats` are the lines added and removed of one that is shown by reports."""
    meta: dict[str, Any] = {}
    if shown.why != "alone":
        meta["x-innkeeper/attribution"] = {
            "kind": shown.why,
            **({"sharedWith": list(shown.shared_with)} if shown.shared_with else {}),
        }
    if shown.change is not None:
        found = changed_file(session, root, shown.change)
        return {**found, "_meta": {**found.get("_meta", {}), **meta}} if meta else found
    edit: dict[str, Any] = {}
    if isinstance(shown.before, Content):
        edit["before"] = _reported_side(session, shown.old_path or shown.path, shown.before)
    if isinstance(shown.after, Content):
        edit["after"] = _reported_side(session, shown.path, shown.after)
    elif not edit or shown.after is None:
        edit["after"] = {"uri": file_uri(shown.path), "content": {"uri": file_uri(shown.path)}}
    if stats is not None:
        edit["diff"] = {"added": stats[0], "removed": stats[1]}
    return _file(edit, meta)


def line_counts(before: bytes, after: bytes) -> tuple[int, int] | None:
    """Lines added and removed; None for binary contents and for very long ones."""
    if b"\0" in before[:8000] or b"\0" in after[:8000]:
        return None
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    old, new = old[start : len(old) - end], new[start : len(new) - end]
    if not old or not new:
        return len(new), len(old)
    if max(len(old), len(new)) > COMPARED_LINES:
        return None
    kept = sum(block.size for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks())
    return len(new) - kept, len(old) - kept


def totals(files: Sequence[JsonFile]) -> tuple[int, int]:
    """Lines added and removed over all files."""
    added = removed = 0
    for file in files:
        diff = file["edit"].get("diff") or {}
        added += int(diff.get("added") or 0)
        removed += int(diff.get("removed") or 0)
    return added, removed


def paths_in(file: JsonFile) -> tuple[str, ...]:
    """The URIs that a file of a changeset has on its sides."""
    edit = file["edit"]
    found = [edit[side]["uri"] for side in ("before", "after") if isinstance(edit.get(side), Mapping)]
    return tuple(dict.fromkeys(found))


def _file(edit: Mapping[str, Any], meta: Mapping[str, Any]) -> JsonFile:
    side = edit.get("after") or edit["before"]
    return {"id": side["uri"], "edit": edit, **({"_meta": dict(meta)} if meta else {})}


def _git_side(session: str, root: str, path: str, side: Side) -> Mapping[str, Any]:
    name = path.rpartition("/")[2]
    if side.type == "submodule":
        reference = Reference("submodule", session, "", side.id, name)
    else:
        reference = Reference("git", session, root, side.id, name)
    return {"uri": file_uri(path), "content": _content(content_uri(reference), side.id, side.size, name)}


def _reported_side(session: str, path: str, content: Content) -> Mapping[str, Any]:
    name = path.rpartition("/")[2]
    uri = content_uri(Reference("edit", session, "", content.digest, name)) if content.digest else file_uri(path)
    return {"uri": file_uri(path), "content": _content(uri, content.id, content.size, name)}


def _content(uri: str, nonce: str, size: int | None, name: str) -> Mapping[str, Any]:
    found: dict[str, Any] = {"uri": uri, "nonce": nonce}
    if size is not None:
        found["sizeHint"] = size
    if (kind := content_type(name)) is not None:
        found["contentType"] = kind
    return found


def _git_meta(change: FileChange) -> Mapping[str, Any]:
    meta: dict[str, Any] = {}
    sides = [side for side in (change.before, change.after) if side is not None]
    kinds = [side.type for side in sides]
    if any(kind != "file" for kind in kinds):
        meta["x-innkeeper/kind"] = kinds[-1]
    if len(set(kinds)) > 1:
        meta["x-innkeeper/modes"] = {"before": kinds[0], "after": kinds[1]}
    if change.binary:
        meta["x-innkeeper/binary"] = True
    if any(side.lfs for side in sides):
        meta["x-innkeeper/lfs"] = True
    return meta
