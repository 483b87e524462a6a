"""How the CLI finds the host that runs: one file in the state folder (issue 2, section 5).

Rules
* The file holds the token, so it is 0600 in a folder of 0700. It is written after listening, whole or not at all, and
  removed at exit by the process that wrote it.
* A file whose process is gone, or is another one with the same number, is ignored and removed.
"""

import contextlib
import os
import re
import secrets
import sys
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from innkeeper.errors import HostError
from innkeeper.wire.json import JsonError, decode, encode

FILE_NAME: Final = "endpoint.json"
_TOLERANCE_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A running host. `started_at` and `version` are its own; `url` has no token and is None without TCP."""

    pid: int
    process_started: float
    """When the process began, in seconds since 1970 as the system counts them: tells it from a later one."""
    url: str | None
    port: int | None
    socket: str | None
    token: str | None = field(repr=False)
    version: str
    data_dir: str
    started_at: str

    @property
    def target(self) -> str:
        """What the client library connects to: the Unix socket where there is one."""
        return f"unix:{self.socket}" if self.socket else self.url or ""


def process_started() -> float:
    """`Endpoint.process_started` of this process, as `psutil` counts it, which a host need not load to start."""
    if sys.platform == "linux":
        ticks = int(Path("/proc/self/stat").read_text(errors="replace").rpartition(")")[2].split()[19])
        booted = re.search(r"^btime (\d+)$", Path("/proc/stat").read_text(), re.MULTILINE)
        if booted is not None:
            return int(booted[1]) + ticks / os.sysconf("SC_CLK_TCK")
    import psutil

    return float(psutil.Process().create_time())


def write_endpoint(state_dir: Path, endpoint: Endpoint) -> Path:
    """Publishes the endpoint; the path of its file. Raises `HostError` DATA_DIR_UNWRITABLE."""
    path = state_dir / FILE_NAME
    temporary = state_dir / f".{FILE_NAME}.{secrets.token_hex(4)}"
    try:
        state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with open(descriptor, "wb") as file:
                file.write(encode(asdict(endpoint)))
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise HostError("DATA_DIR_UNWRITABLE", path=state_dir) from error
    return path


def remove_endpoint(state_dir: Path) -> None:
    """Takes back what this process published; a file of another host stays."""
    found = _read(state_dir / FILE_NAME)
    if found is not None and found.pid == os.getpid():
        with contextlib.suppress(OSError):  # gone already
            (state_dir / FILE_NAME).unlink()


def find_running(state_dir: Path) -> Endpoint | None:
    """The host that published itself here and still runs; what a dead one left is removed."""
    path = state_dir / FILE_NAME
    endpoint = _read(path)
    if endpoint is not None and _runs(endpoint):
        return endpoint
    with contextlib.suppress(OSError):  # it may have gone, or belong to somebody else
        if _read(path) == endpoint:
            path.unlink()
    return None


def _runs(endpoint: Endpoint) -> bool:
    import psutil

    try:
        process = psutil.Process(endpoint.pid)
        started = float(process.create_time())
        return abs(started - endpoint.process_started) < _TOLERANCE_SECONDS and process.status() != psutil.STATUS_ZOMBIE
    except (psutil.Error, ValueError):
        return False


def _read(path: Path) -> Endpoint | None:
    """None when there is no file, or none of ours."""
    try:
        value = decode(path.read_bytes())
    except (OSError, JsonError):
        return None
    if not isinstance(value, dict):
        return None
    known: dict[str, Any] = {entry.name: value.get(entry.name) for entry in fields(Endpoint)}
    shapes: dict[str, tuple[type, ...]] = {
        "pid": (int,), "process_started": (int, float), "version": (str,), "data_dir": (str,), "started_at": (str,),
        "url": (str, type(None)), "port": (int, type(None)), "socket": (str, type(None)), "token": (str, type(None)),
    }  # fmt: skip
    return Endpoint(**known) if all(isinstance(known[name], shape) for name, shape in shapes.items()) else None
