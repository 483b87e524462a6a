"""Where everything lives (architecture §7; issue 2, "Bad input")."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from innkeeper.errors import HostError
from innkeeper.settings.paths import Paths, create_private, find_paths

NOBODY = 65534


@contextmanager
def another_user() -> Iterator[None]:
    """Root may write everywhere, so the part that needs permissions to bite runs under another uid."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_one_home_holds_all_in_subfolders(tmp_path: Path) -> None:
    paths = find_paths({"INNKEEPER_HOME": str(tmp_path)})
    assert paths == Paths(*(tmp_path / name for name in ("config", "data", "state", "logs", "run")))
    assert paths.config_file == tmp_path / "config" / "config.toml"


def test_without_a_home_the_platform_s_directories_are_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("CONFIG", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.setenv("HOME", str(tmp_path))
    paths = find_paths({})
    assert all("innkeeper" in str(folder) for folder in (paths.config, paths.data, paths.state, paths.logs))
    assert all(str(folder).startswith(str(tmp_path)) for folder in (paths.config, paths.data, paths.state, paths.logs))


def test_a_data_directory_moves_what_belongs_to_one_host_but_not_the_configuration(tmp_path: Path) -> None:
    environ = {"INNKEEPER_HOME": str(tmp_path / "home"), "INNKEEPER_DATA_DIR": str(tmp_path / "env")}
    assert find_paths(environ).data == tmp_path / "env"
    paths = find_paths(environ, tmp_path / "flag")
    assert paths.config == tmp_path / "home" / "config"
    assert (paths.data, paths.state) == (tmp_path / "flag", tmp_path / "flag" / "state")
    assert paths.logs == tmp_path / "flag" / "logs"


def test_relative_places_are_made_absolute_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_paths({"INNKEEPER_HOME": "h"}).data == tmp_path / "h" / "data"
    assert find_paths({}, Path("d")).data == tmp_path / "d"


def test_folders_are_private(tmp_path: Path) -> None:
    previous = os.umask(0)
    try:
        find_paths({}, tmp_path / "d").prepare()
    finally:
        os.umask(previous)
    for folder in ("d", "d/state", "d/logs"):
        assert stat.S_IMODE((tmp_path / folder).stat().st_mode) == 0o700


@pytest.mark.parametrize("kind", ["unwritable", "unwritable parent", "file", "below a file"])
def test_a_folder_that_cannot_be_written_is_told_with_a_remedy(tmp_path: Path, kind: str) -> None:
    tmp_path.chmod(0o755)
    folder = tmp_path / "d"
    if kind == "unwritable":
        folder.mkdir(0o555)
    elif kind == "unwritable parent":
        tmp_path.chmod(0o555)
    else:
        folder.write_text("")
        folder = folder / "x" if kind == "below a file" else folder
    with another_user(), pytest.raises(HostError) as caught:
        create_private(folder)
    tmp_path.chmod(0o755)
    assert caught.value.code == "DATA_DIR_UNWRITABLE"
    assert str(folder) in caught.value.message()
    assert "--data-dir" in caught.value.remedy()
