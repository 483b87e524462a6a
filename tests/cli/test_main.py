"""The root command: fast, complete in its help, and clear about what is wrong."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from innkeeper._version import running_version
from innkeeper.cli import exit_codes, main, words
from innkeeper.cli.exit_codes import EXIT_CODES
from innkeeper.errors import HostError

HEAVY = ("asyncio", "mcp", "msgspec", "psutil", "rich", "starlette", "uvicorn", "websockets", "innkeeper.client")


def commands(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            yield from commands(child, (*path, name))


ALL = dict(commands(main.cli))


def test_the_version_is_printed_without_loading_a_library_of_a_host() -> None:
    code = (
        "import sys; from innkeeper.cli.main import main; code = main(['--version']);"
        f"print([name for name in {HEAVY!r} if name in sys.modules], code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20, check=True)
    assert done.stdout == f"{running_version()}\n[] 0\n"


def test_python_m_innkeeper_is_the_same_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "innkeeper", "--version"], capture_output=True, text=True, timeout=20, check=True
    )
    assert done.stdout.strip() == running_version()


@pytest.mark.parametrize("path", list(ALL), ids=" ".join)
def test_every_command_explains_itself_and_every_option_of_it(inside: Any, path: tuple[str, ...]) -> None:
    command = ALL[path]
    done = inside(*path, "--help")
    assert (done.code, done.err) == (exit_codes.OK, "")
    assert command.help
    silent = [option.name for option in command.params if isinstance(option, click.Option) and not option.help]
    assert silent == []
    for option in command.params:
        if isinstance(option, click.Option):
            assert max(option.opts, key=len) in done.out


def test_every_command_that_prints_data_takes_json() -> None:
    """serve, chat without -m, and completion print no data of that kind."""
    without = [" ".join(path) for path, command in ALL.items() if "as_json" not in {p.name for p in command.params}]
    groups = ["sessions", "mcp", "mcp inputs", "config", "customizations", "approvals"]
    assert without == ["", "serve", *groups, "completion"]


def test_the_help_is_in_the_language_of_the_user(quiet: Any) -> None:
    chinese = quiet.run("serve", "--help", environment={"LC_ALL": "zh_CN.UTF-8"})
    assert "监听" in chinese.out
    assert "监听" not in quiet.run("serve", "--help").out


def test_every_exit_code_is_in_the_table_and_every_meaning_in_the_help() -> None:
    source = Path(exit_codes.__file__).read_text(encoding="utf-8")
    declared = {
        node.value.value
        for node in ast.parse(source).body
        if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Constant)
    }
    assert declared == set(EXIT_CODES)
    epilog = main.cli.epilog or ""
    assert [code for code in EXIT_CODES if str(code) not in epilog] == []


@pytest.mark.parametrize(
    "words_", [["bogus"], ["status", "--bogus"], ["sessions"], ["mcp", "call", "one"], ["serve", "--port", "x"]]
)
def test_wrong_usage_is_told_with_its_own_exit_code(inside: Any, words_: list[str]) -> None:
    done = inside(*words_)
    assert (done.code, done.out) == (exit_codes.USAGE, "")
    assert done.err


def test_an_unknown_command_is_named(inside: Any) -> None:
    assert "bogus" in inside("bogus").err


def test_wrong_usage_under_json_is_a_document(inside: Any) -> None:
    done = inside("status", "--json", "--bogus")
    assert (done.code, done.err) == (exit_codes.USAGE, "")
    assert (done.json()["version"], done.json()["error"]["code"]) == (1, "USAGE")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_completion_script(inside: Any, shell: str) -> None:
    done = inside("completion", shell)
    assert done.code == exit_codes.OK
    assert "_INNKEEPER_COMPLETE" in done.out


def test_the_completion_script_gets_our_commands(quiet: Any) -> None:
    asking = {"_INNKEEPER_COMPLETE": "bash_complete", "COMP_WORDS": "innkeeper s", "COMP_CWORD": "1"}
    done = quiet.run(environment=asking)
    assert done.out.split() == ["plain,serve", "plain,status", "plain,sessions"]


def raising(error: BaseException) -> click.Command:
    @click.command()
    def command() -> None:
        raise error

    return command


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Any:
    def install(error: BaseException) -> None:
        monkeypatch.setattr(main.LazyGroup, "get_command", lambda *_: raising(error))

    return install


def test_ctrl_c_ends_with_130(inside: Any, failing: Any) -> None:
    failing(KeyboardInterrupt())
    assert inside("status").code == exit_codes.INTERRUPTED


def test_a_failure_of_ours_is_told_with_code_and_remedy(inside: Any, failing: Any) -> None:
    failing(HostError("TOKEN_WRONG"))
    done = inside("status")
    assert done.code == exit_codes.REFUSED
    assert "[TOKEN_WRONG]" in done.err
    assert len(done.err.strip().splitlines()) == 2


def test_a_defect_is_not_hidden(inside: Any, failing: Any) -> None:
    failing(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        inside("status")


def test_a_reader_that_has_had_enough_is_no_failure_to_tell(quiet: Any) -> None:
    process = quiet.start("serve", "--help", stdout=subprocess.PIPE)
    process.stdout.close()
    _, err = process.communicate(timeout=20)
    assert "Traceback" not in (err or "")


def test_the_language_comes_from_the_environment() -> None:
    assert words.LANGUAGE in ("en", "zh_Hans")
