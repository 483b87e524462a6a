"""A first hour: one wrong input of each kind gets its own message, its remedy and its exit code (issue 2, bad input).

Every command is a process of its own, as a person types it. What needs permissions to bite runs under another uid.
"""

import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from innkeeper.cli import exit_codes
from innkeeper.errors import ERRORS
from innkeeper.texts import text

SECONDS = 30
EXAMPLE = {"command": sys.executable, "args": ["-m", "innkeeper.mcp.example_server"]}
DIES = {"command": sys.executable, "args": ["-c", "import sys; sys.exit('there is no database')"]}
HANGS = f"""
[mcp_servers.hangs]
command = {json.dumps(sys.executable)}
args = ["-c", "import time; time.sleep(1000)"]
startup_timeout_sec = 1
"""

AS_ANOTHER = """
import os, sys
import innkeeper.app.run, innkeeper.app.serve, innkeeper.cli.serve
import innkeeper.client, innkeeper.cli.exit_codes, innkeeper.cli.failures, innkeeper.cli.output
from innkeeper.cli.main import main
from innkeeper.texts import LANGUAGES, text
for lang in LANGUAGES:
    text("cli.help", lang=lang)  # read now: the other user may not reach the code
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
sys.exit(main(sys.argv[1:]))
"""


@dataclass(frozen=True)
class Told:
    """What a person saw."""

    code: int
    out: str
    err: str


class Person:
    """Someone in a project of their own, with a home of its own."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.project = folder / "project"
        self.project.mkdir(parents=True)
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("INNKEEPER_")},
            "INNKEEPER_HOME": str(self.home),
            "LC_ALL": "C.UTF-8",
        }

    def types(self, *words: str, start: Sequence[str] = ("-m", "innkeeper")) -> Told:
        done = subprocess.run(
            [sys.executable, *start, *words],
            cwd=self.project,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        return Told(done.returncode, done.stdout, done.stderr)

    def serves(self) -> "subprocess.Popen[str]":
        host = subprocess.Popen(
            [sys.executable, "-m", "innkeeper", "serve", "--port", "0", "--quiet"],
            cwd=self.project,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert host.stdout is not None
        assert host.stdout.readline().startswith("READY:")
        return host

    def has(self, path: str, content: str | bytes) -> Path:
        """A file below the home, private as the host makes its own."""
        file = self.home / path
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file


@pytest.fixture
def person(tmp_path: Path) -> Person:
    """Nobody's host runs."""
    return Person(tmp_path)


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    """A host runs for this person; their project declares servers that work, end at once, and keep still."""
    someone = Person(tmp_path_factory.mktemp("guest"))
    (someone.project / ".mcp.json").write_text(json.dumps({"mcpServers": {"example": EXAMPLE, "dies": DIES}}))
    (someone.project / ".codex").mkdir()
    (someone.project / ".codex" / "config.toml").write_text(HANGS)
    host = someone.serves()
    yield someone
    host.send_signal(signal.SIGTERM)
    try:
        host.communicate(timeout=SECONDS)
    finally:
        host.kill()


@pytest.fixture
def another(person: Person) -> Iterator[Path]:
    """A folder that another user of this machine may enter; home and project are there."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        person.environment["INNKEEPER_HOME"] = str(folder / "home")
        person.project = folder
        yield folder


@pytest.fixture
def taken() -> Iterator[int]:
    """A port on which another program listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def test_an_unknown_command_is_named_and_the_help_is_pointed_to(person: Person) -> None:
    told = person.types("srve")
    assert (told.code, told.out) == (exit_codes.USAGE, "")
    assert "There is no command srve; `innkeeper --help` lists them." in told.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["serve", "--port", "x"], "'--port'"),
        (["serve", "--port", "70000"], "70000"),
        (["serve", "--log", "loud"], "expected a level"),
        (["config", "set", "trust_mode", "maybe"], "expected one of manual, all"),
        (["config", "get", "langauge"], "There is no setting langauge."),
        (["sessions"], "Usage: innkeeper sessions"),
    ],
)
def test_a_value_that_an_option_does_not_take_is_told_with_the_option(
    person: Person, words: list[str], said: str
) -> None:
    told = person.types(*words)
    assert told.code == exit_codes.USAGE
    assert said in told.err + told.out


