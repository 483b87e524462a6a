"""Log lines: complete, private, and without secrets (dependencies §0; issue 2, section 5)."""

import asyncio
import io
import json
import logging
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.telemetry.logs import (
    FILE_NAME,
    LogOptions,
    log_context,
    log_options,
    start_logging,
    stop_logging,
)
from innkeeper.telemetry.redaction import MARK, Redaction

SECRET = "s3cret/token+of=a test"
log = logging.getLogger("innkeeper.tests")

Lines = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def started(tmp_path: Path) -> Iterator[tuple[io.StringIO, Lines, Redaction]]:
    """Logging into a stream and a file; all levels."""
    level = logging.getLogger().level
    stream, redaction = io.StringIO(), Redaction([SECRET])
    start_logging(LogOptions(logging.DEBUG, logging.DEBUG, tmp_path / "logs" / "x.jsonl"), redaction, stream)
    yield (
        stream,
        lambda: [json.loads(line) for line in (tmp_path / "logs" / "x.jsonl").read_text().splitlines()],
        redaction,
    )
    stop_logging()
    logging.getLogger().setLevel(level)


def test_people_read_lines_and_programs_read_json(started: tuple[io.StringIO, Lines, Redaction]) -> None:
    stream, lines, _ = started
    log.info("loaded %d files\nin %s", 3, "a\tb")
    assert stream.getvalue().endswith(" info innkeeper.tests: loaded 3 files\nin a\tb\n")
    (line,) = lines()
    assert line.pop("time").endswith("Z")
    assert line == {"level": "info", "logger": "innkeeper.tests", "message": "loaded 3 files\nin a\tb"}


def test_a_line_says_for_which_session_client_and_turn_it_was_written(
    started: tuple[io.StringIO, Lines, Redaction],
) -> None:
    stream, lines, _ = started

    async def work(session: str) -> None:
        with log_context(session=session, client="c1"):
            await asyncio.sleep(0)
            with log_context(turn="t1"):
                log.info("inner")
            log.info("outer")

    async def both() -> None:
        await asyncio.gather(work("s1"), work("s2"))

    asyncio.run(both())
    found = [(line["message"], line.get("session"), line.get("turn")) for line in lines() if "inner" in str(line)]
    assert found == [("inner", "s1", "t1"), ("inner", "s2", "t1")]
    assert {line.get("session") for line in lines() if line["message"] == "outer"} == {"s1", "s2"}
    assert "inner (session=s1 client=c1 turn=t1)" in stream.getvalue()
    log.info("afterwards")
    assert "session" not in lines()[-1]


def test_no_secret_is_written_wherever_it_stands(started: tuple[io.StringIO, Lines, Redaction]) -> None:
    stream, lines, redaction = started
    later = "registered-later"
    redaction.add(later, None, "")
    log.warning("token %s and %s", SECRET, later)
    log.warning("GET /?a=1&tkn=some-other-token&b=2 HTTP/1.1")
    log.warning("headers: %s", {"Authorization": "Bearer yet-another-one", "x": "kept"})
    log.warning("quoted s3cret%%2Ftoken%%2Bof%%3Da%%20test".replace("%%", "%"))
    try:
        raise RuntimeError(f"failed with {SECRET}")
    except RuntimeError:
        log.exception("it failed")
    with log_context(session=f"x-{later}"):
        log.warning("in context")
    written = stream.getvalue() + json.dumps(lines(), ensure_ascii=False)
    for secret in (SECRET, later, "some-other-token", "yet-another-one", "s3cret"):
        assert secret not in written
    assert "kept" in written
    assert "a=1&tkn=•••&b=2" in written
    assert f"RuntimeError: failed with {MARK}" in written


@given(st.lists(st.text(min_size=6, max_size=20), max_size=5), st.text(max_size=30))
def test_redaction_leaves_no_known_secret_in_any_text(secrets: list[str], noise: str) -> None:
    redaction = Redaction(secrets)
    text = noise.join(secrets)
    cleaned = redaction.clean(text)
    assert not any(secret in cleaned.replace(MARK, "\0") for secret in secrets)


def test_the_file_is_private_rotated_and_limited_in_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: tuple[io.StringIO, Lines, Redaction]
) -> None:
    stop_logging()
    monkeypatch.setattr("innkeeper.telemetry.logs.FILE_BYTES", 2000)
    monkeypatch.setattr("innkeeper.telemetry.logs.OLDER_FILES", 2)
    path = tmp_path / "new" / "log.jsonl"
    previous = os.umask(0)
    try:
        start_logging(LogOptions(logging.CRITICAL, logging.INFO, path), Redaction(), io.StringIO())
        for number in range(100):
            log.info("line %d of some length", number)
    finally:
        os.umask(previous)
        stop_logging()
    assert sorted(os.listdir(path.parent)) == ["log.jsonl", "log.jsonl.1", "log.jsonl.2"]
    for name in os.listdir(path.parent):
        assert stat.S_IMODE((path.parent / name).stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_file_that_cannot_be_written_is_said_and_the_host_goes_on(
    tmp_path: Path, started: tuple[io.StringIO, Lines, Redaction]
) -> None:
    (tmp_path / "file").write_text("")
    stream = io.StringIO()
    start_logging(LogOptions(file=tmp_path / "file" / "x.jsonl"), Redaction(), stream)
    log.error("still here")
    assert "no log file" in stream.getvalue()
    assert "still here" in stream.getvalue()


@pytest.mark.parametrize(
    ("spec", "quiet", "expected"),
    [
        (None, False, LogOptions(logging.WARNING, logging.INFO, Path("/logs") / FILE_NAME)),
        ("debug", False, LogOptions(logging.DEBUG, logging.DEBUG, Path("/logs") / FILE_NAME)),
        ("error:/x/y.log", False, LogOptions(logging.ERROR, logging.ERROR, Path("/x/y.log"))),
        (":/x/y.log", False, LogOptions(logging.WARNING, logging.INFO, Path("/x/y.log"))),
        ("info:-", False, LogOptions(logging.INFO, logging.INFO, None)),
        (None, True, LogOptions(logging.ERROR, logging.INFO, None)),
        ("debug", True, LogOptions(logging.DEBUG, logging.DEBUG, None)),
        ("debug:/x/y.log", True, LogOptions(logging.DEBUG, logging.DEBUG, Path("/x/y.log"))),
    ],
)
def test_what_the_option_means(spec: str | None, quiet: bool, expected: LogOptions) -> None:
    assert log_options(spec, quiet=quiet, folder=Path("/logs")) == expected


def test_levels_hold_for_each_place_separately(tmp_path: Path, started: tuple[io.StringIO, Lines, Redaction]) -> None:
    stream = io.StringIO()
    path = tmp_path / "y.jsonl"
    start_logging(LogOptions(logging.WARNING, logging.INFO, path), Redaction(), stream)
    log.debug("nowhere")
    log.info("file only")
    log.warning("both")
    assert "file only" not in stream.getvalue()
    assert [json.loads(line)["message"] for line in path.read_text().splitlines()] == ["file only", "both"]
