"""The environment of a declared server (M2.8): an allow-list of the host's own, then the declared values."""

import re
from collections.abc import Mapping
from typing import Final

_INHERITED: Final = re.compile(
    r"HOME|LOGNAME|USER|PATH|SHELL|TERM|LANG|LC_[A-Z]+|TZ|TMPDIR|XDG_[A-Z_]+"
    r"|(?i:https?_proxy|all_proxy|no_proxy)|SSL_CERT_(FILE|DIR)|NODE_EXTRA_CA_CERTS|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE"
)


def child_environment(host: Mapping[str, str], declared: Mapping[str, str]) -> dict[str, str]:
    """Exactly what the child gets. Shell functions that some shells export under these names are left out."""
    inherited = {
        name: value for name, value in host.items() if _INHERITED.fullmatch(name) and not value.startswith("()")
    }
    return {**inherited, **declared}
