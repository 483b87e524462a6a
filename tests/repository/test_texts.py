"""Texts, error codes, limits and versions: the four tables that everything else quotes."""

import importlib
import warnings
from importlib import metadata

import pytest

from innkeeper import _version, limits
from innkeeper.errors import ERRORS, HostError
from innkeeper.texts import environment_language, negotiate, text

pytest.importorskip("babel", reason="babel is a development dependency")


def test_the_catalogue_is_complete_used_and_compiled() -> None:
    assert importlib.import_module("i18n").check() == []


def test_a_rebuilt_catalogue_is_equal_byte_for_byte() -> None:
    catalogue = importlib.import_module("catalogue")
    for lang, entries in catalogue.read_all().items():
        assert catalogue.render_mo(lang, dict(reversed(entries.items()))) == catalogue.mo_path(lang).read_bytes()
        assert len(entries) >= 2 * len(ERRORS)


def test_the_check_sees_each_kind_of_mistake() -> None:
    catalogue, i18n = importlib.import_module("catalogue"), importlib.import_module("i18n")
    entry = catalogue.Entry
    pairs = {
        "other placeholders": (entry(("Port {port}",)), entry(("端口 {porto}",))),
        "no Chinese": (entry(("Two words",)), entry(("Two words",))),
        "plural in one language": (entry(("One file", "{n} files"), True), entry(("{n} 个文件",))),
        "lacks a form": (entry(("One file", "{n} files"), True), entry(("",), True)),
    }
    for expected, (english, chinese) in pairs.items():
        assert any(expected in problem for problem in i18n.problems_of_pair("an.id", english, chinese, set()))
    good = entry(("One file", "{n} files"), True), entry(("{n} 个文件",), True)
    assert list(i18n.problems_of_pair("an.id", *good, set())) == []
    uses = i18n.Uses()
    uses.asked["no.such.text"], uses.codes["NO_SUCH_CODE"] = "a.py:1", "a.py:2"
    problems = "\n".join(i18n.problems_of_use(uses, {"left.over"}))
    assert "no.such.text: asked" in problems and "NO_SUCH_CODE: raised" in problems and "left.over: nothing" in problems


def test_values_fill_placeholders_and_are_not_expanded_again() -> None:
    assert "{limit}" in text("error.ADDRESS_UNAVAILABLE.meaning", host="{limit}")


def test_a_missing_text_or_value_warns_and_shows_its_name() -> None:
    with pytest.warns(RuntimeWarning, match="no text"):
        assert text("no.such.text", lang="zh_Hans") == "no.such.text"
    with pytest.warns(RuntimeWarning, match="no value"):
        assert "{host}" in text("error.ADDRESS_UNAVAILABLE.meaning")


def test_an_unknown_language_is_english() -> None:
    assert text("error.STORAGE_FULL.remedy", lang="fr") == text("error.STORAGE_FULL.remedy", lang="en")


@pytest.mark.parametrize(
    ("wishes", "expected"),
    [
        (("zh",), "zh_Hans"),
        (("zh-CN",), "zh_Hans"),
        (("zh_CN.UTF-8",), "zh_Hans"),
        (("zh-Hans-SG",), "zh_Hans"),
        (("ZH_hans",), "zh_Hans"),
        (("en-GB", "zh"), "en"),
        (("C", "zh"), "en"),
        (("C.UTF-8", "zh"), "en"),
        (("fr", "zh"), "zh_Hans"),
        (("en;q=0.3, zh;q=0.8",), "zh_Hans"),
        (("zh;q=0, fr",), "en"),
        (("zh;q=x",), "en"),
        ((None, "", "zh"), "zh_Hans"),
        ((), "en"),
    ],
)
def test_languages_are_negotiated_strongest_wish_first(wishes: tuple[str | None, ...], expected: str) -> None:
    """M9.4."""
    assert negotiate(*wishes) == expected


def test_a_command_line_speaks_the_locale_and_c_is_english() -> None:
    """M9.4."""
    assert environment_language({"LANG": "zh_CN.UTF-8"}) == "zh_Hans"
    assert environment_language({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}) == "en"
    assert environment_language({"LC_ALL": "", "LC_MESSAGES": "zh_CN", "LANG": "en_US"}) == "zh_Hans"


def test_every_error_code_has_both_texts_in_both_languages() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for code, error in ERRORS.items():
            assert error.code == code
            assert text(error.remedy) and text(error.remedy, lang="zh_Hans") != text(error.remedy)


def test_a_host_error_is_told_in_the_language_of_the_reader() -> None:
    error = HostError("PORT_IN_USE", host="127.0.0.1", port=8080)
    assert str(error) == "PORT_IN_USE: Port 8080 on 127.0.0.1 is already in use."
    assert "8080" in error.message("zh_Hans") and "占用" in error.message("zh_Hans")
    assert "--port" in error.remedy("zh_Hans")
    with pytest.raises(KeyError):
        HostError("NO_SUCH_CODE")


def test_the_limits_table_names_every_constant_once() -> None:
    constants = {name for name in vars(limits) if name.isupper()} - {"KIB", "MIB", "LIMITS", "FIXED"}
    assert [limit.name for limit in limits.LIMITS] == list(dict.fromkeys(limit.name for limit in limits.LIMITS))
    assert {limit.name for limit in limits.LIMITS} == constants
    assert constants > limits.FIXED
    for limit in limits.LIMITS:
        assert limit.value == getattr(limits, limit.name) > 0
        assert limit.reason.endswith(".")


def test_the_installed_version_is_read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _version.running_version() == _version.__version__
    monkeypatch.setattr(metadata, "version", lambda name: "9.9.9")
    assert (_version.running_version(), _version.installed_version()) == (_version.__version__, "9.9.9")

    def absent(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", absent)
    assert _version.installed_version() is None
