"""`innkeeper tour`: all of it with real processes, and its failures."""

import json
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest

from innkeeper.cli import exit_codes
from innkeeper.cli.tour import command
from innkeeper.cli.tour.guest import Company
from innkeeper.cli.tour.stage import Stage, StepFailed
from innkeeper.cli.tour.steps import STEPS, Step


def left_behind() -> list[list[str]]:
    """Command lines of processes that a tour has started, whoever started the tour."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        words = process.info["cmdline"] or []
        if any(word.startswith("tour-") for word in words) and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(words)
    return found


@pytest.mark.timeout(90)
def test_the_tour_shows_every_step_and_leaves_nothing_behind(quiet: Any) -> None:
    """issue 2, section 8"""
    before = left_behind()
    done = quiet.run("tour", "--json")
    lines = [json.loads(line) for line in done.out.splitlines()]
    steps, summary = lines[:-1], lines[-1]
    assert [(line["step"], line["ok"]) for line in steps] == [(step.id, True) for step in STEPS], done.err
    assert (done.code, summary["ok"], summary["passed"]) == (exit_codes.OK, True, len(STEPS))
    assert {line["version"] for line in lines} == {1}
    assert summary["ms"] < 15_000
    assert left_behind() == before
    assert not (quiet.folder / "home").exists()


@pytest.mark.timeout(90)
def test_ctrl_c_ends_everything_that_the_tour_started(quiet: Any) -> None:
    before = left_behind()
    process = quiet.start("tour", "--json")
    children: list[psutil.Process] = []
    for line in process.stdout:
        if json.loads(line)["step"] == "connect":
            children = psutil.Process(process.pid).children(recursive=True)
            process.send_signal(signal.SIGINT)
            break
    assert len(children) >= 3
    process.communicate(timeout=30)
    assert process.returncode == exit_codes.INTERRUPTED
    _, alive = psutil.wait_procs(children, timeout=5)
    assert [child for child in alive if child.status() != psutil.STATUS_ZOMBIE] == []
    assert left_behind() == before


async def _fails(company: Company) -> str:
    raise StepFailed("not as it should be")


async def _works(company: Company) -> str:
    return "fine"


@pytest.mark.parametrize("as_json", [True, False])
def test_a_step_that_fails_ends_the_tour_with_1(inside: Any, monkeypatch: pytest.MonkeyPatch, as_json: bool) -> None:
    planned = (Step("start", _works), Step("open", _fails), Step("end", _works))
    monkeypatch.setattr("innkeeper.cli.tour.steps.STEPS", planned)
    done = inside("tour", *(["--json"] if as_json else []))
    assert done.code == exit_codes.FAILED
    if as_json:
        lines = [json.loads(line) for line in done.out.splitlines()]
        assert [line.get("ok") for line in lines] == [True, False, False]
        assert (lines[1]["seen"], lines[2]["passed"]) == ("not as it should be", 1)
    else:
        assert "not as it should be" in done.out
        assert len(done.out.splitlines()) == 3


@pytest.mark.anyio
async def test_a_host_that_does_not_start_is_a_failed_step_with_its_last_words(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.build()
    (tmp_path / "home" / "config").mkdir()
    (tmp_path / "home" / "config" / "config.toml").write_text("nonsense = 1\n", encoding="utf-8")
    with pytest.raises(StepFailed):
        await stage.start_host()
    assert "CONFIG_INVALID" in stage.log_tail()
    await stage.tidy()
    assert stage.host is not None
    assert stage.host.returncode is not None


def test_every_step_has_a_title_of_its_own() -> None:
    titles = {command.text(f"cli.tour.step.{step.id}") for step in STEPS}
    assert len(titles) == len(STEPS)
