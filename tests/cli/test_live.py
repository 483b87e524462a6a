"""The command line against a real host in a process of its own."""

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from innkeeper._version import running_version
from innkeeper.cli import exit_codes

READY = "READY:"


def sessions(home: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = home.run("sessions", "list", "--json").json()["sessions"]
    return found


def test_status_shows_the_running_version_beside_the_installed_one(live: Any) -> None:
    done = live.run("status", "--json")
    told = done.json()
    assert (done.code, told["version"], told["running"]) == (exit_codes.OK, 1, True)
    assert told["runningVersion"] == running_version()
    assert {"installedVersion", "protocolVersion", "url", "pid", "dataDir", "uptimeSeconds"} <= told.keys()
    assert told["agents"] == ["console"]
    assert running_version() in live.run("status").out


def test_one_message_prints_the_answer_alone_and_a_second_one_goes_to_the_same_session(live: Any) -> None:
    first = live.run("chat", "-m", "hello there")
    assert (first.code, first.out) == (exit_codes.OK, "hello there\n")
    before = len(sessions(live))
    again = live.run("chat", "-m", "again", "--json")
    told = again.json()
    assert (again.code, told["turn"]["state"], told["version"]) == (exit_codes.OK, "complete", 1)
    assert len(sessions(live)) == before
    assert live.run("chat", "--new", "-m", "fresh").code == exit_codes.OK
    assert len(sessions(live)) == before + 1


def test_without_a_terminal_each_line_is_a_message(live: Any) -> None:
    done = live.run("chat", given="one\n\ntwo")
    assert (done.code, done.out, done.err) == (exit_codes.OK, "one\ntwo\n", "")


def test_a_question_without_a_terminal_waits_for_another_client(live: Any) -> None:
    """docs/guide/chat.md: without a terminal nothing can be asked; here Ctrl-C ends the wait."""
    assert live.run("mcp", "connect", "example").code == exit_codes.OK
    process = live.start("chat", "-m", '/call example echo {"text": "x"}')
    line = process.stderr.readline()
    assert line
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=20)
    assert process.returncode == exit_codes.INTERRUPTED
    assert "x" not in out


def test_servers_are_listed_connected_called_and_disconnected(live: Any) -> None:
    """M6.9: a call by hand counts as the person's Allow once."""
    listed = live.run("mcp", "list", "--json").json()["servers"]
    assert [row["name"] for row in listed] == ["example", "broken"]
    connected = live.run("mcp", "connect", "example", "--json")
    assert connected.code == exit_codes.OK
    assert connected.json()["servers"][0]["status"] == "connected"
    called = live.run("mcp", "call", "example", "echo", '{"text": "hi"}')
    assert (called.code, called.out) == (exit_codes.OK, "hi\n")
    document = live.run("mcp", "call", "example", "add", '{"a": 1, "b": 2}', "--json").json()
    assert (document["version"], document["result"]["success"]) == (1, True)
    assert live.run("mcp", "disconnect", "example").code == exit_codes.OK
    gone = live.run("mcp", "call", "example", "echo", '{"text": "hi"}')
    assert gone.code != exit_codes.OK
    assert gone.err


def test_a_server_that_cannot_start_is_told_with_its_code_and_remedy(live: Any) -> None:
    done = live.run("mcp", "connect", "broken")
    assert done.code == exit_codes.FAILED
    assert "SPAWN_FAILED" in done.out
    assert "broken:" in done.err


@pytest.mark.parametrize(
    ("words", "exit_code", "code"),
    [
        (["mcp", "connect", "nobody"], exit_codes.FAILED, "SERVER_UNKNOWN"),
        (["mcp", "call", "example", "echo", "[]"], exit_codes.USAGE, "USAGE"),
        (["mcp", "call", "example", "echo", "{"], exit_codes.USAGE, "USAGE"),
        (["sessions", "show", "nobody"], exit_codes.FAILED, "SESSION_UNKNOWN"),
        (["sessions", "rm", "nobody", "--yes"], exit_codes.FAILED, "SESSION_UNKNOWN"),
        (["sessions", "rm", "nobody"], exit_codes.USAGE, "USAGE"),
        (["chat", "-m", "x", "-s", "nobody"], exit_codes.FAILED, "SESSION_UNKNOWN"),
        (["chat", "-m", "x", "-s", "a", "--new"], exit_codes.USAGE, "USAGE"),
        (["chat", "-m", "x", "--new", "--agent", "nobody"], exit_codes.FAILED, None),
    ],
)
def test_what_cannot_be_done_has_its_own_message_and_code(
    live: Any, words: list[str], exit_code: int, code: str | None
) -> None:
    done = live.run(*words, "--json")
    told = done.json()
    assert (done.code, told["version"]) == (exit_code, 1)
    assert told["error"]["message"]
    assert code is None or told["error"]["code"] == code


