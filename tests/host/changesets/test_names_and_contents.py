"""URIs of changesets and of contents, and what reading gives (AHP §4, §7)."""

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from innkeeper.host.changesets.book import path_of
from innkeeper.host.changesets.catalogue import Name, chat_catalogue, name_of, operations, session_catalogue
from innkeeper.host.changesets.contents import Reference, answer, content_uri, read_uri
from innkeeper.host.changesets.files import line_counts
from innkeeper.protocol.uris import file_uri, is_uri, local_path

SESSION = "copilot:/abc-123"


@given(st.text(min_size=1), st.text(min_size=1))
@example("changeset", "0")
@example("changeset", "session")
def test_every_turn_id_survives_its_uri(one: str, other: str) -> None:
    for name in (Name(SESSION, "turn", (one,)), Name(SESSION, "compare", (one, other))):
        assert is_uri(name.uri)
        assert name_of(name.uri) == name


@pytest.mark.parametrize(
    "uri",
    [
        "ahp-session:/1",
        "s:/1/changeset/",
        "s:/1/changeset/turn",
        "s:/1/changeset/x",
        "s:/1/changeset/session/1",
        "s:/1/changeset/compare/1",
        "/changeset/turn/",
    ],
)
def test_other_uris_are_no_changesets(uri: str) -> None:
    assert name_of(uri) is None


def test_the_catalogue_with_and_without_a_repository() -> None:
    """S18: without git no uncommitted changes, and nothing to compare."""
    with_git = session_catalogue(SESSION, "en", git=True, left_out={"uncommitted": 3})
    assert [(e["changeKind"], e["uriTemplate"]) for e in with_git] == [
        ("session", f"{SESSION}/changeset/session"),
        ("uncommitted", f"{SESSION}/changeset/uncommitted"),
        ("turn", f"{SESSION}/changeset/turn/{{turnId}}"),
        ("compare-turns", f"{SESSION}/changeset/compare/{{originalTurnId}}/{{modifiedTurnId}}"),
    ]
    assert with_git[1]["description"] == "3 more files are not shown"
    assert [e["changeKind"] for e in session_catalogue(SESSION, "en", git=False, left_out={})] == ["session", "turn"]
    assert [e["changeKind"] for e in chat_catalogue(SESSION, "en", git=True)] == ["turn", "compare-turns"]
    assert all(e["capabilities"] == {"review": {}} for e in with_git[:3])


def test_operations_are_of_the_uncommitted_changes_and_disabled_where_they_would_lose_work() -> None:
    assert operations("session", "en", files=3, blocked=False) is None
    statuses = {o["id"]: o["status"] for o in operations("uncommitted", "en", files=3, blocked=True) or ()}
    assert statuses == {"commit": "idle", "discard": "disabled", "checkout": "disabled"}
    clean = {o["id"]: o["status"] for o in operations("uncommitted", "en", files=0, blocked=False) or ()}
    assert clean == {"commit": "disabled", "discard": "disabled", "checkout": "idle"}
    discard = next(o for o in operations("uncommitted", "en", files=1, blocked=False) or () if o["id"] == "discard")
    assert "confirmation" in discard


@given(st.sampled_from(["git", "edit", "submodule"]), st.text(), st.text(), st.text(), st.text())
def test_content_uris_say_what_they_were_made_of(source: str, session: str, place: str, id: str, name: str) -> None:
    reference = Reference(source, session, place, id, name)  # type: ignore[arg-type]
    assert is_uri(content_uri(reference))
    assert read_uri(content_uri(reference)) == reference


@pytest.mark.parametrize(
    "uri", ["file:///etc/passwd", "x-innkeeper-content:/git/a/b", "x-innkeeper-content:/x/a/b/c/d"]
)
def test_no_other_uri_names_content(uri: str) -> None:
    assert read_uri(uri) is None


def test_text_comes_as_text_and_the_rest_as_base64() -> None:
    assert answer("hällo\n".encode(), "a.txt") == {"data": "hällo\n", "encoding": "utf-8", "contentType": "text/plain"}
    assert answer(b"\x89PNG\0", "a.png") == {"data": "iVBORwA=", "encoding": "base64", "contentType": "image/png"}
    assert answer(b"\xff\xfe", "noext")["encoding"] == "base64"


@given(st.binary(min_size=1))
def test_names_that_are_not_text_survive_their_uri(name: bytes) -> None:
    clean = name.replace(b"\0", b"").replace(b"/", b"")
    assume(clean not in (b"", b".", b".."))
    path = "/w/" + clean.decode("utf-8", "surrogateescape")
    assert path_of(file_uri(path)) == path == local_path(file_uri(path))
    assert file_uri(path).isascii()


@given(st.lists(st.sampled_from("abc"), max_size=8), st.lists(st.sampled_from("abc"), max_size=8))
def test_line_counts_lead_from_one_length_to_the_other(old: list[str], new: list[str]) -> None:
    counts = line_counts("".join(f"{line}\n" for line in old).encode(), "".join(f"{line}\n" for line in new).encode())
    assert counts is not None
    added, removed = counts
    assert len(old) - removed + added == len(new)
    assert (counts == (0, 0)) == (old == new)


def test_binary_contents_have_no_lines() -> None:
    assert line_counts(b"a\0b", b"c") is None
