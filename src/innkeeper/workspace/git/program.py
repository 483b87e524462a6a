"""Running git: one command at a time, bounded in time and output, with nothing of the user's set-up that asks or runs.

Rules
* The environment is the host's without git's own variables; no prompt, no pager, no editor, no hook, no file-system
  monitor, no automatic maintenance, English messages, no optional lock, no network but for commands that need files.
  What a repository's configuration would run besides: `foreign`.
* A command runs in a session of its own and is known to the guardian; on a time limit or cancellation its whole group
  gets TERM, so that git removes its lock files, and after a second KILL.
* Output is bytes; names in it end with NUL and are decoded as the file system does.
"""

import asyncio
import contextlib
import os
import re
import shutil
import signal
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from innkeeper.ports.git import GitError
from innkeeper.workspace.git.faults import fault
from innkeeper.workspace.guarding import Guard

OLDEST: Final = (2, 34)
OUTPUT_BYTES: Final = 256 * 1024 * 1024
"""Of one command; far above 100,000 changed files."""
STDERR_BYTES: Final = 64 * 1024
TERM_SECONDS: Final = 1.0
ARGUMENT_BYTES: Final = 96 * 1024
"""Paths in one command line; Linux takes 128 KiB in one argument and 2 MiB in all."""

KEPT: Final = frozenset(
    {
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_SYSTEM",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_EXEC_PATH",
        "GIT_AUTHOR_NAME",
        "GIT_AUTHOR_EMAIL",
        "GIT_COMMITTER_NAME",
        "GIT_COMMITTER_EMAIL",
    }
)
"""The user's own settings of git; its other variables would point it at another repository or make it ask."""

SET: Final[Mapping[str, str]] = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "PAGER": "cat",
    "GIT_EDITOR": ":",
    "GIT_SEQUENCE_EDITOR": ":",
    "GIT_MERGE_AUTOEDIT": "no",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "LC_ALL": "C.UTF-8",
}
DROPPED: Final = frozenset({"LANGUAGE", "SSH_ASKPASS", "EDITOR", "VISUAL", "PREFIX"})

FETCHING: Final[Mapping[str, str]] = {"GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh"}
"""For commands that need files, of which a partial clone does not have all; no helper of another name is run."""

CONFIGURED: Final = (
    "core.fsmonitor=false",
    "core.askPass=",
    "core.quotePath=false",
    "color.ui=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "advice.addEmbeddedRepo=false",
    "diff.renameLimit=1000",
)
NO_HOOKS: Final = "core.hooksPath=/dev/null"
OURS: Final[Mapping[str, str]] = {
    "GIT_AUTHOR_NAME": "Innkeeper",
    "GIT_AUTHOR_EMAIL": "innkeeper@localhost",
    "GIT_COMMITTER_NAME": "Innkeeper",
    "GIT_COMMITTER_EMAIL": "innkeeper@localhost",
}
"""Who commits what only the host needs."""


class Outcome(NamedTuple):
    code: int
    out: bytes
    err: str

    @property
    def line(self) -> str:
        """The output without its line end: for one value, which may itself have line ends."""
        return os.fsdecode(self.out.removesuffix(b"\n"))


class Running(NamedTuple):
    """How a command is run."""

    stdin: bytes = b""
    environment: Mapping[str, str] = {}
    hooks: bool = False
    config: Sequence[str] = ()


PLAIN: Final = Running()


