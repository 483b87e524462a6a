"""No secret reaches a log (CONVENTIONS of this code: never a token, an environment value or a header value).

Rules
* Known secrets are replaced wherever they occur in what is written: in messages, arguments, tracebacks and extra
  fields, also in their URL-quoted form. What looks like a token or an authorization is replaced without being known.
* Secrets shorter than `SHORTEST` are not replaced, since they would blacken ordinary words.
"""

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote

MARK: Final = "•••"
SHORTEST: Final = 6

_SHAPES: Final = (
    re.compile(r"(\btkn=)[^&\s\"']+"),
    re.compile(r"(\b[Aa]uthorization[\"']?\s*[:=]\s*[\"']?(?:[A-Za-z]+ )?)[^\s\"',}]+"),
    re.compile(r"(\b[Bb]earer )[^\s\"',}]+"),
)


class Redaction:
    """The secrets of this process. Safe to use from any thread."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._known: frozenset[str] = frozenset()
        self._pattern: re.Pattern[str] | None = None
        self.add(*secrets)

    def add(self, *secrets: str | None) -> None:
        """From now on these are replaced; None and short ones are passed over."""
        forms = {form for secret in secrets if secret for form in (secret, quote(secret, safe=""))}
        known = self._known | {form for form in forms if len(form) >= SHORTEST}
        if known != self._known:
            longest_first = sorted(known, key=lambda form: (-len(form), form))
            self._pattern = re.compile("|".join(map(re.escape, longest_first)))
            self._known = known

    def clean(self, text: str) -> str:
        """The text without secrets."""
        if self._pattern is not None:
            text = self._pattern.sub(MARK, text)
        for shape in _SHAPES:
            text = shape.sub(rf"\g<1>{MARK}", text)
        return text
