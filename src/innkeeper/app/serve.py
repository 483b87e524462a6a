"""`innkeeper serve`: one host behind its doors, from options to exit (issue 2, section 5).

Rules
* The data directory is locked before anything listens, and the endpoint is published after it listens.
* Human lines go to standard error; `READY:<port>` alone to standard output, and not under `--stdio`.
* SIGTERM and SIGINT: stop accepting, flush, close 1012, exit 0, within `SHUTDOWN_SECONDS`.
"""

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from innkeeper import limits
from innkeeper._version import running_version
from innkeeper.app.compose import DATABASE, Circumstances, Host, open_host, standard_parts
from innkeeper.app.pages import WebPages
from innkeeper.app.preferences import check_presets
from innkeeper.edge.discovery import Endpoint, process_started, remove_endpoint, write_endpoint
from innkeeper.edge.stdio import StdioConnection
from innkeeper.edge.token import resolve_token
from innkeeper.edge.websocket import Listener, ListenOptions
from innkeeper.settings.config import Settings
from innkeeper.settings.inputs import FILE_NAME as SECRETS
from innkeeper.settings.inputs import Inputs
from innkeeper.settings.options import ServeOptions
from innkeeper.settings.paths import Paths
from innkeeper.settings.service import FileSettings
from innkeeper.store.sqlite import SWITCH_INTERVAL
from innkeeper.workspace.watches import LocalWatches

SETTLE_SECONDS: Final = 1.0
"""After the start: when the garbage collector begins."""

Announce = Callable[["Listening"], None]


@dataclass(frozen=True, slots=True)
class Listening:
    """What is said once a host listens. `url` has no token."""

    url: str | None
    port: int | None
    socket: Path | None
    data_dir: Path
    token_needed: bool
    restored: int
    """Sessions of earlier runs."""
    page: str | None
    """The address for a browser on this machine, with the token that it needs once."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of `serve`."""

    options: ServeOptions
    settings: Settings
    paths: Paths
    environment: Mapping[str, str]
    announce: Announce
    hide: Callable[[str | None], None] = lambda _secret: None
    """Told what must never appear in a log."""


async def serve(run: Run) -> None:
    """Serve until a signal, or the end of input under `--stdio`. Raises HostError when it cannot start."""
    options, settings, paths = run.options, run.settings, run.paths
    sys.setswitchinterval(SWITCH_INTERVAL)
    token = resolve_token(
        token=options.token,
        token_file=options.token_file,
        no_token=options.no_token,
        host=options.host,
        force=options.force,
    )
    run.hide(token)
    paths.prepare()
    parts = standard_parts(paths.data / DATABASE, settings, quiet=options.quiet)
    live = FileSettings(paths.config_file, LocalWatches(), check=check_presets, secrets=paths.config / SECRETS)
    async with live.watching():
        given = Circumstances(
            settings,
            run.environment,
            Path.cwd(),
            questions=not options.no_questions,
            launch="stdio" if options.stdio else "serve",
            live=live,
            inputs=_inputs(run),
        )
        await _serve_host(await open_host(parts, given), run, token)


def _inputs(run: Run) -> Mapping[str, str]:
    """The values of inputs; none of them may appear in a log."""
    values = Inputs(run.paths.config, run.settings.input_values, run.environment).load()
    for value in values.values():
        run.hide(value)
    return values


async def _serve_host(host: Host, run: Run, token: str | None) -> None:
    stop = _stop_on_signals()
    asyncio.get_running_loop().call_later(SETTLE_SECONDS, _settle_memory)
    try:
        if run.options.stdio:
            await _serve_stdio(host, run.settings, stop)
        else:
            await _serve_sockets(host, run, token, stop)
    finally:
        await host.close(limits.SHUTDOWN_SECONDS / 2)


def _settle_memory() -> None:
    """What the start made stays: the collector never looks at it again, so that its pauses stay short."""
    gc.freeze()
    gc.enable()


def _stop_on_signals() -> asyncio.Event:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    _hand_on_no_deafness()
    return stop


def _hand_on_no_deafness() -> None:
    """What `nohup` or a script's `&` made the host ignore, it goes on ignoring; the programs it starts do not inherit
    it: a handler, unlike "ignore", ends with the `exec`."""
    for number in (signal.SIGHUP, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda _number, _frame: None)


async def _serve_stdio(host: Host, settings: Settings, stop: asyncio.Event) -> None:
    connection = StdioConnection(host.attach, message_bytes=int(settings.limits["message_bytes"]))
    stopping = asyncio.create_task(stop.wait(), name="stop")
    stopping.add_done_callback(lambda _task: connection.stop())
    try:
        await connection.serve()
    finally:
        stopping.cancel()


async def _serve_sockets(host: Host, run: Run, token: str | None, stop: asyncio.Event) -> None:
    pages = WebPages(host.attach, run.settings, token, run.environment.get("HOME"))
    listener = Listener(host.attach, _listen_options(run, token), pages)
    await listener.start()
    try:
        write_endpoint(run.paths.state, _endpoint(host, run, listener, token))
        run.announce(
            Listening(
                url=listener.url,
                port=listener.port,
                socket=run.options.socket,
                data_dir=run.paths.data,
                token_needed=token is not None,
                restored=host.driver.count("session"),
                page=_page(listener, token),
            )
        )
        await stop.wait()
    finally:
        remove_endpoint(run.paths.state)
        await pages.close()
        await listener.stop()


def _listen_options(run: Run, token: str | None) -> ListenOptions:
    bounds = run.settings.limits
    return ListenOptions(
        host=run.options.host,
        port=run.options.port,
        socket=run.options.socket,
        token=token,
        token_on_unix=run.options.socket_token,
        language=run.settings.language,
        connections=int(bounds["connections"]),
        outbox_bytes=int(bounds["outbox_bytes"]),
        message_bytes=int(bounds["message_bytes"]),
        handshake_seconds=bounds["handshake_seconds"],
    )


def _page(listener: Listener, token: str | None) -> str | None:
    if listener.url is None:
        return None
    address = "http" + listener.url.removeprefix("ws")
    return address if token is None else f"{address}?tkn={quote(token, safe='')}"


def _endpoint(host: Host, run: Run, listener: Listener, token: str | None) -> Endpoint:
    socket = run.options.socket
    return Endpoint(
        pid=os.getpid(),
        process_started=process_started(),
        url=listener.url,
        port=listener.port,
        socket=None if socket is None else str(socket.absolute()),
        token=token,
        version=running_version(),
        data_dir=str(run.paths.data),
        started_at=host.driver.now(),
    )
