"""Where the access token comes from (issue 2, section 5)."""

import os
import stat
from pathlib import Path

import pytest

from innkeeper.edge.token import resolve_token
from innkeeper.errors import HostError

LOCAL = "127.0.0.1"


def test_a_random_token_is_the_default_and_new_each_time() -> None:
    tokens = {resolve_token(host=LOCAL) for _ in range(20)}
    assert len(tokens) == 20
    assert all(token is not None and len(token) >= 43 for token in tokens)


def test_a_given_token_is_used_as_it_is() -> None:
    assert resolve_token(token="mine", host=LOCAL) == "mine"


@pytest.mark.parametrize("token", ["", " ", "a b", "a\n", "tök", "x" * 5000])
def test_a_token_that_no_client_can_send_is_refused_without_repeating_it(token: str) -> None:
    with pytest.raises(HostError) as caught:
        resolve_token(token=token, host=LOCAL)
    assert caught.value.code == "TOKEN_INVALID"
    assert token.strip() == "" or token not in str(caught.value)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.com", ""])
def test_no_token_is_refused_where_others_can_connect(host: str) -> None:
    with pytest.raises(HostError) as caught:
        resolve_token(no_token=True, host=host)
    assert caught.value.code == "TOKEN_REQUIRED"
    assert host in str(caught.value)
    assert resolve_token(no_token=True, host=host, force=True) is None


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_no_token_is_possible_on_this_machine(host: str) -> None:
    assert resolve_token(no_token=True, host=host) is None


def test_a_missing_token_file_is_created_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "token"
    previous = os.umask(0)
    try:
        first = resolve_token(token_file=path, host=LOCAL)
    finally:
        os.umask(previous)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert first == resolve_token(token_file=path, host=LOCAL)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o601])
def test_a_token_file_that_others_can_use_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "token"
    path.write_text("known-to-others\n")
    path.chmod(mode)
    with pytest.raises(HostError) as caught:
        resolve_token(token_file=path, host=LOCAL)
    assert caught.value.code == "TOKEN_FILE_EXPOSED"
    assert f"{mode:04o}" in str(caught.value)
    assert "known-to-others" not in str(caught.value)


def test_an_empty_token_file_and_a_missing_folder_are_said(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.touch(0o600)
    for wrong in (path, tmp_path / "no" / "folder", tmp_path):
        with pytest.raises(HostError) as caught:
            resolve_token(token_file=wrong, host=LOCAL)
        assert caught.value.code in ("TOKEN_FILE_UNREADABLE", "TOKEN_FILE_EXPOSED")
        assert str(wrong) in str(caught.value)
