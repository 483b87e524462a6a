"""What `innkeeper serve` does around the host: log, words for people, the READY line, the page, the exit code.

Rules
* Standard output has one line, `READY:<port>`, once clients can connect; under `--stdio` it belongs to the protocol.
* Words for people go to standard error, in the operator's language.
* What cannot be done is told by a `HostError`, before or instead of READY.
"""

import asyncio
import os
import sys
from collections.abc import Callable

from innkeeper.app.serve import Listening, Run, serve
from innkeeper.errors import HostError
from innkeeper.settings.config import Settings
from innkeeper.settings.options import ServeOptions
from innkeeper.settings.paths import Paths
from innkeeper.telemetry.logs import log_options, start_logging
from innkeeper.telemetry.redaction import Redaction
from innkeeper.texts import environment_language, text


def run_host(options: ServeOptions, settings: Settings, paths: Paths) -> int:
    """Serve until told to end; the exit code. Raises HostError when the host cannot start."""
    if sys.platform == "win32":
        raise HostError("PLATFORM_UNSUPPORTED", platform=sys.platform)
    redaction = Redaction([options.token] if options.token else [])
    start_logging(log_options(options.log, quiet=options.quiet, folder=paths.logs), redaction)
    run = Run(options, settings, paths, dict(os.environ), _announcer(options, settings), redaction.add)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(serve(run))
    return 0


def _loop_factory() -> "Callable[[], asyncio.AbstractEventLoop] | None":
    """uvloop where it is installed (extra `speed`)."""
    try:
        import uvloop  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


def _announcer(options: ServeOptions, settings: Settings) -> "Announcer":
    return Announcer(options, settings.language or environment_language(os.environ))


class Announcer:
    """Says once that the host listens."""

    def __init__(self, options: ServeOptions, lang: str) -> None:
        self._options = options
        self._lang = lang

    def __call__(self, listening: Listening) -> None:
        if listening.port is not None:
            print(f"READY:{listening.port}", flush=True)  # noqa: T201 - the line that programs wait for
        if not self._options.quiet:
            for line in self._lines(listening):
                sys.stderr.write(line + "\n")
            sys.stderr.flush()
        if self._options.open_page and listening.page is not None:
            _open_page(listening.page)

    def _lines(self, listening: Listening) -> list[str]:
        lang = self._lang
        where = listening.url or str(listening.socket)
        lines = [text("serve.listening", lang=lang, url=where)]
        if listening.url is not None and listening.socket is not None:
            lines.append(text("serve.socket", lang=lang, socket=listening.socket))
        lines.append(text("serve.data", lang=lang, path=listening.data_dir, n=listening.restored))
        if not listening.token_needed:
            lines.append(text("serve.open_to_all", lang=lang))
        if self._options.no_questions:
            lines.append(text("serve.no_questions", lang=lang))
        if listening.page is not None:
            # The token is for a person who looks at this terminal, never for a log that keeps standard error.
            address = listening.page if sys.stderr.isatty() else listening.page.partition("?")[0]
            lines.append(text("serve.page", lang=lang, url=address))
        lines.append(text("serve.next", lang=lang))
        return lines


def _open_page(url: str) -> None:
    """In a thread, because a browser that is started in the foreground would hold the host."""
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(url,), name="open page", daemon=True).start()
