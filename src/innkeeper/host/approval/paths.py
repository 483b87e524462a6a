"""May a path be read, or written, without a question? (reference §5.11, rows 1, 8 and 9). Pure: facts come in.

Rules
* Inside means: the path as it is written and the path that it really leads to, both in the same working directory.
* What is not known for certain is asked about: links that lead nowhere, what may not be looked at, odd spellings.
* A home directory's dot-files and a platform's per-user directories are not written even where a working directory
  holds them; a working directory that lies inside one of them was chosen by a person.
"""

import posixpath
from collections.abc import Sequence
from typing import Final

from innkeeper.host.approval.files_table import guard_of
from innkeeper.host.approval.values import Ground, Step, reason
from innkeeper.ports.paths import PathFacts, PathProblem, Real
from innkeeper.ports.questions import Reason

PER_USER: Final = ("Library", "AppData", "Application Support", "snap")
"""Directories of a home in which a platform keeps what belongs to the person's programs."""

DEVICES: Final = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})
"""Writing there changes nothing; `/dev/null` is empty to read."""

DEVICE_NAMES: Final = frozenset(
    {"con", "prn", "aux", "nul", *(f"{name}{n}" for name in ("com", "lpt") for n in range(10))}
)

_PROBLEMS: Final[dict[PathProblem, str]] = {
    "dangling": "path.dangling",
    "denied": "path.denied",
    "loop": "path.loop",
    "tooMany": "path.tooMany",
    "failed": "path.failed",
}


def absolute(path: str, directory: str | None, ground: Ground) -> str | None:
    """`path` as an absolute one, links and dots as they were written; None when there is nothing to begin from."""
    if path.startswith("/"):
        return path
    start = directory or next(iter(ground.roots), None)
    if start is None or not start.startswith("/"):
        return None
    return f"{start.rstrip('/')}/{path}"


def reading(path: str, ground: Ground, facts: PathFacts, *, pattern: bool = False) -> Step:
    """May the absolute path be read? With `pattern`, everything that the shell makes of it."""
    why = unreadable(path)
    if why is not None:
        return Step(path, "ask", why)
    if path == "/dev/null":
        return Step(path, "approve", reason("path.device", path=path))
    real = facts.look(path, pattern=pattern)
    if real.problem is not None:
        return Step(path, "ask", reason(_PROBLEMS[real.problem], path=path))
    if not pattern and _is_attached(path, real, ground, facts):
        return Step(path, "approve", reason("path.attachment", path=path))
    root, why = _root(path, real, ground, facts)
    if root is None:
        return Step(path, "ask", why)
    return Step(path, "approve", reason("path.inside", path=path, root=root))


def writing(path: str, ground: Ground, facts: PathFacts) -> Step:
    """May the absolute path be written?"""
    why = odd(path)
    if why is not None:
        return Step(path, "ask", why, True)
    if path in DEVICES:
        return Step(path, "approve", reason("path.device", path=path))
    real = facts.look(path)
    if real.problem is not None:
        return Step(path, "ask", reason(_PROBLEMS[real.problem], path=path), True)
    root, why = _root(path, real, ground, facts)
    if root is None:
        return Step(path, "ask", why, True)
    own = _own_place(path, real, root, ground, facts)
    if own is not None:
        return Step(path, "ask", own, True)
    for found in _relatives(path, real, root, facts):
        guard = guard_of(found, ground.tables.files)
        if guard is not None:
            text = "path.always" if guard[1] else "path.guarded"
            return Step(path, "ask", reason(text, path=path, pattern=guard[0]), True)
    return Step(path, "approve", reason("path.inside", path=path, root=root), True)


def in_attachment_area(path: str, ground: Ground, facts: PathFacts) -> bool:
    """Whether the path, as written or really, lies where the host keeps what was attached (row 1, T19)."""
    area = ground.attachment_area
    if area is None or "\0" in path:
        return False
    real, spellings = facts.look(path), _spellings(area, facts)
    return any(_inside(place, root) for place in (posixpath.normpath(path), *real.paths) for root in spellings)


def unreadable(path: str) -> Reason | None:
    """Why no path is meant: characters that no name shows, or no absolute path."""
    if any(ord(character) < 32 or ord(character) == 127 for character in path):
        return reason("path.control", path=path.encode("unicode_escape").decode())
    return reason("path.form", path=path) if not path.startswith("/") or path.startswith("//") else None


def odd(path: str) -> Reason | None:
    """Why a path is spelt in a way that systems read differently; None for an ordinary one."""
    for name in path.split("/"):
        stem = name.split(".")[0].strip().casefold()
        if "\\" in name or ":" in name or stem in DEVICE_NAMES:
            return reason("path.form", path=path)
        if name not in (".", "..") and name != name.rstrip(". "):
            return reason("path.form", path=path)
    return unreadable(path)


def _root(path: str, real: Real, ground: Ground, facts: PathFacts) -> tuple[str | None, Reason]:
    literal, elsewhere = posixpath.normpath(path), None
    for root in ground.roots:
        spellings = _spellings(root, facts)
        if not any(_inside(literal, spelling) for spelling in spellings):
            continue
        outside = next((place for place in real.paths if not any(_inside(place, s) for s in spellings)), None)
        if outside is None:
            return root, reason("path.inside", path=path, root=root)
        elsewhere = outside
    if elsewhere is not None:
        return None, reason("path.leadsOutside", path=path, real=elsewhere)
    return None, reason("path.outside", path=path)


def _spellings(root: str, facts: PathFacts) -> tuple[str, ...]:
    """A directory as it was given, and as it really is."""
    real = facts.look(root)
    return (posixpath.normpath(root), *(real.paths if real.problem is None else ()))


def _relatives(path: str, real: Real, root: str, facts: PathFacts) -> Sequence[str]:
    places = (posixpath.normpath(path), *real.paths)
    spellings = _spellings(root, facts)
    return [place[len(s.rstrip("/")) + 1 :] for place in places for s in spellings if _inside(place, s)]


def _is_attached(path: str, real: Real, ground: Ground, facts: PathFacts) -> bool:
    if posixpath.normpath(path) in ground.attachments:
        return True
    own = ground.attached_here
    if own is None:
        return False
    spellings = _spellings(own, facts)
    places = (posixpath.normpath(path), *real.paths)
    return all(any(_inside(place, spelling) for spelling in spellings) for place in places)


def _own_place(path: str, real: Real, root: str, ground: Ground, facts: PathFacts) -> Reason | None:
    """Why the path is the person's own matter: a dot-file of the home directory, or a directory of the platform."""
    if ground.home is None:
        return None
    roots = _spellings(root, facts)
    for home in _spellings(ground.home, facts):
        for place in (posixpath.normpath(path), *real.paths):
            if not _inside(place, home) or place == home:
                continue
            top = place[len(home.rstrip("/")) + 1 :].split("/")[0]
            chosen = any(_inside(spelling, f"{home.rstrip('/')}/{top}") for spelling in roots)
            if not chosen and (top.startswith(".") or top in PER_USER):
                return reason("path.own", path=path, place=f"~/{top}")
    return None


def _inside(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")
