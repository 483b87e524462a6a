"""Programs that a repository's own configuration names, and what the host's git is told in their place.

Rules
* `.git/config` is a file that an agent, or whoever packed the folder, may have written. The programs that it names are
  not run for the host's own work: what the person's configuration says counts instead, else nothing.
* Commands that `git lfs install --local` writes name what the person has installed, so they are kept.
* Where files are only read, a file whose filter is not run is taken as it is. Where something is written git refuses
  the file: what such a filter keeps out of a commit must not get into one.
* Submodules are read with the same settings, so those of their configurations are among them.
* What changes between looking and running is not seen. That is the work of a sandbox, which this is not.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

LFS: Final = frozenset(
    {
        "git-lfs clean -- %f",
        "git-lfs smudge -- %f",
        "git-lfs smudge --skip -- %f",
        "git-lfs filter-process",
        "git-lfs filter-process --skip",
    }
)
THE_PERSONS: Final = frozenset({"system", "global"})
"""Scopes that no repository writes; ours is `command`."""

FILTER: Final = re.compile(r"filter\.(.*)\.(?:clean|smudge|process)", re.DOTALL)
OTHERS: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(pattern, re.DOTALL), harmless)
    for pattern, harmless in (
        (r"core\.sshcommand", "ssh"),
        (r"core\.gitproxy", "none"),
        (r"core\.alternaterefscommand", "true"),
        (r"credential\.(?:.*\.)?helper", ""),
        (r"remote\..*\.uploadpack", "git-upload-pack"),
        (r"lfs\.extension\..*\.(?:clean|smudge)", ""),
        (r"lfs\.customtransfer\..*\.path", ""),
        (r"lfs\.(?:.*\.)?standalonetransferagent", ""),
    )
)
"""What else names a program that these commands may run: a partial clone fetches what it lacks, and LFS what it has
not. With the value that does no harm; for a list it begins the list anew."""
WANTED: Final = r"^(filter|credential|remote|lfs)\.|^core\.(sshcommand|gitproxy|alternaterefscommand)$"
"""As git compares names, in one expression."""

LISTING: Final = ("config", "--show-scope", "-z", "--get-regexp", WANTED)


class Setting(NamedTuple):
    scope: str
    name: str
    value: str


def parse_settings(out: bytes) -> Iterator[Setting]:
    """What `LISTING` says, in the order in which it counts."""
    fields = iter(out.decode("utf-8", "surrogateescape").split("\0"))
    for scope, entry in zip(fields, fields, strict=False):
        name, _, value = entry.partition("\n")
        yield Setting(scope, name, value)


def in_their_place(settings: Iterable[Setting], *, refuse: bool) -> list[tuple[str, str]]:
    """Settings that stand above all others, so that none of the repository's programs runs. With `refuse` git fails for
    a file whose filter is not run."""
    own: dict[str, list[str]] = {}
    named: dict[str, None] = {}
    for scope, name, value in settings:
        if scope in THE_PERSONS:
            own.setdefault(name, []).append(value)
        elif _harmless(name) is not None and value not in LFS:
            named[name] = None
    places = [(name, value) for name in named for value in (_harmless(name) or "", *own.get(name, ()))]
    for driver, kinds in _drivers(named).items():
        theirs = all(kind in own for kind in kinds)
        required = f"filter.{driver}.required"
        value = own.get(required, ["false"])[-1] if theirs else str(refuse).lower()
        places.append((required, value))
    return places


def variables(places: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    """As variables of the environment: a name may hold any sign there."""
    found: dict[str, str] = {}
    for number, (name, value) in enumerate(places):
        found |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return {"GIT_CONFIG_COUNT": str(len(found) // 2), **found} if found else {}


def _drivers(named: Iterable[str]) -> Mapping[str, Sequence[str]]:
    """Of each filter the settings that name its programs."""
    found: dict[str, list[str]] = {}
    for name in named:
        if (match := FILTER.fullmatch(name)) is not None:
            found.setdefault(match[1], []).append(name)
    return found


def _harmless(name: str) -> str | None:
    """The value that runs nothing; None for a setting that names no program."""
    if FILTER.fullmatch(name):
        return ""
    return next((harmless for pattern, harmless in OTHERS if pattern.fullmatch(name)), None)
