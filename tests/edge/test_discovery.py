"""The endpoint file: private, whole, and true (issue 2, section 5)."""

import os
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from innkeeper.edge.discovery import (
    FILE_NAME,
    Endpoint,
    find_running,
    process_started,
    remove_endpoint,
    write_endpoint,
)
from innkeeper.errors import HostError


@pytest.fixture
def endpoint(tmp_path: Path) -> Endpoint:
    return Endpoint(
        pid=os.getpid(),
        process_started=process_started(),
        url="ws://127.0.0.1:4665/",
        port=4665,
        socket=None,
        token="s3cret-token",
        version="0.1.0",
        data_dir=str(tmp_path / "data"),
        started_at="2026-01-01T00:00:00.000Z",
    )


def test_a_running_host_is_found_with_all_it_published(tmp_path: Path, endpoint: Endpoint) -> None:
    write_endpoint(tmp_path / "state", endpoint)
    assert find_running(tmp_path / "state") == endpoint
    assert endpoint.target == "ws://127.0.0.1:4665/"
    assert replace(endpoint, socket="/run/x.sock").target == "unix:/run/x.sock"


def test_the_file_is_readable_by_its_owner_alone_and_nothing_is_left_beside_it(
    tmp_path: Path, endpoint: Endpoint
) -> None:
    previous = os.umask(0)
    try:
        path = write_endpoint(tmp_path / "state", endpoint)
    finally:
        os.umask(previous)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    write_endpoint(tmp_path / "state", replace(endpoint, port=1))
    assert os.listdir(tmp_path / "state") == [FILE_NAME]
    assert "s3cret" not in repr(endpoint)


def test_what_a_dead_host_left_is_ignored_and_removed(tmp_path: Path, endpoint: Endpoint) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait(10)
    path = write_endpoint(tmp_path, replace(endpoint, pid=dead.pid))
    assert find_running(tmp_path) is None
    assert not path.exists()


def test_another_process_with_the_same_number_is_not_the_host(tmp_path: Path, endpoint: Endpoint) -> None:
    path = write_endpoint(tmp_path, replace(endpoint, process_started=endpoint.process_started - 100))
    assert find_running(tmp_path) is None
    assert not path.exists()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"pid":"1"}', b"\xff\xfe"])
def test_a_broken_file_is_removed(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE_NAME).write_bytes(content)
    assert find_running(tmp_path) is None
    assert not (tmp_path / FILE_NAME).exists()


def test_no_file_means_no_host(tmp_path: Path) -> None:
    assert find_running(tmp_path / "nowhere") is None


def test_only_the_own_file_is_taken_back(tmp_path: Path, endpoint: Endpoint) -> None:
    path = write_endpoint(tmp_path, replace(endpoint, pid=os.getppid()))
    remove_endpoint(tmp_path)
    assert path.exists()
    write_endpoint(tmp_path, endpoint)
    remove_endpoint(tmp_path)
    assert not path.exists()
    remove_endpoint(tmp_path)


def test_a_state_folder_that_cannot_be_made_is_said(tmp_path: Path, endpoint: Endpoint) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HostError) as caught:
        write_endpoint(tmp_path / "file" / "state", endpoint)
    assert caught.value.code == "DATA_DIR_UNWRITABLE"
