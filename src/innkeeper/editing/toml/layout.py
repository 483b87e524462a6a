"""Lines and sections: putting an entry or a table in, taking one out.

Rules
* A comment directly above a header belongs to that header; so does all between two headers that are removed together.
  Comments below an entry, up to an empty line, belong to its section. Every other comment is nobody's, and stays.
* A new section is set off by one empty line, which leaves with it.
* A text that does not end with a line end still does not afterwards.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from innkeeper.editing.engine import Splice
from innkeeper.editing.toml.model import Document, Entry, Keys, Section
from innkeeper.editing.toml.writing import key_text, value_text


def add_entry(document: Document, section: Section, line: str) -> Splice:
    """A line below the entries of a section."""
    if section.entries:
        last = section.entries[-1]
        return add_line_behind(document, last.start, last.end, line)
    if section.path:
        header = document.text.index("[", section.start)
        return add_line_behind(document, header, header, line)
    return _first_entry(document, line)


def add_line_behind(document: Document, start: int, end: int, line: str) -> Splice:
    """A line below what reaches from `start` to `end`, indented like that."""
    position = document.next_line(end)
    indentation = document.indentation(start)
    if _unended(document, position):
        return Splice(position, position, f"{document.newline}{indentation}{line}")
    return Splice(position, position, f"{indentation}{line}{document.newline}")


def remove_entry(document: Document, entry: Entry) -> Splice:
    """The lines of an entry of a section; of two empty lines that would meet, one goes too."""
    start = document.line_start(entry.start)
    end = document.next_line(entry.end)
    if (start == 0 or document.blank(document.line_start(start - 1))) and document.blank(end):
        end = document.next_line(end)
    return Splice(start, end)


def add_section(document: Document, start: int, lines: Sequence[str]) -> Splice:
    """A header and its entries, at the start of a line or the end of the text, with an empty line before."""
    text = document.newline.join(lines)
    if start == 0 and not document.text:
        return Splice(0, 0, text + document.newline)
    if _unended(document, start):
        return Splice(start, start, document.newline * 2 + text)
    return Splice(start, start, document.newline + text + document.newline)


def add_section_before(document: Document, section: Section, lines: Sequence[str]) -> Splice:
    """A header and its entries above another one and the comment that belongs to that; close to it where that one is
    close to what is above."""
    start = _with_comment_above(document, section)
    close = start > 0 and not document.blank(document.line_start(start - 1))
    return Splice(start, start, document.newline.join([*lines, ""] if close else [*lines, "", ""]))


def remove_sections(document: Document, leaving: Sequence[Section]) -> list[Splice]:
    """These sections, each with the empty line before it."""
    spans = []
    for run in _runs(document.sections, leaving):
        start, end = run[0].start, content_end(document, run[-1])
        if start and document.blank(document.line_start(start - 1)):
            start = document.line_start(start - 1)
        elif start == 0 and document.blank(end):
            end = document.next_line(end)
        spans.append(Splice(start, end))
    return spans


def merged(document: Document, removed: Iterable[Splice]) -> list[Splice]:
    """What is removed as spans that do not touch; without the line end before what ends a text that has none."""
    spans: list[Splice] = []
    for splice in sorted(removed, key=lambda splice: splice.start):
        if spans and splice.start <= spans[-1].end:
            spans[-1] = Splice(spans[-1].start, max(spans[-1].end, splice.end))
        else:
            spans.append(splice)
    if spans and _unended(document, spans[-1].end):
        spans[-1] = Splice(_before_line_end(document, spans[-1].start), spans[-1].end)
    return spans


def section_lines(keys: Keys, table: Mapping[str, Any], *, array: bool, indentation: str = "") -> list[str]:
    """A header and one line an entry; what is nested is written inline."""
    name = key_text(*keys)
    header = f"[[{name}]]" if array else f"[{name}]"
    return [indentation + line for line in (header, *(entry_line((key,), value) for key, value in table.items()))]


def entry_line(keys: Keys, value: Any, *, literal: bool = False) -> str:
    return f"{key_text(*keys)} = {value_text(value, literal=literal)}"


def content_end(document: Document, section: Section) -> int:
    """Behind the section's last line."""
    end = _entries_end(document, section)
    position = end
    while position < section.end:
        if document.blank(position):
            return position
        position = document.next_line(position)
    return position if section is document.sections[-1] else end


def end_of_all(document: Document) -> int:
    """Where a new last section goes."""
    last = document.sections[-1]
    return content_end(document, last) if last.path else len(document.text)


def _runs(sections: Sequence[Section], leaving: Sequence[Section]) -> list[list[Section]]:
    """Those that leave, by neighbourhood."""
    runs: list[list[Section]] = [[]]
    for section in sections:
        if section in leaving:
            runs[-1].append(section)
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


def _entries_end(document: Document, section: Section) -> int:
    return document.next_line(section.entries[-1].end) if section.entries else section.body


def _first_entry(document: Document, line: str) -> Splice:
    """The first entry above all headers: below the comments that open the file, above those of the first header."""
    if len(document.sections) == 1:
        start = len(document.text)
        if _unended(document, start):
            return Splice(start, start, document.newline + line)
        return Splice(start, start, line + document.newline)
    start = _with_comment_above(document, document.sections[1])
    return Splice(start, start, line + document.newline * 2)


def _with_comment_above(document: Document, section: Section) -> int:
    before = document.sections[document.sections.index(section) - 1]
    floor = _entries_end(document, before)
    start = section.start
    while start > floor:
        above = document.line_start(start - 1)
        if not document.text[above:start].lstrip(" \t").startswith("#"):
            break
        start = above
    return start


def _unended(document: Document, position: int) -> bool:
    """Whether this is the end of a text whose last line has no line end."""
    return position == len(document.text) > 0 and not document.text.endswith("\n")


def _before_line_end(document: Document, start: int) -> int:
    """In front of the line end that is before a line."""
    return document.line_end(document.line_start(start - 1)) if start else 0
