"""The root command: fast, complete in its help, and clear about what is wrong."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from innkeeper import texts
from innkeeper._version import running_version
from innkeeper.cli import click_words, exit_codes, main, words
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
    assert done.json()["error"]["remedy"] == "`innkeeper status --help` shows what it takes."


def test_wrong_usage_names_what_is_wrong_how_it_is_written_and_where_help_is(inside: Any) -> None:
    assert inside("mcp", "copy", "a").err.splitlines() == [
        "innkeeper: Missing option '--from'. [USAGE]",
        "Usage: innkeeper mcp copy [OPTIONS] NAME",
        "`innkeeper mcp copy --help` shows what it takes.",
    ]


def test_a_number_is_called_one(inside: Any) -> None:
    assert "'x' is not a valid integer." in inside("serve", "--port", "x").err


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


def test_a_defect_is_told_as_one_and_its_trace_on_request(
    inside: Any, failing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(ZeroDivisionError())
    done = inside("status")
    assert (done.code, done.out) == (exit_codes.FAILED, "")
    assert "ZeroDivisionError" in done.err and "[DEFECT]" in done.err and "Traceback" not in done.err
    monkeypatch.setenv("INNKEEPER_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        inside("status")


@pytest.mark.parametrize(
    "error", [ZeroDivisionError(), KeyboardInterrupt(), PermissionError(13, "Permission denied", "f")]
)
def test_every_failure_under_json_is_a_document(inside: Any, failing: Any, error: BaseException) -> None:
    failing(error)
    done = inside("status", "--json")
    assert done.code in EXIT_CODES and done.err == ""
    assert {"code", "message", "remedy"} <= done.json()["error"].keys()


def test_a_terminal_that_lacks_a_character_is_no_failure(quiet: Any) -> None:
    done = quiet.run("customizations", "list", environment={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert (done.code, "Traceback" in done.err) == (exit_codes.OK, False)
    done = quiet.run("serve", "--help", environment={"PYTHONIOENCODING": "latin-1", "LC_ALL": "zh_CN.UTF-8"})
    assert done.code == exit_codes.OK and "\\u76d1" in done.out


# -- click's own words -----------------------------------------------------------------------------------------------

ENGLISH = frozenset(
    {
        "(dynamic)", "Aborted!", "deprecated", "Show the version and exit.", "Do you want to continue?",
        "unknown error",
        "Confirm the action without prompting.", "%(prog)s, version %(version)s", "Press any key to continue...",
        "Repeat for confirmation", "Error: The two entered values do not match.", "Choice({choices})",
        "Missing parameter", "Missing {param_type}", "Missing parameter: {param_name}", "Value must be an iterable.",
        "Could not open file {filename!r}: {message}", "{value!r} is not a valid UUID.", "Error: {message}",
        "Try '{command} {option}' for help.", "{name} {filename!r} is not executable.",
        "Takes {nargs} values but {len} were given.",
        "{value!r} is not a valid boolean. Recognized values: {states}",
        "{len_type} values are required, but {len_value} were given.",
    }
)  # fmt: skip
"""What nothing of ours makes click say; a defect of a command's own declaration is told to its author, in English."""


def sayings() -> set[str]:
    """Every text that the modules of click ask a translation of; of two plural forms the second."""
    found: set[str] = set()
    for module in click_words.MODULES:
        for node in ast.walk(ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("_", "ngettext"):
                texts = [part.value for part in node.args if isinstance(part, ast.Constant)]
                found |= {str(texts[-1])} if texts else set()
    return found


def test_what_click_says_is_translated_or_known_to_be_never_said() -> None:
    """A newer click that says something else is noticed here."""
    to_authors = re.compile("eprecat|declaration|flag|twice|DateTime|format|colou|nvalid start|mean to declare")
    authors = {saying for saying in sayings() if to_authors.search(saying)}
    assert click_words.CLICK_TEXTS.keys() <= sayings()
    assert sayings() - click_words.CLICK_TEXTS.keys() - authors - ENGLISH == set()
    english = {texts.text(id) for id in click_words.CLICK_TEXTS.values()}
    assert english == click_words.CLICK_TEXTS.keys()


@pytest.mark.parametrize(
    "words_",
    [
        ["--help"], ["bogus"], ["mcp", "bogus"], ["mcp", "logz"], ["status", "--bogus"], ["mcp", "copy", "a"],
        ["mcp", "set"], ["serve", "--port", "x"], ["serve", "--port", "70000"], ["mcp", "list", "--dir", "/no/such"],
        ["mcp", "add", "a", "b"], ["mcp", "add", "a", "--transport", "x"], ["mcp", "scan", "--json=1"],
        ["mcp", "add", "--url"], ["mcp", "list", "--dir", "/etc/passwd"], ["config", "check", "/"],
    ],
)  # fmt: skip
def test_click_speaks_the_language_of_the_person_too(quiet: Any, words_: list[str]) -> None:
    """M9.4; architecture §3.14: names, codes and values stay as they are."""
    done = quiet.run(*words_, environment={"LC_ALL": "zh_CN.UTF-8"})
    said = re.sub(r"'[^']*'|`[^`]*`|用法：.*|^  .*|\[[A-Z_]+\]|innkeeper", "", done.out + done.err, flags=re.MULTILINE)
    assert "--help" in done.out + done.err
    assert re.findall("[A-Za-z]{3,}", said) in ([], ["bogus"]), done.err


def test_a_reader_that_has_had_enough_is_no_failure_to_tell(quiet: Any) -> None:
    process = quiet.start("serve", "--help", stdout=subprocess.PIPE)
    process.stdout.close()
    _, err = process.communicate(timeout=20)
    assert "Traceback" not in (err or "")


def test_the_language_comes_from_the_environment() -> None:
    assert words.LANGUAGE in ("en", "zh_Hans")
