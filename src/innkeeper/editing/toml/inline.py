"""Members of an array or an inline table: putting one in, taking one out.

Rules
* What is inserted follows its neighbours: on a line of its own with their indentation where they have one, else behind
  a comma; a trailing comma stays a habit.
* Comments stay, except one behind a member that leaves with its line.
"""

from innkeeper.editing.engine import Splice
from innkeeper.editing.toml.model import Document, Value

_STEP = "  "


def insert_member(document: Document, holder: Value, index: int, text: str) -> list[Splice]:
    """`text` becomes member `index`, at most the number of members."""
    members = holder.members
    if not members:
        return [_into_empty(document, holder, text)]
    if index >= len(members):
        return _behind_last(document, holder, text)
    following = members[index].start
    if not document.first_on_line(following):
        return [Splice(following, following, f"{text}, ")]
    before = members[index - 1].comma if index else holder.start
    line_end = document.line_end(holder.start if before is None else before)
    return [Splice(line_end, line_end, f"{document.newline}{document.indentation(following)}{text},")]


def remove_member(document: Document, holder: Value, index: int) -> list[Splice]:
    members = holder.members
    member = members[index]
    last = index == len(members) - 1
    if _has_own_lines(document, holder, index):
        spans = [Splice(document.line_start(member.start), document.next_line(member.comma or member.end))]
        before = members[index - 1].comma if index else None
        if last and member.comma is None and before is not None:
            spans.append(Splice(before, before + 1))
        return spans
    span = (member.start, member.end)
    if not last:
        return _without_comments(document, member.start, members[index + 1].start, span, member.comma)
    if not index:
        return _remove_only(document, holder)
    before = members[index - 1].comma
    assert before is not None
    if member.comma is not None:
        return _without_comments(document, before + 1, member.comma + 1, span, member.comma)
    return _without_comments(document, before, member.end, span, before)


def _into_empty(document: Document, holder: Value, text: str) -> Splice:
    inside, closing = holder.start + 1, holder.end - 1
    gap = document.text[inside:closing]
    if "\n" in gap:
        comment = inside + gap.find("#")
        indentation = document.indentation(closing) + _STEP
        if "#" in gap and document.first_on_line(comment):
            indentation = document.indentation(comment)
        start = document.line_start(closing)
        return Splice(start, start, f"{indentation}{text},{document.newline}")
    return Splice(inside, inside, f" {text} " if holder.kind == "table" else text)


def _behind_last(document: Document, holder: Value, text: str) -> list[Splice]:
    last = holder.members[-1]
    end = last.end if last.comma is None else last.comma + 1
    own_line = "\n" in document.text[end : holder.end] and document.first_on_line(last.start)
    if not own_line:
        return [Splice(end, end, f", {text}" if last.comma is None else f" {text},")]
    line = f"{document.newline}{document.indentation(last.start)}{text}"
    line_end = document.line_end(end)
    if last.comma is not None:
        return [Splice(line_end, line_end, f"{line},")]
    if line_end == end:
        return [Splice(end, end, f",{line}")]
    return [Splice(end, end, ","), Splice(line_end, line_end, line)]


def _has_own_lines(document: Document, holder: Value, index: int) -> bool:
    """Whether nothing but the member, its comma and a comment is on the lines it takes."""
    members = holder.members
    member = members[index]
    if member.comma is not None and "\n" in document.text[member.end : member.comma]:
        return False
    following = members[index + 1].start if index + 1 < len(members) else holder.end - 1
    return document.first_on_line(member.start) and document.line_end(member.comma or member.end) < following


def _without_comments(
    document: Document, start: int, end: int, member: tuple[int, int], comma: int | None
) -> list[Splice]:
    """One span, or only the member and a comma when a comment stands in between."""
    rest = document.text[start : member[0]] + document.text[member[1] : end]
    if "#" not in rest or comma is None:
        return [Splice(start, end)]
    return [Splice(*member), Splice(comma, comma + 1)]


def _remove_only(document: Document, holder: Value) -> list[Splice]:
    """An inline table loses the space on both sides too, which it got with its first member."""
    member = holder.members[0]
    inside, closing = holder.start + 1, holder.end - 1
    before, after = document.text[inside : member.start], document.text[member.end : closing]
    if holder.kind == "table" and member.comma is None and before[-1:] == after[:1] == " ":
        return [Splice(member.start - 1, member.end + 1)]
    comma = [] if member.comma is None else [Splice(member.comma, member.comma + 1)]
    return [Splice(member.start, member.end), *comma]
