"""`innkeeper agents` against a host in a process of its own (M9.4, AHP §8)."""

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Home, end, wait_for_ready
from innkeeper.cli import exit_codes

CANARY = "c4nary-key-of-an-agent"
CHINESE = {"LC_ALL": "zh_CN.UTF-8"}


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A home whose host has agents that take keys, and writes everything into its log. A test that signs in has an
    agent of its own; `closed` stays signed out."""
    home = Home(tmp_path_factory.mktemp("keyed"))
    program = [sys.executable, str(Path(__file__).with_name("agents_host.py")), "--port", "0"]
    program += ["--log", f"debug:{home.folder / 'log'}"]
    with (home.folder / "stderr").open("w") as errors:
        host = subprocess.Popen(
            program, stdout=subprocess.PIPE, stderr=errors, cwd=home.project, env=home.environment, text=True
        )
    try:
        wait_for_ready(host)
        yield home
    finally:
        end(host)


def taken(home: Home, name: str) -> list[str]:
    """Resource and key that the agent got."""
    path = home.folder / "home" / f"taken-{name}"
    return path.read_text().splitlines() if path.exists() else []


def by_name(home: Home) -> dict[str, Any]:
    return {agent["provider"]: agent for agent in home.run("agents", "--json").json()["agents"]}


def files_with(folder: Path, word: str) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file() and word.encode() in path.read_bytes()}


def at_terminal(home: Home, *words: str, typed: str = "", columns: int = 60) -> tuple[int, str]:
    """Exit code, and everything that a terminal showed, what it echoed included."""
    master, slave = pty.openpty()
    environment = {**home.environment, "TERM": "xterm-256color", "COLUMNS": str(columns)}
    process = subprocess.Popen(
        [sys.executable, "-m", "innkeeper", *words], cwd=home.project, env=environment,
        stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
    )  # fmt: skip
    os.close(slave)
    shown = b""
    while True:
        try:
            got = os.read(master, 4096)
        except OSError:  # the other end is closed
            break
        shown += got
        if typed and b"service" in shown:  # the question, for which echo is off by now
            os.write(master, typed.encode())
            typed = ""
        if not got:
            break
    os.close(master)
    return process.wait(20), shown.decode()


def test_agents_are_listed_with_what_each_lacks_and_what_helps(keyed: Home) -> None:
    """M9.4: state, reason, remedy, models and services as the page has them, for people and for programs."""
    done = keyed.run("agents")
    assert (done.code, done.err) == (exit_codes.OK, "")
    heads, *rows = [line.split("\t") for line in done.out.splitlines()]
    assert heads == ["agent", "name", "state", "remedy", "models", "takes a key for"]
    assert [row[0] for row in rows] == ["console", "closed", "keyed", "typed", "double", "limited", "bare"]
    assert rows[0][2:4] == ["ready", ""]
    assert rows[1][1:5] == ["Closed", "The agent is not logged in.", "closed login --here", ""]
    assert rows[4][5] == "Double service (https://double.example), https://other.example"
    found = by_name(keyed)
    assert found["console"]["unavailable"] is None
    assert found["bare"]["unavailable"]["code"] == "AGENT_BINARY_MISSING"
    assert found["closed"]["protectedResources"][0]["resource_name"] == "Closed service"
    assert "就绪" in keyed.run("agents", environment=CHINESE).out


def test_what_stands_before_the_subcommand_counts_for_it(keyed: Home) -> None:
    """`agents --json list` is `agents list --json`, and so for which host is meant."""
    listed = keyed.run("agents", "list", "--json")
    assert keyed.run("agents", "--json", "list").out == listed.out == keyed.run("agents", "--json").out
    nobody = keyed.run("agents", "--url", "ws://127.0.0.1:9/", "list")
    assert (nobody.code, nobody.out) == (exit_codes.NO_HOST, "")


def test_a_terminal_gets_a_paragraph_an_agent_with_the_remedy_whole(keyed: Home) -> None:
    """A command that helps is copied, so no column breaks it, however narrow the terminal."""
    code, shown = at_terminal(keyed, "agents", columns=30)
    assert code == exit_codes.OK
    lines = shown.replace("\r", "").splitlines()
    assert lines[lines.index("agent            closed") :][:6] == [
        "agent            closed",
        "name             Closed",
        "state            The agent is not logged in.",
        "remedy           closed login --here",
        "takes a key for  Closed service (https://closed.example)",
        "",
    ]


def test_a_key_from_standard_input_signs_in_and_is_told_nowhere(keyed: Home) -> None:
    """AHP §8: it goes to the agent, and is in no output, log or file of the host."""
    done = keyed.run("agents", "sign-in", "keyed", "--json", given=f"{CANARY}\n")
    assert (done.code, done.err) == (exit_codes.OK, "")
    document = done.json()
    assert (document["resource"], document["agent"]["unavailable"]) == ("https://keyed.example", None)
    assert [model["id"] for model in document["agent"]["models"]] == ["script-1", "script-0"]
    assert taken(keyed, "keyed") == ["https://keyed.example", CANARY]
    again = keyed.run("agents", "sign-in", "keyed", given=f"{CANARY}-2")
    assert (again.code, again.out) == (exit_codes.OK, "") and "Keyed is ready" in again.err
    assert taken(keyed, "keyed")[1] == f"{CANARY}-2"
    row = next(line for line in keyed.run("agents").out.splitlines() if line.startswith("keyed"))
    assert row.split("\t")[2:5] == ["ready", "", "script-1"], "models that policy rules out are not offered"
    assert CANARY not in done.out + again.err
    assert {name for name in files_with(keyed.folder, CANARY) if not name.startswith("taken-")} == set()
    assert (keyed.folder / "log").exists()


def test_a_key_that_is_typed_is_not_echoed(keyed: Home) -> None:
    code, shown = at_terminal(keyed, "agents", "sign-in", "typed", typed=f"{CANARY}\n")
    assert code == exit_codes.OK, shown
    assert "Key or token for Typed service" in shown and "Typed is ready" in shown
    assert CANARY not in shown
    assert taken(keyed, "typed")[1] == CANARY


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_a_key_that_is_refused_is_told_with_the_reason_and_without_the_key(keyed: Home, as_json: tuple[str]) -> None:
    """The host's words, though an agent was careless with them; a stable code and what to do."""
    done = keyed.run("agents", "sign-in", "closed", *as_json, given=f"bad-{CANARY}")
    assert done.code == exit_codes.REFUSED
    told = done.out + done.err
    assert "The service does not know …." in told and "AGENT_KEY_REFUSED" in told and "innkeeper agents" in told
    assert CANARY not in told
    assert by_name(keyed)["closed"]["unavailable"]["code"] == "AGENT_LOGIN_MISSING"
    assert files_with(keyed.folder, f"bad-{CANARY}") == set()


