"""The bounded content of a terminal (S26), and its text without escape sequences."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from innkeeper.host.terminals.content import COMMAND_SIZE, cut, cut_text, said_again, size
from innkeeper.host.terminals.marks import SEQUENCE
from innkeeper.host.terminals.plain import last_characters, plain_text
from innkeeper.reduce import reduce

TEXTS = st.text(alphabet="ab\n\x1b[31m ", max_size=60)
EMPTY: dict[str, Any] = {
    "title": "",
    "content": [],
    "lifecycle": {"status": "running"},
    "claim": {"kind": "client", "clientId": "c"},
}


def command(id: str, output: str, *, line: str = "x", complete: bool = True) -> dict[str, Any]:
    part = {"type": "command", "commandId": id, "commandLine": line, "output": output, "timestamp": 5}
    return {**part, "isComplete": complete, **({"exitCode": 1, "durationMs": 7} if complete else {})}


@st.composite
def contents(draw: st.DrawFn) -> list[dict[str, Any]]:
    """What the reducer can make: texts are between commands, an open command is last."""
    parts: list[dict[str, Any]] = []
    for number in range(draw(st.integers(0, 6))):
        if draw(st.booleans()) and (not parts or parts[-1]["type"] == "command"):
            parts.append({"type": "unclassified", "value": draw(TEXTS.filter(bool))})
        else:
            parts.append(command(f"c{number}", draw(TEXTS)))
    if draw(st.booleans()):
        parts.append(command("open", draw(TEXTS), complete=False))
    return parts


@given(contents())
def test_content_said_again_is_the_same_content(parts: list[dict[str, Any]]) -> None:
    state: Any = {**EMPTY, "content": [{"type": "unclassified", "value": "old"}]}
    for action in said_again(parts):
        state = reduce("terminal", state, action)
    assert state["content"] == parts


@given(contents(), st.integers(0, 300))
def test_cut_content_is_the_end_and_fits(parts: list[dict[str, Any]], keep: int) -> None:
    kept = cut(parts, keep)
    assert size(kept) <= max(keep, COMMAND_SIZE)
    assert [p.get("commandId") for p in kept] == [p.get("commandId") for p in parts[len(parts) - len(kept) :]]
    for part, whole in zip(kept[1:], parts[len(parts) - len(kept) + 1 :], strict=True):
        assert part == whole
    if size(parts) <= keep:
        assert kept == parts


@given(contents(), st.integers(0, 300))
def test_an_open_command_stays_open(parts: list[dict[str, Any]], keep: int) -> None:
    if parts and not parts[-1].get("isComplete", True):
        assert cut(parts, keep)[-1]["commandId"] == "open"


@given(TEXTS, st.integers(0, 60))
def test_a_cut_is_not_inside_a_sequence(text: str, keep: int) -> None:
    kept = cut_text(text, keep)
    at = len(text) - len(kept)
    assert text.endswith(kept)
    assert len(kept) <= keep
    assert not any(found.start() < at < found.end() for found in SEQUENCE.finditer(text))


def test_150_000_characters_are_cut_to_at_most_80_000() -> None:
    """S26, with lines: the cut is between two of them."""
    text = "".join(f"line {number}\n" for number in range(15_000))
    (kept,) = cut([{"type": "unclassified", "value": text}], 80_000)
    assert 79_000 <= len(kept["value"]) <= 80_000
    assert kept["value"].startswith("line ")


def test_plain_text_has_no_escape_sequences() -> None:
    assert plain_text("\x1b[31mred\x1b[0m\r\n\x1b]0;t\x07a\tb\x00\r\n") == "red\na\tb\n"


def test_a_progress_bar_is_what_it_was_last() -> None:
    assert plain_text(" 10%\r 50%\r100%\r\nabc\b\bX\r\nlonger\rab") == "100%\naXc\nabnger"


@given(st.text(alphabet="a\r\b\n\x1b[m\x07", max_size=60))
def test_plain_text_is_plain(text: str) -> None:
    assert not set(plain_text(text)) & set("\r\b\x07")


def test_the_last_characters_begin_with_a_line() -> None:
    assert last_characters("one\ntwo\nthree\n", 100) == ("one\ntwo\nthree\n", False)
    text = "first line\n" + "x" * 30
    assert last_characters(text, 32) == ("x" * 30, True)
    assert last_characters("y" * 50, 32) == ("y" * 32, True)
