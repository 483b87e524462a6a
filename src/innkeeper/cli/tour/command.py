"""The command: one line a step, with what was seen and how long it took; exit code 1 when a step fails."""

import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from innkeeper.cli import exit_codes
from innkeeper.cli.options import json_option
from innkeeper.cli.words import text

if TYPE_CHECKING:
    from innkeeper.cli.tour.guest import Company
    from innkeeper.cli.tour.steps import Step


@click.command(help=text("cli.tour.help"), epilog=text("cli.tour.epilog"))
@click.argument("what", required=False, type=click.Choice(["enablement"]), metavar="[enablement]")
@json_option
def tour(what: str | None, as_json: bool) -> int:
    """Its help is in the catalogue."""
    from innkeeper.cli.reach import run
    from innkeeper.cli.tour.enablement import ENABLEMENT_STEPS
    from innkeeper.cli.tour.steps import STEPS

    with tempfile.TemporaryDirectory(prefix="innkeeper-tour-") as folder:
        return run(_tour(Path(folder).resolve(), ENABLEMENT_STEPS if what == "enablement" else STEPS, as_json))


async def _tour(folder: Path, steps: "Sequence[Step]", as_json: bool) -> int:
    from innkeeper.cli.output import note, print_json_line
    from innkeeper.cli.tour.guest import Company
    from innkeeper.cli.tour.stage import Stage

    stage = Stage(folder)
    company, began, passed = Company(stage), time.monotonic(), 0
    try:
        for step in steps:
            if not await _show(step, company, as_json):
                break
            passed += 1
        tail = stage.log_tail() if passed < len(steps) else ""
    finally:
        try:
            await company.leave()
        finally:
            await asyncio.shield(stage.tidy())
    ok, milliseconds = passed == len(steps), _since(began)
    if as_json:
        print_json_line({"ok": ok, "steps": len(steps), "passed": passed, "ms": milliseconds})
    else:
        click.echo(text("cli.tour.allPassed" if ok else "cli.tour.failed", n=passed, ms=f"{milliseconds:,}"))
    if tail:
        note(tail)
    return exit_codes.OK if ok else exit_codes.FAILED


async def _show(step: "Step", company: "Company", as_json: bool) -> bool:
    from innkeeper.cli.failures import tell
    from innkeeper.cli.output import print_json_line

    began, ok = time.monotonic(), True
    try:
        seen = await step.show(company)
    except TimeoutError:
        ok, seen = False, text("cli.tour.timeout")
    except Exception as error:
        told = tell(error)
        if told is None:
            raise
        ok, seen = False, told.message
    title, milliseconds = text(f"cli.tour.step.{step.id}"), _since(began)
    if as_json:
        print_json_line({"step": step.id, "ok": ok, "title": title, "seen": seen, "ms": milliseconds})
    else:
        mark = click.style("✓", fg="green") if ok else click.style("✗", fg="red")
        click.echo(f"{mark} {title}: {seen} ({milliseconds:,} ms)")
    sys.stdout.flush()
    return ok


def _since(began: float) -> int:
    return round((time.monotonic() - began) * 1000)
