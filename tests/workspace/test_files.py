"""The port `files`: one contract for the adapter of this machine and the twin in memory (C7.1, C7.3)."""

import errno
import os
import posixpath
from collections.abc import Callable
from pathlib import Path

import pytest

from customizations.discovery.memory import Link, MemoryFiles, Node, Pipe
from innkeeper.ports.files import Entry, FileFault, Files
from innkeeper.workspace.files import LocalFiles

Build = Callable[[dict[str, Node | str]], tuple[Files, str]]


def build_local(root: Path, tree: dict[str, Node | str]) -> tuple[Files, str]:
    for name, node in tree.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        match node:
            case None:
                path.mkdir()
            case Link(target):
                path.symlink_to(target)
            case Pipe():
                os.mkfifo(path)
            case str():
                path.write_text(node, "utf-8")
            case bytes():
                path.write_bytes(node)
    return LocalFiles(), str(root)


def build_memory(tree: dict[str, Node | str]) -> tuple[Files, str]:
    files = MemoryFiles({"/root": None})
    for name, node in tree.items():
        files.put(posixpath.join("/root", name), node)
    return files, "/root"


@pytest.fixture(params=["local", "memory"])
def build(request: pytest.FixtureRequest, tmp_path: Path) -> Build:
    if request.param == "local":
        return lambda tree: build_local(tmp_path.resolve(), tree)
    return build_memory


def reason(call: Callable[[], object]) -> str:
    with pytest.raises(FileFault) as caught:
        call()
    return caught.value.reason


def test_entries_are_sorted_and_links_are_not_looked_behind(build: Build) -> None:
    files, root = build({"b": "", "a": None, "c": Link("a"), "d": Pipe(), "e": Link("nowhere")})

    assert list(files.entries(root, 10)) == [
        Entry("a", "directory"),
        Entry("b", "file"),
        Entry("c", None),
        Entry("d", "other"),
        Entry("e", None),
    ]


def test_a_file_is_read_up_to_the_limit_and_not_beyond(build: Build) -> None:
    files, root = build({"a": "12345"})

    assert files.read(f"{root}/a", 5) == b"12345"
    assert reason(lambda: files.read(f"{root}/a", 4)) == "tooLarge"


def test_too_many_names_in_a_directory_are_a_fault(build: Build) -> None:
    files, root = build({"a": "", "b": ""})

    assert len(files.entries(root, 2)) == 2
    assert reason(lambda: files.entries(root, 1)) == "tooLarge"


def test_stat_follows_links_and_tells_kinds(build: Build) -> None:
    files, root = build({"a": "", "d": None, "p": Pipe(), "la": Link("a"), "ld": Link("d")})

    kinds = [files.stat(f"{root}/{name}").kind for name in ("a", "d", "p", "la", "ld")]
    assert kinds == ["file", "directory", "other", "file", "directory"]
    assert files.stat(f"{root}/la").stamp == files.stat(f"{root}/a").stamp


def test_every_fault_has_its_reason(build: Build) -> None:
    files, root = build({"a": "", "d": None, "p": Pipe(), "x": Link("y"), "y": Link("x"), "z": Link("gone")})

    assert reason(lambda: files.stat(f"{root}/gone")) == "missing"
    assert reason(lambda: files.stat(f"{root}/z")) == "missing"
    assert reason(lambda: files.real(f"{root}/z")) == "missing"
    assert reason(lambda: files.stat(f"{root}/x")) == "loop"
    assert reason(lambda: files.real(f"{root}/x")) == "loop"
    assert reason(lambda: files.stat(f"{root}/a/b")) == "notADirectory"
    assert reason(lambda: files.entries(f"{root}/a", 9)) == "notADirectory"
    assert reason(lambda: files.read(f"{root}/d", 9)) == "notAFile"
    assert reason(lambda: files.read(f"{root}/p", 9)) == "notAFile"
    assert reason(lambda: files.read(f"{root}/x", 9)) == "loop"


def test_the_real_path_has_neither_links_nor_dots(build: Build) -> None:
    files, root = build({"d/a": "", "l": Link("d"), "up/m": Link("../d")})

    assert files.real(f"{root}/l/../l/a") == f"{root}/d/a"
    assert files.real(f"{root}/up/m/a") == f"{root}/d/a"


def test_a_directory_that_is_missing_is_writable_when_the_one_above_it_is(build: Build) -> None:
    files, root = build({"d": None, "a": "", "z": Link("gone")})

    assert files.writable(f"{root}/d")
    assert files.writable(f"{root}/d/x/y")
    assert not files.writable(f"{root}/a/x")


def test_the_text_of_a_fault_names_no_path(build: Build) -> None:
    files, root = build({})

    with pytest.raises(FileFault) as caught:
        files.stat(f"{root}/secret")
    assert "secret" not in str(caught.value)


def test_a_changed_file_has_another_stamp(tmp_path: Path) -> None:
    path, files = tmp_path / "a", LocalFiles()
    path.write_text("one", "utf-8")
    first = files.stat(str(path))
    path.write_text("two", "utf-8")
    os.utime(path, ns=(1, 1))
    second = files.stat(str(path))
    os.utime(path, ns=(1, 1))
    path.chmod(0o600)

    assert first.stamp != second.stamp
    assert files.stat(str(path)).stamp != second.stamp, "rights that changed count"


def test_a_file_written_now_is_fresh_and_an_old_one_is_not(tmp_path: Path) -> None:
    """Between two ticks of the file system's clock a change leaves no trace in the stamp."""
    path, files = tmp_path / "a", LocalFiles()
    path.write_text("one", "utf-8")

    assert files.stat(str(path)).fresh
    os.utime(path, (2**33, 2**33))
    assert files.stat(str(path)).stamp[0] == 2**33 * 10**9
    assert not files.stat("/").fresh


def test_a_file_replaced_by_another_of_the_same_size_and_time_is_a_changed_file(tmp_path: Path) -> None:
    path, other, files = tmp_path / "a", tmp_path / "b", LocalFiles()
    for each in (path, other):
        each.write_text("same", "utf-8")
        os.utime(each, ns=(5, 5))
    before = files.stat(str(path)).stamp
    other.replace(path)

    assert files.stat(str(path)).stamp != before


def test_what_may_not_be_read_is_denied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's answer is feigned, because the superuser may read everything."""

    def refuse(*_: object) -> int:
        raise PermissionError(errno.EACCES, "no", str(tmp_path))

    monkeypatch.setattr(os, "open", refuse)

    assert reason(lambda: LocalFiles().read(str(tmp_path / "a"), 9)) == "denied"


@pytest.mark.parametrize("path", ["/a\0b", "relative\0"])
def test_a_path_that_no_system_has_is_a_fault_and_not_an_error(path: str) -> None:
    assert reason(lambda: LocalFiles().stat(path)) == "failed"
    assert reason(lambda: LocalFiles().read(path, 9)) == "failed"
    assert reason(lambda: LocalFiles().real(path)) == "failed"
    assert reason(lambda: LocalFiles().entries(path, 9)) == "failed"


def test_a_name_that_is_not_utf_8_can_be_used(tmp_path: Path) -> None:
    os.close(os.open(os.fsencode(tmp_path) + b"/a\xff", os.O_CREAT | os.O_WRONLY, 0o600))
    files = LocalFiles()
    name = files.entries(str(tmp_path), 9)[0].name

    assert name == "a\udcff"
    assert files.read(f"{tmp_path}/{name}", 9) == b""