def test_a_session_is_shown_with_its_conversation_and_removed(live: Any) -> None:
    live.run("chat", "--new", "-m", "remember me")
    uri = sessions(live)[0]["resource"]
    shown = live.run("sessions", "show", uri)
    assert "> remember me\nremember me" in shown.out
    document = live.run("sessions", "show", uri, "--json").json()
    assert (document["session"]["resource"], len(document["chats"])) == (uri, 1)
    removed = live.run("sessions", "rm", uri, "--yes", "--json")
    assert removed.json()["removed"] == [uri]
    assert uri not in [session["resource"] for session in sessions(live)]


def test_a_list_for_a_pipe_is_tab_separated(live: Any) -> None:
    live.run("chat", "-m", "x")
    lines = live.run("sessions", "list", "--limit", "1").out.splitlines()
    assert [line.count("\t") for line in lines] == [5, 5]


def test_a_wrong_token_and_an_absent_host_are_told_apart(live: Any) -> None:
    url = live.run("status", "--json").json()["url"]
    wrong = live.run("status", "--json", "--url", url, "--token", "hunter2")
    assert (wrong.code, wrong.json()["error"]["code"]) == (exit_codes.REFUSED, "TOKEN_WRONG")
    assert "hunter2" not in wrong.out
    refused = live.run("status", "--json", "--url", "ws://127.0.0.1:1")
    assert (refused.code, refused.json()["error"]["code"]) == (exit_codes.NO_HOST, "HOST_UNREACHABLE")


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "nonsense", "ws://", "unix:"])
def test_an_address_that_is_none_is_wrong_usage(quiet: Any, url: str) -> None:
    done = quiet.run("status", "--json", "--url", url)
    assert (done.code, done.json()["error"]["code"]) == (exit_codes.USAGE, "TARGET_INVALID")


@pytest.mark.parametrize(
    "words",
    [["sessions", "list"], ["mcp", "list"], ["chat", "-m", "x"], ["sessions", "show", "x"]],
    ids=lambda words: " ".join(words),
)
def test_without_a_host_every_command_says_so(quiet: Any, words: list[str]) -> None:
    done = quiet.run(*words, "--json")
    assert (done.code, done.json()["error"]["code"]) == (exit_codes.NO_HOST, "HOST_NOT_RUNNING")


def test_status_without_a_host_is_an_answer(quiet: Any) -> None:
    done = quiet.run("status", "--json")
    assert (done.code, done.json()["running"]) == (exit_codes.NO_HOST, False)
    assert quiet.run("status").err