class GitProgram:
    """The installed git. It is looked up on the PATH of `environment` when it is first needed."""

    def __init__(self, environment: Mapping[str, str], guard: Guard) -> None:
        kept = {name: value for name, value in environment.items() if name in KEPT or not name.startswith("GIT_")}
        self._environment: dict[str, str] = {name: value for name, value in kept.items() if name not in DROPPED}
        self._environment.update(SET)
        self._guard = guard
        self._found: str | None = None
        self.closed = False
        self._version: tuple[int, ...] = ()

    async def version(self, seconds: float) -> tuple[int, ...]:
        """Raises GitError: `GIT_MISSING`."""
        await self._ready(seconds)
        return self._version

    async def run(
        self,
        root: str,
        arguments: Sequence[str],
        seconds: float,
        running: Running = PLAIN,
        *,
        good: Sequence[int] = (0,),
    ) -> Outcome:
        """Run `git …arguments` in `root`. Raises GitError: for an exit code that is not `good`, `GIT_TIMEOUT`,
        `GIT_MISSING`."""
        await self._ready(seconds)
        outcome = await self._run(root, arguments, seconds, running)
        if outcome.code not in good:
            raise fault(arguments[0], outcome.err or outcome.out[-2000:].decode("utf-8", "replace"), root)
        return outcome

    async def _ready(self, seconds: float) -> None:
        if self._found is not None:
            return
        program = shutil.which("git", path=self._environment.get("PATH") or os.defpath)
        if program is None:
            raise _missing()
        self._found = program
        try:
            said = (await self._run("/", ["version"], seconds, PLAIN)).out.decode("ascii", "replace")
        except BaseException:
            self._found = None
            raise
        numbers = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", said)
        self._version = tuple(int(part) for part in numbers.groups("0")) if numbers else ()
        if self._version < OLDEST:
            self._found = None
            raise _missing()

    async def _run(self, root: str, arguments: Sequence[str], seconds: float, running: Running) -> Outcome:
        assert self._found is not None
        if self.closed:
            raise GitError("GIT_FAILED", operation=arguments[0], reason="the host is closing")
        settings = [*CONFIGURED, *running.config, *(() if running.hooks else (NO_HOOKS,))]
        command = [self._found, *(part for setting in settings for part in ("-c", setting)), *arguments]
        try:
            self._guard.ensure()
            process = await asyncio.create_subprocess_exec(
                *map(os.fsencode, command),
                cwd=os.fsencode(root),
                env={**self._environment, **running.environment},
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
                limit=1024 * 1024,
            )
        except (OSError, ValueError) as error:
            raise fault(arguments[0], str(error), root) from error
        self._guard.add(process.pid)
        try:
            async with asyncio.timeout(seconds):
                return await _talk(process, running.stdin)
        except TimeoutError:
            raise GitError("GIT_TIMEOUT", operation=arguments[0], seconds=f"{seconds:g}") from None
        except _TooMuch:
            raise GitError("GIT_TOO_LARGE", size=f"more than {OUTPUT_BYTES}", limit=OUTPUT_BYTES) from None
        finally:
            await _end(process)
            self._guard.remove(process.pid)


class _TooMuch(Exception):
    """A command said more than anybody wants to hear."""


async def _talk(process: asyncio.subprocess.Process, stdin: bytes) -> Outcome:
    assert process.stdin and process.stdout and process.stderr
    out, err, _ = await asyncio.gather(_whole(process.stdout), _tail(process.stderr), _feed(process.stdin, stdin))
    return Outcome(await process.wait(), out, err)


async def _feed(stream: asyncio.StreamWriter, data: bytes) -> None:
    if data and not stream.is_closing():  # a command that ended has closed it, and uvloop takes no word after that
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            stream.write(data)
            await stream.drain()
    stream.close()


async def _whole(stream: asyncio.StreamReader) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while chunk := await stream.read(1024 * 1024):
        chunks.append(chunk)
        size += len(chunk)
        if size > OUTPUT_BYTES:
            raise _TooMuch
    return b"".join(chunks)


async def _tail(stream: asyncio.StreamReader) -> str:
    kept = b""
    while chunk := await stream.read(STDERR_BYTES):
        kept = (kept + chunk)[-STDERR_BYTES:]
    return kept.decode("utf-8", "replace")


async def _end(process: asyncio.subprocess.Process) -> None:
    """Nothing of it runs when this returns; what git starts in the background on its own is switched off."""
    if process.returncode is not None:
        return
    _signal(process.pid, signal.SIGTERM)
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(TERM_SECONDS):
                await process.wait()
    finally:
        _signal(process.pid, signal.SIGKILL)
    await process.wait()


def _signal(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _missing() -> GitError:
    return GitError("GIT_MISSING", version=".".join(map(str, OLDEST)))


def nul(names: Sequence[str]) -> bytes:
    """Names as git reads them with `-z`."""
    return b"".join(os.fsencode(name) + b"\0" for name in names)


def names(out: bytes) -> list[str]:
    """Names as git writes them with `-z`."""
    return [os.fsdecode(name) for name in out.split(b"\0") if name]


def portions(paths: Sequence[str]) -> Iterator[list[str]]:
    """Paths in as many command lines as they need."""
    portion: list[str] = []
    size = 0
    for path in paths:
        length = len(os.fsencode(path)) + 1
        if portion and size + length > ARGUMENT_BYTES:
            yield portion
            portion, size = [], 0
        portion.append(path)
        size += length
    if portion:
        yield portion
