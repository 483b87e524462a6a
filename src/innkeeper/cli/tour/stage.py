"""Where the tour takes place: a temporary home and project, a host as a process of its own, and the way to tidy up.

Rules
* Nothing of the user's is read or written: the host gets its own INNKEEPER_HOME and a project directory of its own.
* Every process that was started is ended, also after a failure or Ctrl-C. Servers are told apart from all other
  processes by a word on their command line that only this run has.
"""

import asyncio
import contextlib
import json
import os
import secrets
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from innkeeper.cli.failures import CliError
from innkeeper.cli.words import text

if TYPE_CHECKING:
    import psutil

READY_SECONDS: Final = 10.0
END_SECONDS: Final = 5.0
SERVERS: Final = ("example", "other")


class StepFailed(CliError):
    """A step did not show what it should."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="TOUR_FAILED")


class Stage:
    """One run's directory and processes."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.project = folder / "project"
        self.log = folder / "host.log"
        self.marker = f"tour-{secrets.token_hex(8)}"
        self.host: asyncio.subprocess.Process | None = None

    def build(self) -> None:
        """A project whose `.mcp.json` declares two servers: the example server that comes with Innkeeper."""
        self.home.mkdir(mode=0o700)
        self.project.mkdir()
        arguments = ["-m", "innkeeper.mcp.example_server", self.marker]
        declared = {name: {"command": sys.executable, "args": [*arguments, name]} for name in SERVERS}
        (self.project / ".mcp.json").write_text(json.dumps({"mcpServers": declared}, indent=2), encoding="utf-8")

    async def start_host(self) -> int:
        """Starts `innkeeper serve`, waits until it listens, and gives its port. Raises StepFailed."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("INNKEEPER_")}
        environment["INNKEEPER_HOME"] = str(self.home)
        with self.log.open("ab") as log:
            self.host = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "innkeeper", "serve", "--port", "0", "--quiet",
                stdout=asyncio.subprocess.PIPE, stderr=log, cwd=self.project, env=environment, start_new_session=True,
            )  # fmt: skip
        assert self.host.stdout is not None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(READY_SECONDS):
                line = (await self.host.stdout.readline()).decode().strip()
            if line.startswith("READY:"):
                return int(line.removeprefix("READY:"))
        raise StepFailed(text("cli.tour.noHost"))

    async def kill_host(self) -> None:
        """SIGKILL: the host cannot tidy up."""
        if self.host is not None and self.host.returncode is None:
            self.host.kill()
            await self.host.wait()

    async def end_host(self) -> int:
        """SIGTERM, and the exit code. Raises StepFailed when it does not end."""
        if self.host is None:
            return 0
        if self.host.returncode is None:
            self.host.terminate()
        try:
            async with asyncio.timeout(END_SECONDS):
                return await self.host.wait()
        except TimeoutError as error:
            raise StepFailed(text("cli.tour.doesNotEnd")) from error

    def server_processes(self, name: str | None = None) -> list[int]:
        """The process ids of this run's servers, or of one of them."""
        return [process.pid for process in self._servers(name)]

    async def servers_gone(self, name: str | None = None, seconds: float = END_SECONDS) -> bool:
        """Whether the servers end within that time."""
        import psutil

        _, alive = await asyncio.to_thread(psutil.wait_procs, self._servers(name), seconds)
        return not alive and not self._servers(name)

    async def tidy(self) -> None:
        """Ends whatever still runs, as hard as it takes."""
        if self.host is not None and self.host.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.host.terminate()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(END_SECONDS):
                    await self.host.wait()
            await self.kill_host()
        for pid in self.server_processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _servers(self, name: str | None) -> "list[psutil.Process]":
        import psutil

        found = []
        for process in psutil.process_iter(["cmdline", "status"]):
            line = process.info["cmdline"] or [""]
            alive = process.info["status"] != psutil.STATUS_ZOMBIE
            if alive and self.marker in line and name in (None, line[-1]):
                found.append(process)
        return found

    def log_tail(self, lines: int = 15) -> str:
        """The last words of the host."""
        try:
            return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
        except OSError:
            return ""
