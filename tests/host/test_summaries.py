import pytest

from innkeeper.contributions.session_input_needed.waiting import changes, waiting
from innkeeper.host.summaries import chat_changes, modified_at, moment, session_status, session_summary, summary_changes
from innkeeper.host.titles import first_words


def session(*chats, status=1, **more):
    state = {"provider": "p", "title": "", "status": status, "lifecycle": "ready", "activeClients": []}
    return {**state, "chats": [{"resource": f"c{i}", "title": "", **c} for i, c in enumerate(chats)], **more}


def chat(status, modified="2026-01-01T00:00:00.000Z"):
    return {"status": status, "modifiedAt": modified}


@pytest.mark.parametrize(
    ("state", "status"),
    [
        (session(), 1),
        (session(chat(8)), 8),
        (session(chat(8 | 32), status=1 | 64), 8 | 64),
        (session(chat(1), chat(8, "2026-02-01T00:00:00Z"), defaultChat="c0"), 1),
        (session(chat(1), chat(8, "2026-02-01T00:00:00Z")), 8),
        (session(chat(1), chat(24), defaultChat="c0"), 24),
        (session(chat(1), chat(2), defaultChat="c0"), 2),
        (session(chat(2), chat(24), defaultChat="c0"), 24),
        (session(chat(1), status=1 | 32 | 16), 24 | 32),
        (session(chat(1), lifecycle="failed"), 2),
        (session(chat(1), status=1 | 1024), 1 | 1024),
    ],
)
def test_a_session_shows_its_chats_activity_and_its_own_flags(state, status):
    """AHP §9.1: default chat else newest; InputNeeded and Error of any; unknown high bits are kept."""
    assert session_status(state) == status


def test_times_of_different_spelling_are_compared_as_times():
    """AHP §15: startedAt with nine decimals, offsets."""
    newest = "2026-01-01T12:00:00.123456789+02:00"
    state = session(chat(1, "2026-01-01T09:59:59Z"), chat(1, newest), _meta={"x-innkeeper/createdAt": "2025-01-01"})
    assert modified_at(state) == newest
    assert moment("nonsense") == 0.0


def test_a_field_that_goes_away_is_told():
    """AHP §1: absence clears."""
    shown = {"resource": "c", "title": "kept", "status": 1, "modifiedAt": "t", "activity": "Reading"}
    now = {"resource": "c", "title": "", "status": 8, "modifiedAt": "t"}
    assert chat_changes(shown, now) == ({"status": 8}, True)
    before = session_summary("s", session(activity="Reading"))
    after = session_summary("s", session())
    assert summary_changes(before, after) == {"activity": None}


def test_equal_entries_are_not_sent_again_and_gone_ones_are_removed():
    """AHP §9.8."""
    part = {"kind": "inputRequest", "request": {"id": "r"}}
    state = {"activeTurn": {"id": "t", "responseParts": [part]}}
    wanted = waiting("c", state)
    (entry,) = wanted.values()
    empty = session()
    assert changes(empty, "c", wanted) == [{"type": "session/inputNeededSet", "request": entry}]
    full = session(inputNeeded=[entry, {**entry, "id": "other", "chat": "elsewhere"}])
    assert changes(full, "c", wanted) == []
    assert changes(full, "c", {}) == [{"type": "session/inputNeededRemoved", "id": entry["id"]}]


@pytest.mark.parametrize(
    ("text", "title"),
    [("  a \n b ", "a b"), ("", ""), ("x" * 61, "x" * 59 + "…"), ("x" * 60, "x" * 60)],
)
def test_a_title_is_one_short_line(text, title):
    """K18."""
    assert first_words(text) == title
