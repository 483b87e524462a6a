"""Where paths of this machine really lead: the adapter of `ports.paths`.

Rules
* Nothing is opened. Links that lead nowhere or in a circle, and what may not be looked at, are told apart.
* A pattern is expanded as the shell does it: hidden names only where the pattern begins with a dot, no crossing of `/`.
"""

import errno
import glob
import os
from collections.abc import Mapping
from itertools import islice
from typing import Final

from innkeeper.limits import APPROVAL_PATTERN_FILES
from innkeeper.ports.paths import PathProblem, Real

_PROBLEMS: Final[Mapping[int, PathProblem]] = {
    errno.EACCES: "denied",
    errno.EPERM: "denied",
    errno.ELOOP: "loop",
}


class LocalPaths:
    """Looks with the rights of the process."""

    def look(self, path: str, *, pattern: bool = False) -> Real:
        if not pattern:
            return _real(path)
        found: list[str] = []
        for match in islice(glob.iglob(path), APPROVAL_PATTERN_FILES + 1):
            real = _real(match)
            if real.problem is not None:
                return real
            found.extend(real.paths)
        return Real(problem="tooMany") if len(found) > APPROVAL_PATTERN_FILES else Real(tuple(found))


def _real(path: str) -> Real:
    try:
        os.stat(path)
    except FileNotFoundError:
        return Real(problem="dangling") if os.path.islink(path) else Real((os.path.realpath(path),))
    except (OSError, ValueError) as error:
        return Real(problem=_PROBLEMS.get(getattr(error, "errno", 0) or 0, "failed"))
    return Real((os.path.realpath(path),))