def test_a_port_in_use_names_the_port_and_how_to_get_another(person: Person, taken: int) -> None:
    told = person.types("serve", "--quiet", "--port", str(taken))
    assert (told.code, told.out) == (exit_codes.FAILED, "")
    assert f"Port {taken} on 127.0.0.1 is already in use. [PORT_IN_USE]" in told.err
    assert "--port" in told.err


def test_a_data_directory_that_one_may_not_write_is_named(person: Person, another: Path) -> None:
    folder = another / "locked"
    folder.mkdir(mode=0o555)
    told = person.types("serve", "--quiet", "--port", "0", "--data-dir", str(folder / "data"), start=("-c", AS_ANOTHER))
    assert (told.code, told.out) == (exit_codes.FAILED, "")
    assert f"The data directory {folder}/data cannot be written. [DATA_DIR_UNWRITABLE]" in told.err
    assert "--data-dir" in told.err
    assert list(folder.iterdir()) == []


def test_a_token_file_that_one_may_not_read_is_named(person: Person, another: Path) -> None:
    file = another / "token"
    file.write_text("secret-token")
    file.chmod(0o000)
    told = person.types("serve", "--quiet", "--port", "0", "--token-file", str(file), start=("-c", AS_ANOTHER))
    assert (told.code, told.out) == (exit_codes.FAILED, "")
    assert f"The token file {file} cannot be read or is empty. [TOKEN_FILE_UNREADABLE]" in told.err
    assert "secret-token" not in told.err


def test_a_data_directory_of_another_host_is_refused_with_the_process_that_has_it(guest: Person) -> None:
    told = guest.types("serve", "--quiet", "--port", "0")
    assert (told.code, told.out) == (exit_codes.FAILED, "")
    assert re.search(r"Another host \(process \d+\) uses the data directory .* \[DATA_DIR_LOCKED\]", told.err)
    assert guest.types("status").code == exit_codes.OK


def test_a_damaged_database_is_refused_and_keeps_its_bytes(person: Person) -> None:
    file = person.has("data/innkeeper.db", b"this is no database, it is a letter" * 200)
    before = file.read_bytes()
    told = person.types("serve", "--quiet", "--port", "0")
    assert (told.code, told.out) == (exit_codes.FAILED, "")
    assert f"{file} cannot be read" in told.err
    assert "[DATABASE_UNREADABLE]" in told.err
    assert "restore a backup" in told.err
    assert file.read_bytes() == before


def test_a_database_of_a_newer_version_is_refused_and_keeps_its_bytes(person: Person) -> None:
    host = person.serves()
    host.send_signal(signal.SIGTERM)
    host.communicate(timeout=SECONDS)
    file = person.home / "data" / "innkeeper.db"
    with sqlite3.connect(file) as database:
        database.execute("PRAGMA user_version = 999")
    database.close()
    before = file.read_bytes()
    told = person.types("serve", "--quiet", "--port", "0")
    assert (told.code, told.out) == (exit_codes.FAILED, "")
    assert "has schema 999" in told.err
    assert "[SCHEMA_NEWER]" in told.err
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('language = "en"\n[serve]\nport = "x"\n', "line 3, `serve.port`: expected a port"),
        ('langage = "en"\n', "line 1, `langage`: there is no such setting; did you mean `language`?"),
        ('language = "en"\n[serve\n', "line 2, not valid TOML"),
    ],
)
def test_a_broken_configuration_is_told_with_line_and_field(person: Person, content: str, said: str) -> None:
    file = person.has("config/config.toml", content)
    for words in (("serve", "--quiet"), ("config", "check")):
        told = person.types(*words)
        assert told.code == exit_codes.FAILED
        assert f"{file} is not valid: {said}" in told.err + told.out
        assert "[CONFIG_INVALID]" in told.err + told.out


