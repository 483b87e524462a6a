"""Addresses that cannot be listened on, each with its own error (issue 2, "Bad input")."""

import os
import socket
from pathlib import Path

import pytest

from innkeeper.edge.sockets import LONGEST_PATH, open_tcp, open_unix
from innkeeper.edge.websocket import Listener, ListenOptions
from innkeeper.errors import HostError

LOCAL = "127.0.0.1"


def refused(call: object, *arguments: object) -> HostError:
    with pytest.raises(HostError) as caught:
        call(*arguments)  # type: ignore[operator]
    return caught.value


def test_a_port_in_use_names_the_port_and_the_remedy() -> None:
    with open_tcp(LOCAL, 0) as listener:
        port = listener.getsockname()[1]
        error = refused(open_tcp, LOCAL, port)
        assert error.code == "PORT_IN_USE"
        assert str(port) in error.message()
        assert "--port" in error.remedy()
        assert str(port) in error.message("zh_Hans")


def test_a_port_is_free_again_at_once() -> None:
    with open_tcp(LOCAL, 0) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection((LOCAL, port)):
            listener.setblocking(True)
            listener.accept()[0].close()
    with open_tcp(LOCAL, port) as again:
        assert again.getsockname()[1] == port


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid", "a" * 300])
def test_an_address_of_another_machine_is_said(host: str) -> None:
    error = refused(open_tcp, host, 0)
    assert error.code == "ADDRESS_UNAVAILABLE"
    assert host in error.message()


def test_a_socket_on_which_somebody_answers_is_left_alone(short_tmp: Path) -> None:
    path = short_tmp / "h.sock"
    with open_unix(path):
        assert refused(open_unix, path).code == "SOCKET_IN_USE"
        assert path.exists()


def test_a_socket_that_a_dead_process_left_is_replaced(short_tmp: Path) -> None:
    path = short_tmp / "h.sock"
    open_unix(path).close()
    assert path.exists()
    with open_unix(path), socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_what_is_no_socket_is_never_removed(short_tmp: Path, kind: str) -> None:
    path = short_tmp / "h.sock"
    if kind == "file":
        path.write_text("precious")
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(short_tmp / "elsewhere")
    assert refused(open_unix, path).code == "SOCKET_PATH_TAKEN"
    assert os.path.lexists(path)


def test_a_path_that_the_system_cannot_bind_is_said_before_it_is_tried(tmp_path: Path) -> None:
    error = refused(open_unix, tmp_path / ("x" * LONGEST_PATH))
    assert error.code == "SOCKET_PATH_TOO_LONG"
    assert str(LONGEST_PATH) in error.message()


def test_a_folder_that_cannot_be_made_is_said(short_tmp: Path) -> None:
    (short_tmp / "f").write_text("")
    assert refused(open_unix, short_tmp / "f" / "h.sock").code == "DATA_DIR_UNWRITABLE"


@pytest.mark.anyio
async def test_a_listener_that_cannot_have_all_its_sockets_keeps_none(short_tmp: Path) -> None:
    (short_tmp / "h.sock").write_text("precious")
    listener = Listener(lambda peer: pytest.fail("nobody connects"), ListenOptions(socket=short_tmp / "h.sock"))
    with pytest.raises(HostError):
        await listener.start()
    port = listener.port
    assert port is not None
    with open_tcp(LOCAL, port):
        pass
    await listener.stop()
