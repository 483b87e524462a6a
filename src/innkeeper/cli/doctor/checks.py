"""The checks, one function each. A check looks and changes nothing; what it cannot find out is a warning.

`ok`: nothing to do. `warn`: works, with a limit. `fail`: a host would not start or not work.
"""

import contextlib
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from innkeeper.cli.words import LANGUAGE, text

State = Literal["ok", "warn", "fail"]
MIB = 1024 * 1024
OPEN_FILES = 1024
WATCHES = 8192
INSTANCES = 128
DISK_WARN = 1024 * MIB
DISK_FAIL = 100 * MIB
INOTIFY = Path("/proc/sys/fs/inotify")


@dataclass(frozen=True, slots=True)
class Check:
    """One finding; `detail` and `remedy` are for people."""

    id: str
    state: State
    detail: str
    remedy: str = ""

    def document(self) -> dict[str, object]:
        return {"id": self.id, "state": self.state, "detail": self.detail, "remedy": self.remedy or None}


@dataclass(frozen=True, slots=True)
class Machine:
    """What is looked at: the directories of this user's Innkeeper, and the port that its settings ask for."""

    config_file: Path
    data: Path
    state: Path


def check_python() -> Check:
    version = platform.python_version()
    detail = text("cli.doctor.python.detail", version=version, executable=sys.executable)
    return Check("python", "ok", detail)


def check_platform(system: str = sys.platform) -> Check:
    detail = f"{platform.system()} {platform.release()} ({platform.machine()})"
    if system.startswith("linux"):
        return Check("platform", "ok", detail)
    if system == "darwin":
        return Check("platform", "warn", detail, text("cli.doctor.platform.untested"))
    return Check("platform", "fail", detail, text("error.PLATFORM_UNSUPPORTED.remedy"))


def check_git() -> Check:
    found = shutil.which("git")
    if found is None:
        return Check("git", "warn", text("cli.doctor.git.missing"), text("cli.doctor.git.remedy"))
    return Check("git", "ok", found)


def check_grammar() -> Check:
    """Without the grammar of command lines each of them is asked about (K16)."""
    from innkeeper.host.approval.shell.grammar import load

    if load() is None:
        return Check("grammar", "warn", text("approval.shell.noParser"), text("cli.doctor.grammar.remedy"))
    return Check("grammar", "ok", "tree-sitter-bash")


def check_web() -> Check:
    """Templates, static files and texts of the web UI; without them it is refused, and the host runs."""
    from innkeeper.web.completeness import problems

    if found := problems():
        detail = text("error.WEB_INCOMPLETE.meaning", files=", ".join(found[:5]))
        return Check("web", "warn", detail, text("error.WEB_INCOMPLETE.remedy"))
    return Check("web", "ok", text("cli.doctor.web.complete"))


def check_data(machine: Machine) -> Check:
    """Whether a host could write there; a directory that does not exist yet is judged by the one that would hold it."""
    path = machine.data
    holder = path
    while not holder.exists() and holder != holder.parent:
        holder = holder.parent
    if not holder.is_dir() or not os.access(holder, os.W_OK | os.X_OK):
        remedy = text("error.DATA_DIR_UNWRITABLE.remedy")
        return Check("data", "fail", text("cli.doctor.data.unwritable", path=holder), remedy)
    if path.exists() and path.stat().st_mode & 0o077:
        return Check("data", "warn", text("cli.doctor.data.open", path=path), f"chmod 700 {path}")
    return Check("data", "ok", str(path))


def check_lock(machine: Machine) -> Check:
    from innkeeper.edge.discovery import find_running

    endpoint = find_running(machine.state)
    if endpoint is None:
        return Check("lock", "ok", text("cli.doctor.lock.free"))
    return Check("lock", "ok", text("cli.doctor.lock.running", pid=endpoint.pid, version=endpoint.version))


def check_disk(machine: Machine) -> Check:
    holder = machine.data
    while not holder.exists() and holder != holder.parent:
        holder = holder.parent
    free = shutil.disk_usage(holder).free
    detail = text("cli.doctor.disk.detail", mib=f"{free // MIB:,}", path=holder)
    if free < DISK_WARN:
        return Check("disk", "fail" if free < DISK_FAIL else "warn", detail, text("cli.doctor.disk.remedy"))
    return Check("disk", "ok", detail)


