"""Which variables of the host a child process may see: one table for declared servers and for agents (M2.8).

Everything else of the host's environment stays with the host, secrets among it; a child gets these, and what its
declaration or its provider adds.
"""

import re
from collections.abc import Mapping
from typing import Final

_INHERITED: Final = re.compile(
    r"HOME|LOGNAME|USER|PATH|SHELL|TERM|LANG|LC_[A-Z]+|TZ|TMPDIR|XDG_[A-Z_]+"
    r"|(?i:https?_proxy|all_proxy|no_proxy)|SSL_CERT_(FILE|DIR)|NODE_EXTRA_CA_CERTS|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE"
)


def inherited(host: Mapping[str, str]) -> dict[str, str]:
    """The host's variables that a child may see. Shell functions that some shells export under these names are left
    out."""
    return {name: value for name, value in host.items() if _INHERITED.fullmatch(name) and not value.startswith("()")}
