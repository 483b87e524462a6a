"""Snapshots in files (ports.attachments)."""

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.ports.attachments import AttachmentFault
from innkeeper.workspace.attachment_files import NAME_BYTES, PARTIAL, AttachmentFiles, plain_name

SESSION = "ahp-session:/sé/../x"


@pytest.fixture
def store(tmp_path: Path) -> AttachmentFiles:
    return AttachmentFiles(tmp_path / "attachments")


def test_what_is_kept_is_found_until_its_session_goes(store: AttachmentFiles) -> None:
    path = store.keep(SESSION, "one", "plan.md", b"words")
    assert store.find(SESSION, "one") == path and Path(path).read_bytes() == b"words"
    assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600
    assert store.find(SESSION, "two") is None and store.find("other", "one") is None
    assert store.stored() == [store.folder(SESSION)]
    store.drop(store.folder(SESSION))
    assert store.stored() == () or store.stored() == []
    assert not Path(path).exists()


def test_what_a_sudden_end_left_is_not_found(store: AttachmentFiles) -> None:
    path = Path(store.keep(SESSION, "one", "a", b"x"))
    path.rename(path.with_name(f"{PARTIAL}-1"))
    assert store.find(SESSION, "one") is None
    assert store.keep(SESSION, "one", "a", b"y") == str(path) == store.find(SESSION, "one")


def test_only_folders_of_sessions_are_dropped(store: AttachmentFiles, tmp_path: Path) -> None:
    store.keep(SESSION, "one", "a", b"x")
    (tmp_path / "attachments" / "mine").mkdir()
    for name in ("mine", "..", "", "../attachments"):
        store.drop(name)
    assert (tmp_path / "attachments" / "mine").is_dir() and store.find(SESSION, "one")
    assert store.stored() == [store.folder(SESSION)]


def test_a_place_that_cannot_be_written_is_told_without_its_path(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(AttachmentFault) as caught:
        AttachmentFiles(tmp_path / "file").keep(SESSION, "one", "a", b"x")
    assert str(tmp_path) not in str(caught.value)


@given(st.text(max_size=400))
def test_any_name_is_one_file_name(name: str) -> None:
    tidy = plain_name(name)
    assert tidy and not tidy.startswith(".") and not set(tidy) & set("/\\\0:\n")
    assert len(tidy.encode()) <= NAME_BYTES and plain_name(tidy) == tidy


def test_a_long_name_keeps_its_suffix() -> None:
    assert plain_name("x" * 500 + ".png").endswith("x.png") and plain_name("../../etc/passwd") == "_.._etc_passwd"
