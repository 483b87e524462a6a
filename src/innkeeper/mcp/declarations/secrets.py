"""What looks like a secret, a placeholder, or an address with one (M7.7, rows V4 and V6 of the users' reports).

Rules
* Guesses serve notes only and never reject; masking is no guess: everything that may hold a secret is masked.
* Guesses look at the first `SCANNED` characters: a file may be made to be slow to look at.
"""

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit, urlunsplit

MASK: Final = "•••"
SCANNED: Final = 8_192

_TOKEN: Final = re.compile(
    r"(?<![A-Za-z0-9])(gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|sk-[\w-]{20,}|sbp_[0-9a-f]{20,}"
    r"|xox[abprs]-[\w-]{10,}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|npm_[A-Za-z0-9]{30,}|eyJ[\w-]{10,500}\.[\w-]{10,500}\.)"
)
_NAME: Final = re.compile(r"(?i)(api[_-]?key|access[_-]?key|token|secret|passw(or)?d|credential|authorization|^key$)")
_FLAG: Final = re.compile(r"(?i)^--?(api-?key|access-?token|key|token|secret|password|passwd|auth)(=(.*))?$", re.DOTALL)
_ASSIGNED: Final = re.compile(r"^([A-Za-z_][A-Za-z0-9_-]*)=(.+)$", re.DOTALL)
_OPAQUE: Final = re.compile(r"[A-Za-z0-9+/_.=-]{16,}")
_PLACEHOLDER: Final = re.compile(
    r"(?i)(?<![a-z])your[-_](?=[a-z])|replace[-_ ]?(me|with)|change[-_ ]?me|\[redacted|\binsert[-_ ]|x{6,}"
    r"|^<[a-z][^<>\n]*>$|=<[a-z][^<>\n]*>$|\btodo\b",
    re.MULTILINE,
)
_QUERY_SECRET: Final = re.compile(r"(?i)key|token|secret|passw|auth|sig")


def has_token(text: str) -> bool:
    """Whether a well-known form of token stands in the text."""
    return _TOKEN.search(text, 0, SCANNED) is not None


def is_placeholder(value: str) -> bool:
    """A value, or a line of values, that somebody was meant to replace."""
    return _PLACEHOLDER.search(value, 0, SCANNED) is not None


def has_secret(name: str, value: str) -> bool:
    """A literal value of a named thing (header, variable) that looks like a credential."""
    suspect = has_token(value) or (_NAME.search(name) is not None and _opaque(value))
    return suspect and "${" not in value and not is_placeholder(value)


def secret_arguments(arguments: Iterable[str]) -> bool:
    """Whether a literal credential stands among the arguments: after a flag, in an assignment, by its shape."""
    expected = False
    for argument in arguments:
        flag = _FLAG.match(argument)
        assigned = _ASSIGNED.match(argument)
        if expected and not is_placeholder(argument) and "$" not in argument and _opaque(argument):
            return True
        if flag and flag[3] and has_secret("token", flag[3]):
            return True
        if assigned and has_secret(assigned[1], assigned[2].strip("\"'")):
            return True
        if has_token(argument):
            return True
        expected = bool(flag and flag[2] is None)
    return False


def secret_address(url: str) -> bool:
    """Whether an address carries a literal credential."""
    try:
        parts = urlsplit(url)
        password = parts.password
    except ValueError:
        return False
    pairs = (pair.partition("=") for pair in parts.query.split("&"))
    named = any(value and "$" not in value and _QUERY_SECRET.search(name) for name, _, value in pairs)
    return bool(password and "$" not in password) or named or has_token(url)


def mask_address(url: str) -> str:
    """The address without user, password, query and fragment; its host as it is resolved (punycode). Placeholders in
    it stay."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return MASK
    user, _, place = parts.netloc.rpartition("@")
    if not place.isascii():
        try:
            place = place.encode("idna").decode()
        except UnicodeError:
            return MASK
    path = "/".join(MASK if has_token(part) or _long(part) else part for part in parts.path.split("/"))
    return urlunsplit(
        (
            parts.scheme,
            f"{MASK}@{place}" if user else place,
            path,
            MASK if parts.query else "",
            MASK if parts.fragment else "",
        )
    )


def mask_arguments(arguments: Iterable[str]) -> list[str]:
    """Arguments fit to be shown: what follows a flag of a credential, what looks like one, and every opaque word is
    masked."""
    shown: list[str] = []
    expected = False
    for argument in arguments:
        flag = _FLAG.match(argument)
        assigned = _ASSIGNED.match(argument)
        if expected:
            shown.append(MASK)
        elif flag and flag[2] is not None:
            shown.append(f"{argument[: argument.index('=')]}={MASK}")
        elif assigned and _NAME.search(assigned[1]):
            shown.append(f"{assigned[1]}={MASK}")
        elif "://" in argument:
            shown.append(mask_address(argument))
        else:
            shown.append(MASK if has_token(argument) or _long(argument) else argument)
        expected = bool(flag and flag[2] is None)
    return shown


def _opaque(value: str) -> bool:
    """A long word of letters and digits, such as no person writes."""
    word = value.rpartition(" ")[2]
    return bool(
        _OPAQUE.fullmatch(word)
        and any(c.isdigit() for c in word)
        and any(c.isalpha() for c in word)
        and sum(c.isdigit() for c in word) >= 3
    )


def _long(word: str) -> bool:
    return len(word) >= 24 and _opaque(word) and "/" not in word and not word.startswith("@")
