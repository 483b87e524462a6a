"""What git says on failure, as a stable code (reference §10.12).

Rules
* Messages are matched in English: the program runs with that locale. What is not known is `GIT_FAILED` with git's last
  line, cut, without credentials.
"""

import re
from typing import Final

from innkeeper.ports.git import GitError

REASON_CHARACTERS: Final = 300
QUOTED: Final = r"'([^']*)'"

KNOWN: Final[tuple[tuple[re.Pattern[str], str, str], ...]] = tuple(
    (re.compile(pattern), code, value)
    for pattern, code, value in (
        (r"detected dubious ownership", "GIT_OWNER", ""),
        (r"unsafe repository", "GIT_OWNER", ""),
        (r"is at [0-9a-f]+ but expected", "GIT_REF_MOVED", "ref"),
        (
            rf"cannot lock ref {QUOTED}: (?:reference already exists|unable to resolve reference)",
            "GIT_REF_MOVED",
            "ref",
        ),
        (r"Unable to create '[^\n]*\.lock': File exists", "GIT_LOCKED", ""),
        (r"[Aa] branch named '([^']*)' already exists", "GIT_BRANCH_EXISTS", "branch"),
        (rf"{QUOTED} is already (?:checked out|used by worktree) at", "GIT_BRANCH_IN_USE", "branch"),
        (rf"{QUOTED} is not a valid branch name", "GIT_BRANCH_NAME", "branch"),
        (rf"{QUOTED} already exists", "GIT_PATH_TAKEN", "path"),
        (rf"{QUOTED} is a missing but (?:already registered|locked) worktree", "GIT_PATH_TAKEN", "path"),
        (r"(?:clean|smudge) filter '?([^'\n]*?)'? failed", "GIT_FILTER", "filter"),
        (r"would be overwritten", "GIT_WOULD_OVERWRITE", ""),
        (r"resolve your current index first", "GIT_UNMERGED", ""),
        (r"cannot switch branch while", "GIT_UNMERGED", ""),
        (r"cannot do a partial commit during", "GIT_UNMERGED", ""),
        (r"because you have unmerged files", "GIT_UNMERGED", ""),
        (r"You have not concluded your merge", "GIT_UNMERGED", ""),
        (r"error building trees", "GIT_UNMERGED", ""),
        (r"Please tell me who you are", "GIT_IDENTITY", ""),
        (r"empty ident name|unable to auto-detect email|no (?:email|name) was given", "GIT_IDENTITY", ""),
        (r"nothing (?:added )?to commit|no changes added to commit", "GIT_NOTHING_TO_COMMIT", ""),
        (rf"bad object ([^\s]+)|ambiguous argument {QUOTED}: unknown revision", "GIT_REVISION_UNKNOWN", "revision"),
        (r"[Nn]ot a valid (?:object name|commit name|tree object name):? ([^\s]+)", "GIT_REVISION_UNKNOWN", "revision"),
        (r"([0-9a-f]+) is not a valid (?:'\w+' )?object", "GIT_REVISION_UNKNOWN", "revision"),
        (r"nonexistent object ([0-9a-f]+)", "GIT_REVISION_UNKNOWN", "revision"),
        (r"invalid reference: ([^\s]+)", "GIT_REVISION_UNKNOWN", "revision"),
    )
)
"""Pattern, code, and the placeholder of its text that the pattern's first group that matched fills."""

CREDENTIALS: Final = re.compile(r"(\w+://)[^/\s@]+@")


def fault(operation: str, said: str, root: str) -> GitError:
    """The error for a command that failed in `root`."""
    for pattern, code, value in KNOWN:
        if (match := pattern.search(said)) is not None:
            if code == "GIT_OWNER":
                return GitError(code, path=root)
            found = next((group for group in match.groups() if group), "?")
            return GitError(code, **({value: found} if value else {}))
    return GitError("GIT_FAILED", operation=operation, reason=reason(said))


def reason(said: str) -> str:
    """The line that says why."""
    lines = [line.strip() for line in said.splitlines() if line.strip() and not line.startswith("hint:")]
    telling = [line for line in lines if line.startswith(("fatal:", "error:"))] or lines
    return CREDENTIALS.sub(r"\1", telling[-1])[:REASON_CHARACTERS] if telling else "it said nothing"
