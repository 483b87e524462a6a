"""A file from which the last server leaves becomes what it was before a table was made for the first one (M8.1).

Rules
* What the editor made is taken away again only where that gives exactly the bytes that were there before, by their
  version token. Whoever changed anything beside it meanwhile keeps the file, with its empty table.
* A file that was made from nothing goes; its folder stays.
"""

from collections.abc import Iterator

from innkeeper.editing.edits import Delete
from innkeeper.editing.engine import edit_bytes, version_of
from innkeeper.editing.refusals import EditUnsafe
from innkeeper.editing.replacing import Content
from innkeeper.mcp.editor.sheets import SYNTAXES, Sheet, Target, sheet_of


def as_it_was(target: Target, wanted: bytes, origin: str | None) -> bytes | None:
    """The content `wanted`, or the one with that token if it lacks nothing else; None: there was no file."""
    if origin is None:
        return wanted
    try:
        return next((old for old in _candidates(target, wanted) if version_of(old) == origin), wanted)
    except EditUnsafe:  # what is left cannot be taken away
        return wanted


def _candidates(target: Target, wanted: bytes) -> Iterator[bytes | None]:
    """The content, then without the tables that lead to no server, then without its last value."""
    left = sheet_of(target, Content(wanted))
    yield wanted
    for length in range(len(left.table), 0, -1):
        path = left.table[:length]
        node = None if left.document is None else left.document.root.at(path)
        if node is None:
            continue
        if node.kind != "object" or node.members:
            return
        wanted = edit_bytes(SYNTAXES[target.preset.format], wanted, [Delete(path)])
        yield wanted
        left = sheet_of(target, Content(wanted))
    yield from _without_value(left, wanted)


def _without_value(left: Sheet, content: bytes) -> Iterator[bytes | None]:
    """What was there before a whole value was written below it."""
    whole = content.decode()
    start = end = len(whole)
    if left.document is not None:
        root, shift = left.document.root, len(whole) - len(left.document.text)
        if root.members or whole[root.end + shift :].strip("\r\n"):
            return
        start, end = (root.start + shift, root.end + shift) if left.target.preset.format != "toml" else (start, end)
        if "".join(whole[start:end].split()) not in ("", "{}"):
            return
    before = whole[:start]
    for text in (before, before.removesuffix("\n"), before.removesuffix("\r\n"), before.removesuffix("\r")):
        yield text.encode()
    if not before:
        yield None
