"""`innkeeper status`: whether a host runs, where, and in which version."""

from pathlib import Path
from typing import Any

import click

from innkeeper.cli import exit_codes
from innkeeper.cli.options import host_options, json_option
from innkeeper.cli.words import LANGUAGE, text


@click.command(help=text("cli.status.help"), epilog=text("cli.status.epilog"))
@json_option
@host_options
def status(url: str | None, token: str | None, data_dir: Path | None, as_json: bool) -> int:
    """Its help is in the catalogue."""
    from innkeeper._version import installed_version
    from innkeeper.cli.output import note, print_json, print_pairs
    from innkeeper.cli.reach import Wanted, run
    from innkeeper.errors import HostError

    try:
        report = run(_report(Wanted(url, token, data_dir)))
    except HostError as error:
        if error.code != "HOST_NOT_RUNNING":
            raise
        if as_json:
            print_json({"running": False, "installedVersion": installed_version()})
        else:
            note(f"{error.message(LANGUAGE)} [{error.code}]")
            note(error.remedy(LANGUAGE))
        return exit_codes.NO_HOST
    if as_json:
        print_json(report)
    else:
        print_pairs(_lines(report))
        if report["installedVersion"] not in (None, report["runningVersion"]):
            note(text("cli.status.outdated"))
        if report["questions"] is False:
            note(text("cli.status.noQuestions"))
        _note_settings(report.get("settings") or {})
    return exit_codes.OK


async def _report(wanted: Any) -> dict[str, Any]:
    from innkeeper._version import installed_version
    from innkeeper.cli.reach import connection, locate
    from innkeeper.client import RpcFailure

    place = locate(wanted)
    async with connection(wanted) as client:
        try:
            told: dict[str, Any] = await client.request("x-innkeeper/status", {"channel": "ahp-root://"})
        except RpcFailure:
            # Another AHP host, which does not know our command: what the protocol says of it is shown.
            told = {"agents": [agent["provider"] for agent in client.root.state["agents"]]}
        endpoint = place.endpoint
        return {
            "running": True,
            "url": endpoint.url if endpoint else wanted.url,
            "socket": endpoint.socket if endpoint else None,
            "pid": endpoint.pid if endpoint else None,
            "dataDir": endpoint.data_dir if endpoint else None,
            "startedAt": endpoint.started_at if endpoint else None,
            "uptimeSeconds": told.get("uptimeSeconds"),
            "runningVersion": told.get("version"),
            "installedVersion": installed_version(),
            "protocolVersion": client.protocol_version,
            "agents": told.get("agents", []),
            "sessions": told.get("sessions"),
            "runningTurns": told.get("runningTurns"),
            "questions": told.get("questions"),
            "settings": told.get("settings"),
        }


def _note_settings(settings: dict[str, Any]) -> None:
    """What a person must know of the settings: what is broken, what waits (M9.6)."""
    from innkeeper.cli.output import note

    fault = settings.get("fault")
    if fault:
        note(f"{fault['message']} [{fault['code']}]")
        note(fault["remedy"])
    if settings.get("afterRestart"):
        note(text("cli.config.afterRestart", names=", ".join(settings["afterRestart"])))


def _lines(report: dict[str, Any]) -> list[tuple[str, str]]:
    named = ("url", "socket", "pid", "dataDir", "startedAt", "runningVersion", "installedVersion", "protocolVersion")
    values = [(name, report[name]) for name in named]
    values += [("agents", ", ".join(report["agents"])), ("sessions", report["sessions"])]
    values += [("runningTurns", report["runningTurns"])]
    return [(text(f"cli.status.{name}"), str(value)) for name, value in values if value is not None]
