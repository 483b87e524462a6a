"""The edit store: one contract for the files and the memory twin, and sudden death (ports.edits; issue 5.4)."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from innkeeper.ports.edits import EditsFault, EditStore, MemoryEdits
from innkeeper.workspace.edit_files import CONTENTS, RECORDS, EditFiles, session_folder

SESSION = "ahp-session:/ü 1"


@pytest.fixture(params=["files", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> EditStore:
    return EditFiles(tmp_path / "sessions") if request.param == "files" else MemoryEdits()


def kinds(store: EditStore, session: str = SESSION) -> list[object]:
    return [record["kind"] for record in store.read(session)]


def test_records_come_back_in_order_and_by_session(store: EditStore) -> None:
    assert store.read(SESSION) == ()
    store.append(SESSION, [{"kind": "a"}, {"kind": "b", "uri": "file:///%FF"}])
    store.append("other", [{"kind": "x"}])
    store.append(SESSION, [{"kind": "c"}])
    assert kinds(store) == ["a", "b", "c"]
    assert sorted(store.sessions()) == [SESSION, "other"]


def test_contents_are_kept_once_and_read_by_name(store: EditStore) -> None:
    digest = store.keep(SESSION, b"\0bytes")
    assert store.keep(SESSION, b"\0bytes") == digest
    assert store.content(SESSION, digest) == b"\0bytes"
    assert store.content("other", digest) is None, "a session reads its own"
    assert store.content(SESSION, "../../etc/passwd") is None


def test_what_was_dropped_is_gone(store: EditStore) -> None:
    digest = store.keep(SESSION, b"x")
    store.append(SESSION, [{"kind": "a"}])
    store.drop(SESSION)
    store.drop(SESSION)
    assert store.read(SESSION) == ()
    assert store.content(SESSION, digest) is None
    assert SESSION not in store.sessions()


def test_only_the_owner_reads_the_files(tmp_path: Path) -> None:
    store = EditFiles(tmp_path / "sessions")
    digest = store.keep(SESSION, b"x")
    store.append(SESSION, [{"kind": "a"}])
    folder = session_folder(tmp_path / "sessions", SESSION)
    modes = {path.stat().st_mode & 0o777 for path in (folder / RECORDS, folder / CONTENTS / digest)}
    assert modes == {0o600}
    assert {path.stat().st_mode & 0o777 for path in (folder.parent, folder, folder / CONTENTS)} == {0o700}


def test_other_blobs_of_the_session_stay_when_its_edits_go(tmp_path: Path) -> None:
    store = EditFiles(tmp_path / "sessions")
    store.append(SESSION, [{"kind": "a"}])
    other = session_folder(tmp_path / "sessions", SESSION) / "attachments"
    other.mkdir()
    store.drop(SESSION)
    assert other.is_dir()


def test_a_line_that_was_cut_is_passed_over_and_the_next_one_stands_alone(tmp_path: Path) -> None:
    store = EditFiles(tmp_path / "sessions")
    store.append(SESSION, [{"kind": "a"}])
    with (session_folder(tmp_path / "sessions", SESSION) / RECORDS).open("ab") as file:
        file.write(b'{"session":"s","kin')
    store.append(SESSION, [{"kind": "b"}])
    assert kinds(store) == ["a", "b"]


def test_a_place_that_cannot_be_written_is_a_fault_without_a_path(tmp_path: Path) -> None:
    (tmp_path / "sessions").write_text("no folder")
    store = EditFiles(tmp_path / "sessions")
    for attempt in (lambda: store.append(SESSION, [{"kind": "a"}]), lambda: store.keep(SESSION, b"x")):
        with pytest.raises(EditsFault) as fault:
            attempt()
        assert str(tmp_path) not in str(fault.value)


WRITER = """
import sys
from pathlib import Path
from innkeeper.workspace.edit_files import EditFiles
store = EditFiles(Path(sys.argv[1]))
for number in range(1_000_000):
    digest = store.keep("s", b"content %d" % number * 100)
    store.append("s", [{"kind": "edit", "number": number, "digest": digest}])
    print(number, flush=True)
"""


def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path / "sessions")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        acknowledged = -1
        while acknowledged < 200:
            acknowledged = int(writer.stdout.readline())
        os.kill(writer.pid, signal.SIGKILL)
        rest = writer.stdout.read().split()
    acknowledged = int(rest[-1]) if rest else acknowledged
    store = EditFiles(tmp_path / "sessions")
    records = store.read("s")
    assert [record["number"] for record in records[: acknowledged + 1]] == list(range(acknowledged + 1))
    for record in records:
        assert store.content("s", record["digest"]) == b"content %d" % record["number"] * 100
