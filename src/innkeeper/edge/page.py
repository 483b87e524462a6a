"""The page at `/`: says that the host is up and how to connect. The management UI is not here.

Rules
* Self-contained: no script, nothing loaded, a policy that forbids both; light and dark; the reader's language (M9.4:
  the browser's, then the operator's, then Chinese).
* It never holds the token. What came in the request is escaped.
"""

import base64
import hashlib
from collections.abc import Mapping
from html import escape
from types import MappingProxyType
from typing import Final

from innkeeper._version import running_version
from innkeeper.texts import negotiate, text

_STYLE: Final = """
:root { color-scheme: light dark; --ink: light-dark(#1c1b19, #ece9e4); --soft: light-dark(#5d5953, #a8a39b);
  --paper: light-dark(#fbfaf8, #1a1917); --well: light-dark(#f0ede8, #262421); }
body { font: 16px/1.6 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0; }
main { max-width: 38rem; margin: 12vh auto; padding: 0 1.5rem; }
h1 { font-size: 1.5rem; margin: 0; }
h1::before { content: ""; display: inline-block; width: .6em; height: .6em; margin-right: .5em; border-radius: 50%;
  background: light-dark(#2e7d4f, #6fc391); }
.soft { color: var(--soft); margin-top: .25rem; }
pre { background: var(--well); border-radius: .5rem; padding: .75rem 1rem; overflow-x: auto; }
code { font: .9em/1.5 ui-monospace, monospace; }
""".strip()

_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        f"style-src 'sha256-{base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()}'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)

HEADERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "content-security-policy": _POLICY,
        "cache-control": "no-store",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "vary": "accept-language",
    }
)


def render(*, host: str, accept_language: str | None, language: str | None) -> str:
    """The page for a request to `host` (its `Host` header), in the language of its reader."""
    lang = negotiate(accept_language, language, "zh")
    words = {
        name: escape(text(f"edge.page.{name}", lang=lang)) for name in ("title", "what", "terminal", "client", "token")
    }
    version = escape(text("edge.page.version", lang=lang, version=running_version()))
    return f"""<!doctype html>
<html lang="{lang.replace("_", "-")}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{words["title"]}</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<h1>{words["title"]}</h1>
<p class="soft">{version}</p>
<p>{words["what"]}</p>
<p>{words["terminal"]}</p>
<pre><code>innkeeper chat</code></pre>
<p>{words["client"]}</p>
<pre><code>ws://{escape(host)}/</code></pre>
<p class="soft">{_code(words["token"])}</p>
</main>
</body>
</html>
"""


def _code(words: str) -> str:
    """`words` with its backquoted parts as code."""
    return "".join(f"<code>{part}</code>" if odd % 2 else part for odd, part in enumerate(words.split("`")))
