"""How `serve` runs: flags, then the environment, then the configuration file, then defaults (architecture §7).

Rules
* `INNKEEPER_<NAME>` is the environment's spelling of an option; an empty value counts as not given.
* `token`, `token_file` and `no_token` are one choice: the strongest source that makes it decides, and makes only one.
* A token is never taken from the configuration file.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from innkeeper.settings.config import Settings
from innkeeper.settings.problems import OptionInvalid, Problem, Wrong
from innkeeper.settings.readers import Reader, from_text, read_boolean, read_log, read_path, read_port, read_string

DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 4665
"""`INNK` on a telephone's keys: fixed, so that the address a client remembers stays good."""


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """One run of `serve`. `token` None with `no_token` False: from `token_file`, else random."""

    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    socket: Path | None = None
    socket_token: bool = False
    token: str | None = field(default=None, repr=False)
    token_file: Path | None = None
    no_token: bool = False
    data_dir: Path | None = None
    log: str | None = None
    quiet: bool = False
    open_page: bool = False
    stdio: bool = False
    force: bool = False
    no_questions: bool = False


READERS: Final[Mapping[str, Reader]] = MappingProxyType(
    {
        "host": read_string,
        "port": read_port,
        "socket": read_path,
        "socket_token": read_boolean,
        "token": lambda value: value,
        "token_file": read_path,
        "no_token": read_boolean,
        "data_dir": read_path,
        "log": read_log,
        "quiet": read_boolean,
        "open": read_boolean,
        "force": read_boolean,
        "no_questions": read_boolean,
    }
)
"""Options that the environment can give, by their names there in lower case. `stdio` is a flag only: it decides what
standard output means to the program that started this one."""

TOKEN_CHOICE: Final = ("token", "token_file", "no_token")


def resolve_options(flags: Mapping[str, Any], environ: Mapping[str, str], settings: Settings) -> ServeOptions:
    """The options of this run. `flags` holds what was given on the command line, in final types (None: not given).

    Raises `OptionInvalid`.
    """
    given = {name: value for name, value in flags.items() if value is not None and value is not False}
    weakest_first: tuple[tuple[Mapping[str, Any], Callable[[str], str]], ...] = (
        (settings.serve, lambda name: f"serve.{name}"),
        (environment_options(environ), _variable),
        (given, lambda name: "--" + name.replace("_", "-")),
    )
    merged: dict[str, Any] = {}
    for values, spell in weakest_first:
        chosen = [name for name in TOKEN_CHOICE if values.get(name)]
        if len(chosen) > 1:
            names = ", ".join(map(spell, chosen))
            raise OptionInvalid(spell(chosen[0]), Problem("exclusive", values={"options": names}))
        if chosen:
            merged = {name: value for name, value in merged.items() if name not in TOKEN_CHOICE}
        merged.update(values)
    if "open" in merged:
        merged["open_page"] = merged.pop("open")
    merged["no_questions"] = bool(merged.get("no_questions")) or not settings.questions
    return ServeOptions(**merged)


def _variable(name: str) -> str:
    return f"INNKEEPER_{name.upper()}"


def environment_options(environ: Mapping[str, str]) -> dict[str, Any]:
    """What the environment says, by option. Raises `OptionInvalid`."""
    found = {}
    for name, reader in READERS.items():
        value = environ.get(_variable(name))
        if not value:
            continue
        try:
            found[name] = from_text(reader, value)
        except Wrong as error:
            raise OptionInvalid(_variable(name), error.problem) from None
    return found
