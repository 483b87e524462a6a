"""Cells of the enablement matrix, declared where they are proven (issue 6 §3, C6.5).

A test that shows what happens to one kind of thing at one moment says so with `@cell(...)`; what is only done in part
is said by `@cell(..., limit=...)` on the test that shows the limit, and what cannot be done, where there is nothing to
run, by `known_limit(...)` beside the tests. `scripts/provider_matrix.py` reads these calls without importing the tests
and writes docs/reference/provider-matrix.md. All arguments are therefore literals.
"""

from collections.abc import Callable
from typing import Literal, TypeVar

What = Literal[
    "server",
    "pluginServer",
    "plugin",
    "skill",
    "agent",
    "prompt",
    "rule",
    "hook",
    "ownConfiguration",
    "caller",
]
When = Literal["launch", "nextRequest", "runningTurn", "back", "otherSession", "newSession", "files"]

Test = TypeVar("Test", bound=Callable[..., object])


def cell(provider: str, what: What, when: When, how: str, *, limit: str | None = None) -> Callable[[Test], Test]:
    """`how` is the means, in a few words; `limit` is what it does not do."""

    def unchanged(test: Test) -> Test:
        return test

    return unchanged


def known_limit(provider: str, what: What, when: When, why: str) -> None:
    """A cell in which nothing can be done."""