@pytest.mark.parametrize(
    ("agent", "code", "exit_code", "words"),
    [
        ("nobody", "PROVIDER_UNKNOWN", exit_codes.FAILED, "console, closed, keyed, typed, double, limited, bare"),
        ("console", "AGENT_WITHOUT_KEY", exit_codes.FAILED, "takes no key"),
        ("bare", "AGENT_BINARY_MISSING", exit_codes.FAILED, "npm install -g bare"),
        ("double", "USAGE", exit_codes.USAGE, "https://double.example, https://other.example"),
    ],
)
def test_an_agent_that_a_key_does_not_help_is_told_before_one_is_asked_for(
    keyed: Home, agent: str, code: str, exit_code: int, words: str
) -> None:
    done = keyed.run("agents", "sign-in", agent, "--json", given=CANARY)
    error = done.json()["error"]
    assert (done.code, error["code"]) == (exit_code, code)
    assert words in f"{error['message']} {error['remedy']}" and CANARY not in done.out
    assert files_with(keyed.folder, CANARY) <= {"taken-keyed", "taken-typed", "taken-double", "taken-limited"}


def test_of_several_services_the_one_that_is_named_gets_the_key(keyed: Home) -> None:
    done = keyed.run("agents", "sign-in", "double", "--resource", "https://other.example", given=CANARY)
    assert done.code == exit_codes.OK, done.err
    assert taken(keyed, "double") == ["https://other.example", CANARY]
    wrong = keyed.run("agents", "sign-in", "double", "--resource", "https://third.example", given=CANARY)
    assert wrong.code == exit_codes.USAGE and "https://double.example" in wrong.err


def test_an_agent_that_lacks_something_else_too_is_told_and_fails(keyed: Home) -> None:
    done = keyed.run("agents", "sign-in", "limited", given=CANARY)
    assert (done.code, done.out) == (exit_codes.FAILED, "")
    assert "The program is not on PATH." in done.err and "npm install -g bare" in done.err
    assert taken(keyed, "limited")[1] == CANARY


def test_what_is_no_key_is_refused_before_it_is_sent(keyed: Home) -> None:
    """Nothing, several lines, what cannot be printed or is no text, however strictly the locale decodes."""
    no_text = b"\xff\xfe"
    for given, errors in ((b" \n", ""), (b"one\ntwo", ""), (b"a\x00b", ""), (no_text, ":strict"), (no_text, "")):
        done = subprocess.run(
            [sys.executable, "-m", "innkeeper", "agents", "sign-in", "closed"],
            env={**keyed.environment, "PYTHONIOENCODING": f"utf-8{errors or ':surrogateescape'}"},
            input=given, capture_output=True, timeout=20, check=False,
        )  # fmt: skip
        assert done.returncode == exit_codes.USAGE, (given, done.stderr)
        assert b"No key was given" in done.stderr
    assert taken(keyed, "closed") == []


def test_without_a_host_the_list_says_how_to_start_one(quiet: Home) -> None:
    done = quiet.run("agents")
    assert done.code == exit_codes.NO_HOST and "innkeeper serve" in done.err
