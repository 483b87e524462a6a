"""What is installed: this package, its libraries, its extras, the agents. Versions come from the installed metadata."""

import json
import os
import re
from collections.abc import Iterator
from importlib import metadata
from typing import TYPE_CHECKING

from innkeeper._version import DISTRIBUTION, installed_from, installed_version, running_version
from innkeeper.cli.doctor.checks import Check, Machine, State
from innkeeper.cli.words import text

if TYPE_CHECKING:
    from innkeeper.providers.spi import Provider

REQUIREMENT = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)(?P<bounds>[^;]*)(?:;(?P<marker>.*))?$")
EXTRA = re.compile(r"extra\s*==\s*['\"](?P<extra>[^'\"]+)['\"]")


def check_installation() -> Check:
    """The version that runs, and from where it was installed."""
    running, installed = running_version(), installed_version()
    source = _source()
    if installed is None:
        return Check(
            "installation", "warn", text("cli.doctor.installation.tree", version=running, path=installed_from())
        )
    detail = text("cli.doctor.installation.detail", version=running, source=source)
    if installed != running:
        remedy = text("cli.doctor.installation.remedy", installed=installed)
        return Check("installation", "warn", detail, remedy)
    return Check("installation", "ok", detail)


def check_libraries() -> Check:
    """What a host needs and cannot do without."""
    wanted = [name for name, extra in _requirements() if extra is None]
    missing = [name for name in wanted if _version(name) is None]
    if missing:
        return Check("libraries", "fail", text("cli.doctor.libraries.missing", names=", ".join(missing)), _reinstall())
    return Check("libraries", "ok", ", ".join(f"{name} {_version(name)}" for name in wanted) or "?")


def check_extras() -> Iterator[Check]:
    """Each extra: there, or how to get it. An absent extra is nothing wrong."""
    extras: dict[str, list[str]] = {}
    for name, extra in _requirements():
        if extra is not None:
            extras.setdefault(extra, []).append(name)
    for extra, names in extras.items():
        present = [f"{name} {_version(name)}" for name in names if _version(name)]
        absent = [name for name in names if not _version(name)]
        if absent:
            remedy = f"pip install '{DISTRIBUTION}[{extra}]'"
            yield Check(f"extra.{extra}", "ok", text("cli.doctor.extra.absent", names=", ".join(absent)), remedy)
        else:
            yield Check(f"extra.{extra}", "ok", ", ".join(present))


def check_mcp() -> Check:
    """Whether the installed MCP libraries are tested ones, and else whether they have what is needed (M7.8)."""
    from innkeeper.mcp.supervision.admission import TESTED, admission

    found = admission()
    names = ", ".join(f"{name} {_version(name) or '?'}" for name in TESTED)
    if found.missing:
        state: State = "fail" if "connect" in found.missing else "warn"
        detail = text("cli.doctor.mcp.missing", names=names, parts=", ".join(sorted(found.missing)))
        return Check("mcp", state, detail, _reinstall())
    if found.unverified:
        return Check("mcp", "ok", text("cli.doctor.mcp.unverified", names=names))
    return Check("mcp", "ok", names)


def check_agents(machine: Machine) -> Iterator[Check]:
    """Each agent that this version can drive: there, or what is missing and how to get it (issue 6 §5, M7.8). One that
    is missing is nothing wrong: the others work."""
    from innkeeper.app.agents import FOLDER, looked_at
    from innkeeper.settings.config import Settings, read_settings
    from innkeeper.settings.problems import SettingsInvalid

    yield Check("agent.console", "ok", text("cli.doctor.agent.console"))
    try:
        settings = read_settings(machine.config_file)
    except SettingsInvalid:
        settings = Settings()
    for name, provider in looked_at(settings, machine.data / FOLDER, os.environ):
        try:
            yield _agent(name, provider)
        except Exception as error:  # an SDK of another maker that cannot even be imported
            detail = text("cli.doctor.unknown", reason=type(error).__name__)
            yield Check(f"agent.{name}", "warn", detail, text("error.AGENT_UNSUPPORTED.remedy"))


def _agent(name: str, provider: "Provider") -> Check:
    from innkeeper.providers.spi import Inspecting

    missing = provider.unavailable
    if missing is not None:
        return Check(f"agent.{name}", "warn", missing.reason, missing.remedy)
    if not isinstance(provider, Inspecting):
        return Check(f"agent.{name}", "ok", provider.info["displayName"])
    found = provider.inspect()
    versions = ", ".join(f"{part} {version or '?'}" for part, version in found.versions.items())
    if found.lacking:
        detail = text("cli.doctor.agent.lacking", versions=versions, parts=", ".join(found.lacking))
        return Check(f"agent.{name}", "warn", detail, text("error.AGENT_UNSUPPORTED.remedy"))
    if not found.tested:
        known = all(found.versions.values())
        said = "cli.doctor.agent.unverified" if known else "cli.doctor.agent.versionUnknown"
        versions = text(said, versions=versions)
    return Check(f"agent.{name}", "ok", versions)


def _source() -> str:
    """From where the distribution was installed: a URL with its commit, a directory, or a package index."""
    try:
        raw = metadata.distribution(DISTRIBUTION).read_text("direct_url.json")
        found = json.loads(raw) if raw else {}
    except (metadata.PackageNotFoundError, ValueError):
        found = {}
    url, commit = found.get("url"), (found.get("vcs_info") or {}).get("commit_id")
    if not url:
        return str(installed_from())
    return f"{url}@{commit}" if commit else str(url)


def _requirements() -> Iterator[tuple[str, str | None]]:
    try:
        lines = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        lines = []
    for line in lines:
        match = REQUIREMENT.match(line)
        if match is not None:
            extra = EXTRA.search(match["marker"] or "")
            yield match["name"], extra["extra"] if extra else None


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _reinstall() -> str:
    return f"pip install --force-reinstall {DISTRIBUTION}"
