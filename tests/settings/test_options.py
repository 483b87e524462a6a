"""Flag, environment, file, default: in this order (architecture §7)."""

from pathlib import Path
from typing import Any

import pytest

from innkeeper.settings.config import parse_settings
from innkeeper.settings.options import READERS, ServeOptions, resolve_options
from innkeeper.settings.problems import OptionInvalid

FILE = Path("/c/config.toml")


def options(flags: dict[str, Any] | None = None, environ: dict[str, str] | None = None, file: str = "") -> ServeOptions:
    return resolve_options(flags or {}, environ or {}, parse_settings(file, FILE))


def test_without_any_wish_the_defaults_hold() -> None:
    assert options() == ServeOptions()
    assert (options().host, options().port, options().no_questions) == ("127.0.0.1", 4665, False)


def test_a_flag_beats_the_environment_beats_the_file() -> None:
    file = '[serve]\nhost = "file"\nport = 1\nlog = "error"\n'
    environ = {"INNKEEPER_HOST": "environ", "INNKEEPER_PORT": "2"}
    found = options({"host": "flag", "quiet": False, "socket": None}, environ, file)
    assert (found.host, found.port, found.log, found.quiet) == ("flag", 2, "error", False)


def test_the_environment_gives_every_type(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    environ = {
        "INNKEEPER_PORT": "0",
        "INNKEEPER_SOCKET": "run/x.sock",
        "INNKEEPER_QUIET": "On",
        "INNKEEPER_OPEN": "0",
        "INNKEEPER_TOKEN": "tok",
        "INNKEEPER_LOG": "",
        "INNKEEPER_NO_QUESTIONS": "yes",
        "INNKEEPER_STDIO": "1",
    }
    assert options(environ=environ) == ServeOptions(
        port=0, socket=tmp_path / "run" / "x.sock", quiet=True, token="tok", no_questions=True
    )


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("INNKEEPER_PORT", "http"), ("INNKEEPER_PORT", "-1"), ("INNKEEPER_PORT", "99999"), ("INNKEEPER_PORT", "٣"),
        ("INNKEEPER_QUIET", "maybe"), ("INNKEEPER_LOG", "loud"),
    ],
)  # fmt: skip
def test_a_variable_that_cannot_be_used_is_named(variable: str, value: str) -> None:
    with pytest.raises(OptionInvalid) as caught:
        options(environ={variable: value})
    assert caught.value.code == "OPTION_INVALID"
    assert variable in caught.value.message()
    assert variable in caught.value.message("zh_Hans")
    assert value not in caught.value.message()


def test_the_strongest_source_makes_the_choice_of_token_alone() -> None:
    file = '[serve]\ntoken_file = "/t"\n'
    assert options(file=file).token_file == Path("/t")
    found = options(environ={"INNKEEPER_NO_TOKEN": "1"}, file=file)
    assert (found.no_token, found.token_file) == (True, None)
    found = options({"token": "mine"}, {"INNKEEPER_NO_TOKEN": "1"}, file)
    assert (found.token, found.no_token, found.token_file) == ("mine", False, None)
    assert "mine" not in repr(found)


@pytest.mark.parametrize(
    ("flags", "environ", "names"),
    [
        ({"token": "a-secret", "no_token": True}, {}, "--token, --no-token"),
        ({}, {"INNKEEPER_TOKEN": "a-secret", "INNKEEPER_TOKEN_FILE": "/t"}, "INNKEEPER_TOKEN, INNKEEPER_TOKEN_FILE"),
    ],
)
def test_two_choices_of_token_in_one_place_are_refused(
    flags: dict[str, Any], environ: dict[str, str], names: str
) -> None:
    with pytest.raises(OptionInvalid) as caught:
        options(flags, environ)
    assert names in caught.value.message()
    assert "a-secret" not in caught.value.message()


def test_questions_can_be_switched_off_in_the_file_too() -> None:
    """M6.3"""
    assert options(file="questions = false\n").no_questions is True


def test_every_option_that_the_environment_gives_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    for name in READERS:
        assert f"`INNKEEPER_{name.upper()}`" in page
