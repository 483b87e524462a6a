"""What an edit changes, fit to be shown: a unified diff without secrets (M8.9, M7.7).

Rules
* Values of env and headers are masked in every entry of the file, and what looks like a credential anywhere. A masked
  value that changes says so, so that the change can be seen.
"""

import difflib
from collections.abc import Iterator
from typing import Final

from innkeeper.editing.engine import Splice, decoded, spliced
from innkeeper.editing.replacing import Content
from innkeeper.editing.toml.places import value_spans
from innkeeper.editing.toml.scanner import scan
from innkeeper.editing.tree import Node
from innkeeper.mcp.connections.masking import masked_text
from innkeeper.mcp.declarations.secrets import MASK, mask_address, mask_arguments
from innkeeper.mcp.editor.fields import TABLES, paths_of
from innkeeper.mcp.editor.sheets import Sheet, sheet_of

CHANGED: Final = f"{MASK} *"
CONTEXT: Final = 3

Path = tuple[str, ...]
Secrets = dict[Path, tuple[Node, str]]
"""Where something secret stands: its node, and what is shown instead."""


def diff(old: Sheet, wanted: bytes | None, *, show_values: bool = False) -> str:
    """From the sheet to the wanted content; empty when they are equal. `show_values` masks nothing."""
    new = sheet_of(old.target, Content(wanted))
    if show_values:
        before, after = _text(old), _text(new)
    else:
        known, wants = dict(_secrets(old)), dict(_secrets(new))
        before, after = _masked(old, known, {}), _masked(new, wants, known)
    lines = difflib.unified_diff(
        _lines(before),
        _lines(after),
        f"a/{old.file}" if old.content.data is not None else "/dev/null",
        f"b/{old.file}" if wanted is not None else "/dev/null",
        n=CONTEXT,
    )
    found = "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
    return found if show_values else masked_text(found.encode("utf-8", "replace"), ())


def _text(sheet: Sheet) -> str:
    return "" if sheet.content.data is None else decoded(sheet.content.data)


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").splitlines(keepends=True)


def _secrets(sheet: Sheet) -> Iterator[tuple[Path, tuple[Node, str]]]:
    preset = sheet.target.preset
    for member in sheet.servers.members if sheet.servers is not None else ():
        base = (*sheet.table, member.key)
        for field in TABLES:
            for path in paths_of(preset, field):
                node = member.value.at(path)
                for row in node.members if node is not None else ():
                    if row.value.kind in ("string", "number"):
                        yield (*base, *path, row.key), (row.value, MASK)
        for path in (*paths_of(preset, "args"), *paths_of(preset, "command")):
            node = member.value.at(path)
            words = [str(item.value) for item in node.items] if node is not None else []
            for place, shown in enumerate(mask_arguments(words)):
                if node is not None and shown != words[place]:
                    yield (*base, *path, str(place)), (node.items[place], shown)
        for path in paths_of(preset, "url"):
            node = member.value.at(path)
            if node is not None and node.kind == "string":
                shown = mask_address(str(node.value))
                if shown != node.value:
                    yield (*base, *path), (node, shown)


def _masked(sheet: Sheet, secrets: Secrets, before: Secrets) -> str:
    """The text with every secret replaced; one that was another before is marked."""
    text = _text(sheet)
    spans = value_spans(scan(text)) if secrets and sheet.target.preset.format == "toml" else None
    splices: dict[int, Splice] = {}
    for path, (node, shown) in secrets.items():
        span = _span(sheet, text, node) if spans is None else spans.get(_toml_path(sheet, path))
        if span is None:
            continue
        known = before.get(path)
        changed = known is not None and known[0].value != node.value
        splices[span[0]] = Splice(*span, f'"{shown.replace(MASK, CHANGED, 1) if changed else shown}"')
    kept: list[Splice] = []
    for splice in sorted(splices.values(), key=lambda splice: splice.start):
        if not kept or splice.start >= kept[-1].end:
            kept.append(splice)
    return spliced(text, kept)


def _span(sheet: Sheet, text: str, node: Node) -> tuple[int, int]:
    """Where the value's own text stands in the text without byte order mark."""
    assert sheet.document is not None
    offset = len(sheet.document.text) - len(text)
    return node.start - offset, node.end - offset


def _toml_path(sheet: Sheet, path: Path) -> tuple[str | int, ...]:
    """Positions of arguments are numbers there."""
    fields = paths_of(sheet.target.preset, "args")
    held = len(sheet.table) + 1
    in_list = any(path[held:-1] == field for field in fields)
    return (*path[:-1], int(path[-1])) if in_list else path
