"""The part of YAML that nearly all front matter is written in, read by lines (issue 4: 1,000 skills in 500 ms). Pure.

Rules
* What is read here means to the YAML library exactly what it means here; a property test compares the two. Anything
  that is not surely so (comments behind a value, escapes, anchors, lines that go on, blank lines in blocks) is left
  to the library.
* Read are: `key: text` plain or quoted on one line, `[a, b]` on one line, lists and mappings one level deep, and block
  texts (`>`, `|`) of lines with one indent. Mappings are passed over, as the library's are.
"""

import re
from collections.abc import Sequence
from typing import Final, TypeAlias

Value: TypeAlias = str | tuple[str, ...]

_QUOTED = r""""(?P<double>[^"\\]*)" | '(?P<single>[^']*)'"""
_PLAIN = r"""(?P<plain>[^\W_](?:[^:\#] | :(?=\S) | (?<=\S)\#)*+)"""
_LINE = re.compile(rf"(?P<key>[A-Za-z][\w-]*):(?:[ ]+(?: {_QUOTED} | {_PLAIN} ))?[ ]*+", re.VERBOSE)
_ITEM = re.compile(rf"(?P<indent>[ ]*)-[ ]+(?: {_QUOTED} | {_PLAIN} )[ ]*+", re.VERBOSE)
_FLOW_ITEM = r"""(?:"[^"\\]*" | '[^']*' | [^\W_][^,\[\]{}:\#"']*+)[ ]*+"""
_FLOW = re.compile(
    rf"(?P<key>[A-Za-z][\w-]*):[ ]+\[[ ]*(?P<items>{_FLOW_ITEM}(?:,[ ]*{_FLOW_ITEM})*+)?\][ ]*+", re.VERBOSE
)
_FLOW_ITEMS = re.compile(_FLOW_ITEM, re.VERBOSE)
_BLOCK = re.compile(r"(?P<key>[A-Za-z][\w-]*):[ ]+(?P<style>[>|])(?P<chomp>-?)[ ]*+")
_NULL: Final = frozenset({"null", "Null", "NULL"})


def normalized(key: str) -> str:
    """A key without case, `-` and `_`."""
    return key.replace("-", "").replace("_", "").lower()


def read_plain(block: str) -> dict[str, Value] | None:
    """The fields of a block, by normalised key; None when it has to be read by the library."""
    if not block.replace("\n", "").isprintable():
        return None
    lines = block.split("\n")
    fields: dict[str, Value] = {}
    seen: set[str] = set()
    at = 0
    while at < len(lines):
        if not lines[at] or lines[at].startswith("#"):
            at += 1
            continue
        end = at + 1
        while end < len(lines) and lines[end].startswith((" ", "- ")):
            end += 1
        entry = _entry(lines[at], lines[at + 1 : end])
        if entry is None or entry[0] in seen:
            return None
        seen.add(entry[0])
        if entry[1] is not None:
            fields[entry[0]] = entry[1]
        at = end
    return fields


def _entry(first: str, rest: Sequence[str]) -> tuple[str, Value | None] | None:
    """A key at the margin with the lines that belong to it; the value None stands for a mapping."""
    line = _LINE.fullmatch(first)
    if line is not None:
        if not rest:
            return normalized(line["key"]), _scalar(line)
        items = _items(rest)
        if not first.rstrip(" ").endswith(":") or (items is None and not _is_mapping(rest)):
            return None
        return normalized(line["key"]), items
    flow = _FLOW.fullmatch(first)
    if flow is not None and not rest:
        found = (item.rstrip(" ") for item in _FLOW_ITEMS.findall(flow["items"] or ""))
        return normalized(flow["key"]), tuple(item[1:-1] if item[0] in "\"'" else item for item in found)
    block = _BLOCK.fullmatch(first)
    text = None if block is None else _block_text(rest, block["style"])
    if block is None or text is None:
        return None
    return normalized(block["key"]), text if block["chomp"] else f"{text}\n"


def _scalar(line: re.Match[str]) -> str:
    text = _text(line)
    return "" if line["plain"] and text in _NULL else text


def _text(found: re.Match[str]) -> str:
    for quoted in (found["double"], found["single"]):
        if quoted is not None:
            return str(quoted)
    return (found["plain"] or "").rstrip(" ")


def _items(lines: Sequence[str]) -> tuple[str, ...] | None:
    """The items of a list with one indent."""
    found = [_ITEM.fullmatch(line) for line in lines]
    items = tuple(_text(item) for item in found if item is not None)
    indents = {item["indent"] for item in found if item is not None}
    return items if len(items) == len(lines) and len(indents) == 1 else None


def _is_mapping(lines: Sequence[str]) -> bool:
    """Whether it is a mapping with one indent."""
    if not all(line.startswith(" ") for line in lines):
        return False
    indents = {len(line) - len(line.lstrip(" ")) for line in lines}
    return len(indents) == 1 and all(_LINE.fullmatch(line.lstrip(" ")) for line in lines)


def _block_text(lines: Sequence[str], style: str) -> str | None:
    """The text of lines with one indent."""
    indents = {len(line) - len(line.lstrip(" ")) for line in lines}
    if len(indents) != 1 or 0 in indents or any(line.endswith(" ") for line in lines):
        return None
    return ("\n" if style == "|" else " ").join(line.lstrip(" ") for line in lines)