def test_a_port_in_use_is_told(live: Any, quiet: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        done = quiet.run("serve", "--port", str(server.getsockname()[1]), "--quiet")
    assert (done.code, done.out) == (exit_codes.FAILED, "")
    assert "[PORT_IN_USE]" in done.err


def test_a_data_directory_in_use_is_told(live: Any) -> None:
    done = live.run("serve", "--port", "0", "--quiet")
    assert (done.code, done.out) == (exit_codes.FAILED, "")
    assert "[DATA_DIR_LOCKED]" in done.err


def test_a_token_file_that_cannot_be_read_is_told(quiet: Any) -> None:
    done = quiet.run("serve", "--port", "0", "--quiet", "--token-file", str(quiet.folder))
    assert (done.code, done.out) == (exit_codes.FAILED, "")
    assert "[TOKEN_FILE_UNREADABLE]" in done.err


@pytest.mark.parametrize(
    ("words", "exit_code", "code"),
    [
        (["--log", "loud"], exit_codes.USAGE, "OPTION_INVALID"),
        (["--token", "a", "--no-token"], exit_codes.USAGE, "OPTION_INVALID"),
        (["--host", "0.0.0.0", "--no-token"], exit_codes.FAILED, "TOKEN_REQUIRED"),
        (["--data-dir", "/proc/none"], exit_codes.FAILED, "DATA_DIR_UNWRITABLE"),
    ],
)
def test_options_that_cannot_be_meant_stop_serve_before_it_listens(
    quiet: Any, words: list[str], exit_code: int, code: str
) -> None:
    done = quiet.run("serve", "--port", "0", "--quiet", *words)
    assert (done.code, done.out) == (exit_code, "")
    assert f"[{code}]" in done.err


def test_serve_says_ready_once_and_ends_with_0(quiet: Any) -> None:
    process = quiet.start("serve", "--port", "0")
    assert process.stdout.readline().startswith(READY)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (exit_codes.OK, "")
    assert err


def test_another_data_directory_is_another_host(quiet: Any, tmp_path: Path) -> None:
    data = tmp_path / "elsewhere"
    process = quiet.start("serve", "--port", "0", "--quiet", "--data-dir", str(data), stderr=subprocess.DEVNULL)
    try:
        assert process.stdout.readline().startswith(READY)
        assert quiet.run("status", "--json", "--data-dir", str(data)).json()["running"] is True
        assert quiet.run("status", "--json").json()["running"] is False
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)


def test_a_data_directory_from_the_configuration_is_found_by_clients_too(quiet: Any, tmp_path: Path) -> None:
    config = tmp_path / "home" / "config" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f"[serve]\ndata_dir = '{tmp_path / 'configured'}'\nport = 0\n", encoding="utf-8")
    process = quiet.start("serve", "--quiet", stderr=subprocess.DEVNULL)
    try:
        assert process.stdout.readline().startswith(READY)
        assert quiet.run("status", "--json").json()["dataDir"] == str(tmp_path / "configured")
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)


@pytest.mark.anyio
async def test_the_client_library_drives_a_host_on_standard_input_and_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AHP §1; no READY line under stdio."""
    from innkeeper.client import connect

    monkeypatch.setenv("INNKEEPER_HOME", str(tmp_path / "home"))
    command = [sys.executable, "-m", "innkeeper", "serve", "--stdio", "--quiet"]
    async with connect(command, reconnect=False) as client:
        assert [agent["provider"] for agent in client.root.state["agents"]] == ["console"]
        uri = await client.create_session(provider="console")
        assert [summary["resource"] async for summary in client.list_sessions()] == [uri]


def test_json_documents_are_one_document(live: Any) -> None:
    for words in (["status"], ["sessions", "list"], ["mcp", "list"], ["doctor"]):
        assert json.loads(live.run(*words, "--json").out)["version"] == 1


def test_a_chat_finds_a_host_that_comes_back_on_another_port(quiet: Any) -> None:
    """The endpoint is looked up again: another port and, by default, another token."""
    serve = ("serve", "--port", "0", "--quiet")
    host = quiet.start(*serve, stderr=subprocess.DEVNULL)
    chat = None
    try:
        first = host.stdout.readline()
        chat = quiet.start("chat", stdin=subprocess.PIPE)
        chat.stdin.write("before\n")
        chat.stdin.flush()
        assert chat.stdout.readline() == "before\n"
        host.kill()
        host.communicate()
        host = quiet.start(*serve, stderr=subprocess.DEVNULL)
        assert host.stdout.readline() != first
        chat.stdin.write("after\n")
        chat.stdin.flush()
        assert chat.stdout.readline() == "after\n"
        chat.stdin.close()
        assert chat.wait(timeout=20) == exit_codes.OK
    finally:
        for process in (host, chat):
            if process is not None:
                process.kill()
                process.wait()
                for stream in (process.stdin, process.stdout, process.stderr):
                    if stream is not None:
                        stream.close()


def test_an_agent_that_the_host_has_not_is_named_with_those_it_has(live: Any) -> None:
    done = live.run("chat", "--new", "--agent", "nope", "-m", "hi", "--json")
    error = done.json()["error"]
    assert (done.code, error["code"]) == (exit_codes.FAILED, "PROVIDER_UNKNOWN")
    assert "nope" in error["message"] and "console" in error["message"] and error["remedy"]
