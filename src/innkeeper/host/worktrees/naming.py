"""Names of worktrees and their branches (reference §5.7, S14). Pure.

Rules
* A name has ASCII letters, digits and single dashes, so that it is a branch, a folder and a word in a sentence.
* It comes from a hint, else from the first eight words of the message, else from the session's id.
* What is taken gets eight characters of the session's id, then a number; a hundred tries in all.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from typing import Final

WORDS: Final = 8
CHARACTERS: Final = 48
TRIES: Final = 100
MIDDLE: Final = "agents/"
"""Between the prefix of the configuration and the name."""


def slug(text: str) -> str:
    """What of the text can be part of a name; empty when nothing can."""
    plain = unicodedata.normalize("NFKD", text.casefold()).encode("ascii", "ignore").decode("ascii")
    words = re.findall(r"[a-z0-9]+", plain)[:WORDS]
    name = ""
    for word in words:
        longer = f"{name}-{word}" if name else word[:CHARACTERS]
        if len(longer) > CHARACTERS:
            break
        name = longer
    return name


def short_id(session: str) -> str:
    """Eight characters that stand for the session: the end of its URI where that serves, else a hash."""
    tail = session.rstrip("/").rsplit("/", 1)[-1].lower()
    if re.fullmatch(r"[0-9a-f]{8}-[0-9a-f-]+", tail):
        return tail[:8]
    return hashlib.sha256(session.encode("utf-8", "surrogateescape")).hexdigest()[:8]


def candidates(hint: str, session: str) -> Iterator[str]:
    """At most a hundred names, the best first."""
    own = short_id(session)
    name = slug(hint) or f"session-{own}"
    yield name
    first = name if name.endswith(own) else f"{name}-{own}"
    yield first
    for number in range(2, TRIES):
        yield f"{first}-{number}"
