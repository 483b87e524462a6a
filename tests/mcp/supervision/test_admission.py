"""What of the SDK is used, and versions that no test ran with (M7.8)."""

import logging
from importlib.metadata import version
from typing import Any

import pytest

from innkeeper.mcp.supervision import admission as admissions
from innkeeper.mcp.supervision.admission import NEEDED, TESTED, Admission, admission, admit, is_present

KNOWN = {name: next(iter(numbers)) for name, numbers in TESTED.items()}


def test_tested_versions_are_used_without_a_look() -> None:
    def never(name: str) -> bool:
        raise AssertionError(name)

    assert admit(KNOWN, never) == Admission({}, {})


def test_the_installed_versions_are_tested_ones_and_have_every_name() -> None:
    assert {name: version(name) in TESTED[name] for name in TESTED} == dict.fromkeys(TESTED, True)
    assert [name for names in NEEDED.values() for name in names if not is_present(name)] == []


def test_other_version_with_all_capabilities_is_used_and_said_once(
    monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    monkeypatch.setattr(admissions, "_version", lambda name: "99.0" if name == "mcp" else KNOWN[name])
    admission.cache_clear()
    caplog.set_level(logging.INFO)
    try:
        found = admission()
        assert admission() is found
    finally:
        admission.cache_clear()
    assert found.unverified == {"mcp": "99.0"}
    assert all(found.allows(part) for part in NEEDED)
    assert caplog.text.count("version unverified, capabilities confirmed") == 1


@pytest.mark.parametrize("part", list(NEEDED))
def test_missing_name_takes_its_part_off_and_the_core_takes_everything(part: Any) -> None:
    lost = NEEDED[part][0]
    found = admit({**KNOWN, "mcp": "99.0"}, lambda name: name != lost)
    assert found.missing == {part: (lost,)}
    off = {other for other in NEEDED if not found.allows(other)}
    assert off == (set(NEEDED) if part == "connect" else {part})


def test_name_that_is_not_there_is_not_present() -> None:
    assert not is_present("no_such_module_of_ours:x")
    assert not is_present("asyncio:no_such_name")
    assert is_present("asyncio:Task.cancel")
