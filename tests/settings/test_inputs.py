"""Values of inputs: kept apart, private, never shown (M2.5, M9.6)."""

import os
import stat
import sys
import types
from collections.abc import Mapping
from pathlib import Path

import pytest

from innkeeper.errors import HostError
from innkeeper.settings.config import parse_settings
from innkeeper.settings.inputs import Input, Inputs, SecretsUnusable
from innkeeper.settings.problems import SettingsInvalid

SECRET = "hunter2-hunter2"


def inputs(folder: Path, references: Mapping[str, str] | None = None, **environ: str) -> Inputs:
    return Inputs(folder, references or {}, environ)


def test_a_stored_value_is_kept_in_a_private_file_and_listed_by_name(tmp_path: Path) -> None:
    known = inputs(tmp_path / "config")
    known.store("api-key", SECRET)
    known.store("other.key", 'with "quotes"\nand lines')
    assert stat.S_IMODE(known.path.stat().st_mode) == 0o600
    assert known.listed() == (Input("api-key", "file", None, True), Input("other.key", "file", None, True))
    assert dict(known.load()) == {"api-key": SECRET, "other.key": 'with "quotes"\nand lines'}
    assert SECRET not in repr(known.listed())


def test_comments_and_other_values_stay_when_one_is_set_or_removed(tmp_path: Path) -> None:
    text = "# mine\n[input_values]\na = 'one' # first\nb = 'two'\n"
    known = inputs(tmp_path)
    known.path.write_text(text, encoding="utf-8")
    known.path.chmod(0o600)
    known.store("b", "three")
    assert known.path.read_text(encoding="utf-8") == text.replace("two", "three")
    assert (known.remove("b"), known.remove("b")) == (True, False)
    assert known.path.read_text(encoding="utf-8") == text.replace("b = 'two'\n", "")


def test_references_are_looked_up_when_the_host_loads_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    references = {"a": "env:MY_KEY", "b": "env:MISSING", "c": "env:EMPTY", "d": "keyring"}
    known = inputs(tmp_path, references, MY_KEY=SECRET, EMPTY="")
    assert dict(known.load()) == {"a": SECRET}, "an empty credential is never used"
    assert [entry.available for entry in known.listed()] == [True, False, False, False]
    assert [entry.reference for entry in known.listed()] == list(references.values())
    assert "the input b has no value" in caplog.text
    assert "extra `keyring` is not installed" in caplog.text
    assert SECRET not in caplog.text


def test_the_keyring_is_asked_under_our_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("keyring")
    module.get_password = lambda service, name: f"{service}/{name}"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keyring", module)
    assert dict(inputs(tmp_path, {"d": "keyring"}).load()) == {"d": "innkeeper/d"}


def test_a_stored_value_stands_before_a_reference(tmp_path: Path) -> None:
    known = inputs(tmp_path, {"a": "env:A"}, A="from the environment")
    known.store("a", "stored")
    assert dict(known.load()) == {"a": "stored"}
    assert [entry.source for entry in known.listed()] == ["file"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o620])
def test_a_file_that_others_may_read_is_not_used(tmp_path: Path, mode: int) -> None:
    known = inputs(tmp_path)
    known.store("a", SECRET)
    known.path.chmod(mode)
    for use in (known.load, known.listed, lambda: known.store("b", "x")):
        with pytest.raises(SecretsUnusable) as refused:
            use()
        assert (refused.value.code, refused.value.reason) == ("SECRETS_UNREADABLE", "exposed")
    assert "600" in refused.value.remedy()


@pytest.mark.skipif(os.getuid() != 0, reason="only the superuser can give a file away")
def test_a_file_of_another_user_is_not_used(tmp_path: Path) -> None:
    known = inputs(tmp_path)
    known.store("a", SECRET)
    os.chown(known.path, 65534, 65534)
    with pytest.raises(SecretsUnusable) as refused:
        known.load()
    assert refused.value.reason == "owner"


@pytest.mark.parametrize(
    "text", [f"a = '{SECRET}", f"'{SECRET}'", f"[input_values]\n'{SECRET}' = 1\n", f"[other]\na = '{SECRET}'\n", "\xff"]
)
def test_a_broken_file_is_told_without_a_word_of_it(tmp_path: Path, text: str) -> None:
    known = inputs(tmp_path)
    known.path.write_bytes(text.encode("latin-1"))
    known.path.chmod(0o600)
    with pytest.raises(SecretsUnusable) as refused:
        known.load()
    said = f"{refused.value!r} {refused.value.message()} {refused.value.message('zh_Hans')} {refused.value.__cause__!r}"
    assert SECRET not in said
    assert str(known.path) in said


@pytest.mark.parametrize("name", ["", "a b", "x" * 101, "é", "a\nb"])
def test_a_name_that_no_declaration_can_ask_for_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(HostError) as refused:
        inputs(tmp_path).store(name, SECRET)
    assert refused.value.code == "INPUT_NAME"
    assert not (tmp_path / "secrets.toml").exists()


@pytest.mark.parametrize("value", [f'"{SECRET}"', '"env:"', '"env:A B"', "1", '"keyring:x"', "{}"])
def test_a_value_in_the_configuration_itself_is_refused_and_not_repeated(value: str) -> None:
    """A secret is no setting."""
    with pytest.raises(SettingsInvalid) as refused:
        parse_settings(f"[input_values]\nkey = {value}\n", Path("config.toml"))
    assert (refused.value.line, refused.value.field) == (2, "input_values.key")
    assert SECRET not in refused.value.message()
    assert "mcp inputs set" in refused.value.message()


def test_references_are_read() -> None:
    settings = parse_settings('[input_values]\na = "env:A"\n"b.c" = "keyring"\n', Path("config.toml"))
    assert settings.input_values == {"a": "env:A", "b.c": "keyring"}