def check_open_files() -> Check:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    detail = text("cli.doctor.files.detail", soft=_bound(soft), hard=_bound(hard))
    if soft != resource.RLIM_INFINITY and soft < OPEN_FILES:
        return Check("openFiles", "warn", detail, text("cli.doctor.files.remedy", wanted=OPEN_FILES))
    return Check("openFiles", "ok", detail)


def check_watches(folder: Path = INOTIFY) -> Check:
    """The kernel's limits on watched files; there are none where there is no inotify."""
    try:
        watches = int((folder / "max_user_watches").read_text())
        instances = int((folder / "max_user_instances").read_text())
    except (OSError, ValueError):
        return Check("watches", "ok", text("cli.doctor.watches.none"))
    detail = text("cli.doctor.watches.detail", watches=watches, instances=instances)
    if watches < WATCHES or instances < INSTANCES:
        return Check("watches", "warn", detail, text("cli.doctor.watches.remedy", watches=WATCHES, instances=INSTANCES))
    return Check("watches", "ok", detail)


def check_configuration(machine: Machine) -> Check:
    from innkeeper.cli.settings_file import read_file
    from innkeeper.settings.problems import SettingsInvalid

    try:
        read_file(machine.config_file)
    except SettingsInvalid as error:
        return Check("configuration", "fail", error.message(LANGUAGE), error.remedy(LANGUAGE))
    if not machine.config_file.exists():
        return Check("configuration", "ok", text("cli.doctor.configuration.none", path=machine.config_file))
    return Check("configuration", "ok", str(machine.config_file))


def check_port(machine: Machine) -> Check:
    """Whether a host that is started without options gets its port."""
    import socket

    from innkeeper.edge.discovery import find_running
    from innkeeper.settings.config import read_settings
    from innkeeper.settings.options import DEFAULT_HOST, DEFAULT_PORT
    from innkeeper.settings.problems import SettingsInvalid

    try:
        serve = read_settings(machine.config_file).serve
    except SettingsInvalid:
        serve = {}
    port, host = int(serve.get("port", DEFAULT_PORT)), str(serve.get("host") or DEFAULT_HOST)
    if not port:
        return Check("port", "ok", text("cli.doctor.port.any"))
    endpoint = find_running(machine.state)
    if endpoint is not None and endpoint.port == port:
        return Check("port", "ok", text("cli.doctor.port.ours", host=host, port=port))
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        with contextlib.closing(socket.socket(family, socket.SOCK_STREAM)) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except OSError as error:
        detail = text("cli.doctor.port.taken", host=host, port=port, reason=error.strerror or error)
        return Check("port", "warn", detail, text("error.PORT_IN_USE.remedy"))
    return Check("port", "ok", text("cli.doctor.port.free", host=host, port=port))


def _bound(value: int) -> str:
    import resource

    return "∞" if value == resource.RLIM_INFINITY else str(value)


def all_checks(machine: Machine) -> Iterator[Check]:
    """Every check, in the order in which they are shown; one that breaks is a warning of its own."""
    from innkeeper.cli.doctor.parts import check_agents, check_extras, check_installation, check_libraries, check_mcp

    several: list[tuple[str, Callable[[], Check | Iterable[Check]]]] = [
        ("platform", check_platform),
        ("python", check_python),
        ("installation", check_installation),
        ("libraries", check_libraries),
        ("mcp", check_mcp),
        ("extras", check_extras),
        ("git", check_git),
        ("grammar", check_grammar),
        ("web", check_web),
        ("configuration", lambda: check_configuration(machine)),
        ("data", lambda: check_data(machine)),
        ("lock", lambda: check_lock(machine)),
        ("port", lambda: check_port(machine)),
        ("disk", lambda: check_disk(machine)),
        ("openFiles", check_open_files),
        ("watches", check_watches),
        ("agents", lambda: check_agents(machine)),
    ]
    for id, look in several:
        try:
            found = look()
        except OSError as error:
            yield Check(id, "warn", text("cli.doctor.unknown", reason=error.strerror or error))
            continue
        if isinstance(found, Check):
            yield found
        else:
            yield from found
