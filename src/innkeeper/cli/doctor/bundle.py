"""`innkeeper doctor bundle`: what a report needs, in one file (C5.5).

Rules
* In it are logs, decisions, exposure records, the findings of `doctor` and versions; no conversation, no declaration,
  no token, no value of an environment variable.
* Everything passes the redaction: secrets of this machine's Innkeeper and what looks like one are replaced, and so is
  the home directory.
* What cannot be read is named in `notes`, and the rest is written all the same. The file is for its owner only.
"""

import json
import os
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from innkeeper.cli.options import json_option
from innkeeper.cli.words import text

if TYPE_CHECKING:
    from innkeeper.settings.paths import Paths
    from innkeeper.telemetry.redaction import Redaction

LOG_BYTES: Final = 2 * 1024 * 1024
"""Of each log file, its end."""
LOG_FILES: Final = 3


@click.command(help=text("cli.doctor.bundle.help"))
@click.option("--data-dir", type=click.Path(path_type=Path, file_okay=False), help=text("cli.option.dataDir"))
@click.option("--output", "-o", type=click.Path(path_type=Path, dir_okay=False), help=text("cli.doctor.bundle.output"))
@json_option
def bundle(data_dir: Path | None, output: Path | None, as_json: bool) -> None:
    """Its help is in the catalogue."""
    from innkeeper.cli.folders import find_folders
    from innkeeper.cli.output import note, print_json

    at = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    path = (output or Path(f"innkeeper-bundle-{at}.zip")).resolve()
    names = write_bundle(path, find_folders(data_dir))
    if as_json:
        print_json({"file": str(path), "contents": names})
    else:
        note(text("cli.doctor.bundle.done", path=path, names=", ".join(names)))


def write_bundle(path: Path, paths: "Paths") -> list[str]:
    """Write the file; the names of what is in it. Raises CliError when it cannot be written."""
    from innkeeper.cli.failures import CliError

    redaction, notes = _redaction(paths), list[str]()
    contents = {**dict(_documents(paths, notes)), **dict(_logs(paths.logs, notes))}
    contents["notes.txt"] = "\n".join(notes) or "everything could be read"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in contents.items():
                archive.writestr(name, _clean(content, redaction))
    except OSError as error:
        message = text("cli.doctor.bundle.unwritable", path=path, reason=error.strerror)
        raise CliError(message, code="SYSTEM_REFUSED") from error
    return list(contents)


def _documents(paths: "Paths", notes: list[str]) -> Iterator[tuple[str, str]]:
    from innkeeper.app.compose import DATABASE
    from innkeeper.cli.doctor.checks import Machine, all_checks
    from innkeeper.ports.log import StoreError
    from innkeeper.store.sqlite.reading import read_decisions
    from innkeeper.workspace.record_file import FILE_NAME, read_records

    found = [check.document() for check in all_checks(Machine(paths.config_file, paths.data, paths.state))]
    yield "doctor.json", _json(found)
    yield "versions.json", _json(_versions())
    try:
        stored = read_decisions(paths.data / DATABASE)
    except StoreError as error:
        notes.append(f"decisions: {error}")
    else:
        decisions = [decision._asdict() for decision in stored.decisions]
        yield "decisions.json", _json({"decisions": decisions, "grants": [grant._asdict() for grant in stored.grants]})
    records = read_records(paths.data / FILE_NAME)
    yield "exposure.jsonl", "\n".join(json.dumps(record, ensure_ascii=False) for record in records)


def _logs(folder: Path, notes: list[str]) -> Iterator[tuple[str, str]]:
    from innkeeper.telemetry.logs import FILE_NAME

    for path in sorted(folder.glob(f"{FILE_NAME}*"))[:LOG_FILES]:
        try:
            with path.open("rb") as file:
                file.seek(max(0, path.stat().st_size - LOG_BYTES))
                yield f"logs/{path.name}", file.read(LOG_BYTES).decode("utf-8", "replace")
        except OSError as error:
            notes.append(f"{path.name}: {error.strerror}")


def _versions() -> dict[str, Any]:
    import platform
    from importlib import metadata

    from innkeeper._version import running_version

    wanted = ("mcp", "msgspec", "starlette", "uvicorn", "websockets", "httpx", "click", "psutil")
    found = {name: version for name in wanted if (version := _version_of(metadata, name)) is not None}
    return {
        "innkeeper": running_version(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "libraries": found,
    }


def _version_of(metadata: Any, name: str) -> str | None:
    try:
        return str(metadata.version(name))
    except metadata.PackageNotFoundError:
        return None


def _redaction(paths: "Paths") -> "Redaction":
    """Knows the token of a host that runs, and the values of inputs."""
    from innkeeper.edge.discovery import find_running
    from innkeeper.errors import HostError
    from innkeeper.settings.config import read_settings
    from innkeeper.settings.inputs import Inputs
    from innkeeper.telemetry.redaction import Redaction

    known = Redaction()
    endpoint = find_running(paths.state)
    known.add(None if endpoint is None else endpoint.token, os.environ.get("INNKEEPER_TOKEN"))
    try:
        settings = read_settings(paths.config_file)
        known.add(*Inputs(paths.config, settings.input_values, os.environ).load().values())
    except HostError:
        # What cannot be read is a finding of `doctor`, and gives no secret to anybody either.
        return known
    return known


def _clean(content: str, redaction: "Redaction") -> str:
    home = os.path.expanduser("~")
    cleaned = redaction.clean(content)
    return cleaned.replace(home, "~") if len(home) > 1 else cleaned


def _json(document: object) -> str:
    return json.dumps(document, ensure_ascii=False, indent=2, default=str)
