"""Paths without a disk: the twin of `workspace.paths`, told which links there are."""

import fnmatch
import posixpath
from collections.abc import Collection, Mapping

from innkeeper.limits import APPROVAL_PATTERN_FILES
from innkeeper.ports.paths import Real


class NamedPaths:
    """`files` exist (their directories too), `links` lead to their targets, `closed` directories may not be entered."""

    def __init__(
        self, files: Collection[str] = (), links: Mapping[str, str] | None = None, closed: Collection[str] = ()
    ) -> None:
        self._files = set(files)
        self._links = dict(links or {})
        self._closed = set(closed)
        self.looked: list[str] = []

    def look(self, path: str, *, pattern: bool = False) -> Real:
        self.looked.append(path)
        if not pattern:
            return self._real(path)
        names = sorted(self._files | set(self._links))
        found = [self._real(name) for name in names if self._fits(name, path)]
        if problem := next((real.problem for real in found if real.problem is not None), None):
            return Real(problem=problem)
        if len(found) > APPROVAL_PATTERN_FILES:
            return Real(problem="tooMany")
        return Real(tuple(path for real in found for path in real.paths))

    def _fits(self, name: str, pattern: str) -> bool:
        ones, others = posixpath.normpath(name).split("/"), posixpath.normpath(pattern).split("/")
        return len(ones) == len(others) and all(
            fnmatch.fnmatchcase(one, other) and not (one.startswith(".") and not other.startswith("."))
            for one, other in zip(ones, others, strict=True)
        )

    def _real(self, path: str) -> Real:
        if "\0" in path:
            return Real(problem="failed")
        rest, here, steps = path.split("/")[::-1], "/", 0
        while rest:
            name = rest.pop()
            if name in ("", "."):
                continue
            if here in self._closed:
                return Real(problem="denied")
            here = posixpath.dirname(here) if name == ".." else posixpath.join(here, name)
            if name != ".." and here in self._links:
                steps += 1
                if steps > 40:
                    return Real(problem="loop")
                target = posixpath.join(posixpath.dirname(here), self._links[here])
                last, here = not any(part not in ("", ".") for part in rest), "/"
                if last and not self._exists(target):
                    return Real(problem="dangling")
                rest.extend(target.split("/")[::-1])
        return Real((here,))

    def _exists(self, path: str) -> bool:
        whole = posixpath.normpath(path)
        known = self._files | set(self._links)
        return whole == "/" or any(name == whole or name.startswith(whole + "/") for name in known)