@pytest.mark.parametrize(
    ("content", "code", "line"),
    [
        ('{\n  "mcpServers": {\n    "a": {"command": "x",,}\n  }\n}\n', "FILE_SYNTAX", 3),
        ('{"mcpServers": {}, "servers": {}}', "BOTH_TABLES", 1),
        ('{\n  "mcpServers": {\n    "a": {}\n  }\n}\n', "TRANSPORT_MISSING", 3),
    ],
)
def test_a_broken_declaration_file_is_told_with_place_and_code(
    person: Person, content: str, code: str, line: int
) -> None:
    (person.project / ".mcp.json").write_text(content)
    told = person.types("mcp", "check")
    assert told.code == exit_codes.FAILED
    assert f".mcp.json:{line}: error {code}: " in told.err
    assert text(ERRORS[code].remedy) in told.err


def test_a_server_that_ends_at_once_says_where_to_look(guest: Person) -> None:
    told = guest.types("mcp", "connect", "dies")
    assert told.code == exit_codes.FAILED
    assert "failed (SPAWN_FAILED)" in told.out
    assert "ended before it answered" in told.err
    assert "innkeeper mcp logs NAME --stderr" in told.err
    assert "there is no database" in guest.types("mcp", "logs", "dies", "--stderr").out


def test_a_server_that_keeps_still_is_given_up_with_its_own_code(guest: Person) -> None:
    told = guest.types("mcp", "connect", "hangs")
    assert told.code == exit_codes.FAILED
    assert "failed (START_TIMEOUT)" in told.out
    assert "hangs: The server did not answer in time" in told.err
    assert guest.types("mcp", "connect", "example").code == exit_codes.OK


def test_a_wrong_token_is_refused_with_its_own_exit_code(guest: Person) -> None:
    told = guest.types("status", "--token", "wrong")
    assert told.code == exit_codes.REFUSED
    assert "[TOKEN_WRONG]" in told.err
    assert "Use the token that the host was started with" in told.err


@pytest.mark.parametrize(
    "words", [["chat", "-m", "x"], ["sessions", "list"], ["mcp", "list"], ["mcp", "connect", "a"], ["status"]]
)
def test_without_a_host_the_command_that_starts_one_is_named(person: Person, words: list[str]) -> None:
    told = person.types(*words)
    assert told.code == exit_codes.NO_HOST
    assert "Start one with `innkeeper serve`." in told.err + told.out


@pytest.mark.parametrize(
    ("words", "exit_code", "code", "remedy"),
    [
        (["sessions", "show", "none"], exit_codes.FAILED, "SESSION_UNKNOWN", "innkeeper sessions list"),
        (["chat", "-m", "x", "-s", "none"], exit_codes.FAILED, "SESSION_UNKNOWN", "innkeeper sessions list"),
        (["mcp", "connect", "none"], exit_codes.FAILED, "SERVER_UNKNOWN", "innkeeper mcp list"),
        (["mcp", "call", "example", "echo", '{"text": '], exit_codes.USAGE, "USAGE", "no JSON"),
        (["mcp", "call", "example", "echo", "[]"], exit_codes.USAGE, "USAGE", "must be a JSON object"),
        (["status", "--url", "ws://127.0.0.1:1/"], exit_codes.NO_HOST, "HOST_UNREACHABLE", "still runs"),
    ],
)
def test_what_is_not_there_or_not_meant_says_what_to_do(
    guest: Person, words: list[str], exit_code: int, code: str, remedy: str
) -> None:
    told = guest.types(*words)
    assert (told.code, told.out) == (exit_code, "")
    assert f"[{code}]" in told.err
    assert remedy in told.err
