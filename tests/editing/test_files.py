"""Versioned, atomic, careful: the writer of files that a person owns (M8.4, M8.5)."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from innkeeper.editing import files, replacing
from innkeeper.editing.engine import version_of
from innkeeper.editing.files import change_file, read_content
from innkeeper.editing.refusals import EditConflict, EditUnwritable
from innkeeper.editing.replacing import Content

NOBODY = 65534


def as_another_user(code: str, *arguments: str) -> str:
    """What a program prints that has given up the rights of the superuser."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=20, check=True
    )
    return done.stdout.strip()


def test_a_missing_file_is_made_private_with_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "new" / "config.toml"
    assert read_content(path) == Content(None)
    written = change_file(path, lambda known: b"a = 1\n", expected="none")
    assert written == read_content(path) == Content(b"a = 1\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_another_version_than_the_expected_one_is_refused_with_the_current_token(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"now")
    with pytest.raises(EditConflict) as refused:
        change_file(path, lambda known: b"mine", expected=version_of(b"before"))
    assert refused.value.current == version_of(b"now") == read_content(path).version
    assert path.read_bytes() == b"now"


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o640, 0o660])
def test_mode_and_owner_stay(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")
    path.chmod(mode)
    if os.getuid() == 0:
        os.chown(path, NOBODY, NOBODY)
    before = path.stat()
    change_file(path, lambda known: (known.data or b"") + b"+")
    after = path.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert path.read_bytes() == b"old+"


class Attributes:
    """Extended attributes of files, by inode: not every file system of a test has them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, refused: str = "") -> None:
        self.kept: dict[int, dict[str, bytes]] = {}
        self.refused = refused
        monkeypatch.setattr(os, "listxattr", lambda file: list(self.of(file)), raising=False)
        monkeypatch.setattr(os, "getxattr", lambda file, name: self.of(file)[name], raising=False)
        monkeypatch.setattr(os, "setxattr", self.set, raising=False)

    def of(self, file: "int | Path") -> dict[str, bytes]:
        return self.kept.setdefault(os.stat(file).st_ino, {})

    def set(self, file: "int | Path", name: str, value: bytes) -> None:
        if name == self.refused:
            raise PermissionError(1, "Operation not permitted")
        self.of(file)[name] = value


@pytest.mark.parametrize("refused", ["", "security.label", replacing.ACCESS_LIST])
def test_an_access_list_stays_or_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    """M8.5: the mode of a file with such a list is its mask; alone it would let in who was kept out."""
    path = tmp_path / "f"
    path.write_bytes(b"old")
    attributes = Attributes(monkeypatch, refused)
    attributes.kept[path.stat().st_ino] = {"security.label": b"l", "user.note": b"n", replacing.ACCESS_LIST: b"a"}
    if refused == replacing.ACCESS_LIST:
        with pytest.raises(EditUnwritable):
            change_file(path, lambda known: b"new")
        assert ([entry.name for entry in tmp_path.iterdir()], path.read_bytes()) == (["f"], b"old")
        return
    change_file(path, lambda known: b"new")
    wanted = {"security.label": b"l", "user.note": b"n", replacing.ACCESS_LIST: b"a"}
    assert attributes.of(path) == {name: value for name, value in wanted.items() if name != refused}


def test_a_link_stays_a_link_and_its_target_is_written(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    target = tmp_path / "dotfiles" / "innkeeper.toml"
    target.write_bytes(b"old")
    link = tmp_path / "config.toml"
    link.symlink_to(target)
    change_file(link, lambda known: b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_what_the_change_raises_leaves_everything_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")

    def refuse(known: Content) -> bytes:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        change_file(path, refuse)
    assert [entry.name for entry in tmp_path.iterdir()] == ["f"]
    assert path.read_bytes() == b"old"


def test_a_write_that_fails_half_way_leaves_the_old_content_and_no_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(EditUnwritable) as refused:
        change_file(path, lambda known: b"new")
    assert "No space left" in refused.value.message()
    assert [entry.name for entry in tmp_path.iterdir()] == ["f"]
    assert path.read_bytes() == b"old"


def test_an_unchanged_content_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"same")
    before = path.stat()
    change_file(path, lambda known: b"same")
    assert path.stat().st_ino == before.st_ino


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_what_is_no_regular_file_is_refused(tmp_path: Path, make: object) -> None:
    path = tmp_path / "f"
    if make is os.mkdir:
        path.mkdir()
    else:
        (tmp_path / "pipe").symlink_to("/dev/null")
        path = tmp_path / "pipe"
    with pytest.raises(EditUnwritable):
        change_file(path, lambda known: b"new")


TRY = """
import os, sys
from pathlib import Path
from innkeeper.editing.files import change_file
from innkeeper.errors import HostError
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    change_file(Path(sys.argv[1]), lambda known: b"taken over")
    print("written")
except HostError as error:
    print(error.code)
"""


@pytest.mark.parametrize("case", ["read-only file", "unreadable file", "foreign owner", "foreign folder"])
def test_another_user_may_not_replace_what_is_not_theirs(tmp_path: Path, case: str) -> None:
    """M8.5: mode and owner are kept, so who cannot keep them cannot write."""
    folder = tmp_path / "open"
    folder.mkdir()
    path = folder / "config.toml"
    path.write_bytes(b"old")
    for parent in (tmp_path, *tmp_path.parents):
        if os.getuid() == 0 and str(parent).startswith("/tmp/"):
            parent.chmod(parent.stat().st_mode | 0o055)
    folder.chmod(0o755 if case == "foreign folder" else 0o777)
    path.chmod({"read-only file": 0o444, "unreadable file": 0o000, "foreign owner": 0o666}.get(case, 0o644))
    if os.getuid() != 0 and case in ("foreign owner", "foreign folder"):
        folder.chmod(0o555)
    assert as_another_user(TRY, str(path)) == "EDIT_UNWRITABLE"
    folder.chmod(0o755)
    path.chmod(0o644)
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in folder.iterdir()] == ["config.toml"]


def test_of_many_writers_with_one_token_one_wins(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"0")
    token = read_content(path).version
    outcomes: list[str] = []

    def write(number: int) -> None:
        try:
            change_file(path, lambda known: str(number).encode(), expected=token)
            outcomes.append("written")
        except EditConflict as refused:
            outcomes.append(refused.current)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert outcomes.count("written") == 1
    assert set(outcomes) - {"written"} == {read_content(path).version}


def test_writers_of_several_processes_lose_no_change(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"")
    code = (
        "import sys; from pathlib import Path; from innkeeper.editing.files import change_file\n"
        "for _ in range(40): change_file(Path(sys.argv[1]), lambda known: (known.data or b'') + b'x')"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(path)]) for _ in range(3)]
    assert [process.wait(20) for process in running] == [0, 0, 0]
    assert path.read_bytes() == b"x" * 120
