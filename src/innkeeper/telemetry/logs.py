"""Log lines: for people on standard error, as JSON in a file (dependencies §0: the standard library's logging).

Rules
* `--log` is `LEVEL`, `LEVEL:FILE` or `:FILE`. Without it standard error gets warnings, and the file `info` and above. A
  given level holds for both. `FILE` replaces the file in the folder of logs; `-` is no file. `--quiet`: no file, and
  only errors on standard error.
* The file is 0600 and rotated by size. A file that cannot be written is said once, and the host goes on.
* Every line carries session, client and turn of the task that wrote it, and passes the redaction.
"""

import contextlib
import logging
import logging.handlers
import os
import sys
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from io import TextIOWrapper
from pathlib import Path
from types import MappingProxyType
from typing import Final, TextIO

from innkeeper.telemetry.redaction import Redaction
from innkeeper.wire.json import encode

FILE_NAME: Final = "innkeeper.jsonl"
FILE_BYTES: Final = 10 * 1024 * 1024
OLDER_FILES: Final = 5
FIELDS: Final = ("session", "client", "turn")

_CONTEXT: Final[Mapping[str, ContextVar[str | None]]] = MappingProxyType(
    {name: ContextVar(f"innkeeper.log.{name}", default=None) for name in FIELDS}
)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LogOptions:
    """Levels are numbers of `logging`; `file` None writes none."""

    stderr_level: int = logging.WARNING
    file_level: int = logging.INFO
    file: Path | None = None


def log_options(spec: str | None, *, quiet: bool, folder: Path) -> LogOptions:
    """What `--log` (see the rules) and `--quiet` mean; `folder` is where logs live."""
    level, _, name = (spec or "").partition(":")
    number = logging.getLevelNamesMapping()[level.upper()] if level else None
    if quiet:
        file = Path(name) if name and name != "-" else None
    else:
        file = None if name == "-" else Path(name) if name else folder / FILE_NAME
    stderr = logging.ERROR if quiet else logging.WARNING
    return LogOptions(
        stderr if number is None else number,
        logging.INFO if number is None else number,
        None if file is None else Path(os.path.abspath(os.path.expanduser(file))),
    )


@contextlib.contextmanager
def log_context(*, session: str | None = None, client: str | None = None, turn: str | None = None) -> Iterator[None]:
    """Lines written inside (also by tasks that begin inside) carry what is given here."""
    values = {"session": session, "client": client, "turn": turn}
    tokens = [(_CONTEXT[name], _CONTEXT[name].set(value)) for name, value in values.items() if value is not None]
    try:
        yield
    finally:
        for variable, token in reversed(tokens):
            variable.reset(token)


class ContextFilter(logging.Filter):
    """Puts session, client and turn of the current task on each record."""

    def filter(self, record: logging.LogRecord) -> bool:
        for name, variable in _CONTEXT.items():
            if not hasattr(record, name):
                setattr(record, name, variable.get())
        return True


class HumanFormatter(logging.Formatter):
    """`12:00:01 warning innkeeper.edge: text (session=…)`, then the traceback if there is one."""

    def __init__(self, redaction: Redaction) -> None:
        super().__init__()
        self._redaction = redaction

    def format(self, record: logging.LogRecord) -> str:
        clock = datetime.fromtimestamp(record.created, UTC).astimezone().strftime("%H:%M:%S")
        marks = " ".join(f"{name}={value}" for name in FIELDS if (value := getattr(record, name, None)) is not None)
        line = f"{clock} {record.levelname.lower()} {record.name}: {record.getMessage()}"
        parts = [f"{line} ({marks})" if marks else line, _traceback(self, record)]
        return self._redaction.clean("\n".join(part for part in parts if part))


class JsonFormatter(logging.Formatter):
    """One JSON object a line: `time`, `level`, `logger`, `message`, and what there is of `session`, `client`, `turn`,
    `error` (a traceback)."""

    def __init__(self, redaction: Redaction) -> None:
        super().__init__()
        self._redaction = redaction

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        entry = {"time": time, "level": record.levelname.lower(), "logger": record.name}
        found = {"message": record.getMessage()} | {name: getattr(record, name, None) for name in FIELDS}
        found["error"] = _traceback(self, record) or None
        clean = self._redaction.clean
        return encode(entry | {name: clean(str(value)) for name, value in found.items() if value is not None}).decode()


class PrivateFileHandler(logging.handlers.RotatingFileHandler):
    """A rotated file that only its owner can read."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, maxBytes=FILE_BYTES, backupCount=OLDER_FILES, encoding="utf-8", delay=True)

    def _open(self) -> TextIOWrapper:
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        return open(descriptor, "a", encoding="utf-8")


def start_logging(options: LogOptions, redaction: Redaction, stream: TextIO | None = None) -> None:
    """Replaces the handlers of the root logger; `stream` is standard error unless given."""
    handlers: list[logging.Handler] = []
    people = logging.StreamHandler(stream or sys.stderr)
    people.setLevel(options.stderr_level)
    people.setFormatter(HumanFormatter(redaction))
    handlers.append(people)
    failure: OSError | None = None
    if options.file is not None:
        try:
            options.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = PrivateFileHandler(options.file)
            file.stream = file._open()
        except OSError as error:
            failure = error
        else:
            file.setLevel(options.file_level)
            file.setFormatter(JsonFormatter(redaction))
            handlers.append(file)
    stop_logging()
    root = logging.getLogger()
    root.setLevel(min(handler.level for handler in handlers))
    for handler in handlers:
        handler.addFilter(ContextFilter())
        root.addHandler(handler)
    if failure is not None:
        log.warning("no log file: %s cannot be written (%s)", options.file, failure.strerror)


def stop_logging() -> None:
    """Closes and removes the handlers of the root logger that are ours."""
    root = logging.getLogger()
    for handler in list(root.handlers):
        if isinstance(handler.formatter, (HumanFormatter, JsonFormatter)):
            root.removeHandler(handler)
            handler.close()


def _traceback(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    parts = [formatter.formatException(record.exc_info)] if record.exc_info and record.exc_info[0] else []
    if record.stack_info:
        parts.append(record.stack_info)
    return "\n".join(parts)
