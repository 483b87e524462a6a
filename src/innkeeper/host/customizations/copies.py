"""Fetching the files of clients' plugins (C7.4).

Rules
* Files come from the client, by `resourceList` and `resourceRead`, into a bounded copy for each URI and nonce; one that
  is here already is not fetched again.
* One fetch a URI at a time. One that fails is told as failed and harms no other plugin.
* Names that lead out of the plugin are refused; what is more than the limits is refused as a whole.
"""

import asyncio
import base64
import binascii
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from innkeeper.customizations.clients import ClientPlugin, superseded_copies
from innkeeper.customizations.discovery.items import DiscoveredPlugin
from innkeeper.customizations.discovery.roots import Places, PluginRoot
from innkeeper.host.core import Core
from innkeeper.host.outcomes import ClientGone, ClientRefused, ClientTimeout
from innkeeper.ports.copies import PluginCopies
from innkeeper.ports.files import Files
from innkeeper.protocol.uris import ROOT

log = logging.getLogger(__name__)

PLUGIN_FILES: Final = 1_000
PLUGIN_BYTES: Final = 16 * 1024 * 1024
PLUGIN_DEPTH: Final = 8
FETCH_SECONDS: Final = 10.0
"""For one answer of the client."""

Arrived = Callable[[str, ClientPlugin, DiscoveredPlugin | None], None]
_FAILED: Final = (ClientGone, ClientTimeout, ClientRefused, OSError, ValueError, KeyError, TypeError)


class ClientCopies:
    """All fetches of a host. Without `files` or `stored` every plugin fails."""

    def __init__(self, core: Core, files: Files | None, stored: PluginCopies | None) -> None:
        self._core = core
        self._files = files
        self._stored = stored
        self._running: dict[tuple[str, str, str], asyncio.Task[None]] = {}
        self._turns: dict[str, asyncio.Lock] = {}
        self._used: dict[tuple[str, str], tuple[str, str]] = {}

    def want(self, session: str, plugin: ClientPlugin, arrived: Arrived) -> None:
        """Get the plugin's files and tell how that ended; nothing when that is under way."""
        key = (session, *plugin.revision)
        if key not in self._running:
            task = self._core.spawn(self._get(session, plugin, arrived), f"plugin {plugin.uri}")
            self._running[key] = task
            task.add_done_callback(lambda _: self._running.pop(key, None))

    async def settled(self, session: str) -> None:
        """What is being fetched for the session has ended."""
        tasks = [task for key, task in self._running.items() if key[0] == session]
        if tasks:
            await asyncio.wait(tasks)

    def forget(self, session: str) -> None:
        """The session is gone; its copies may be superseded."""
        for key, task in tuple(self._running.items()):
            if key[0] == session:
                task.cancel()
        self._used = {key: revision for key, revision in self._used.items() if key[0] != session}

    async def _get(self, session: str, plugin: ClientPlugin, arrived: Arrived) -> None:
        async with self._turns.setdefault(plugin.uri, asyncio.Lock()):
            try:
                found = await self._found(plugin)
            except _FAILED as error:
                log.warning("the plugin %s of a client cannot be had: %s", plugin.uri, _why(error))
                found = None
            if found is not None:
                self._used[session, plugin.uri] = plugin.revision
                await self._supersede()
        arrived(session, plugin, found)

    async def _found(self, plugin: ClientPlugin) -> DiscoveredPlugin | None:
        if self._files is None or self._stored is None:
            raise OSError("this host keeps no copies of plugins")
        folder = await asyncio.to_thread(self._stored.find, *plugin.revision)
        if folder is None:
            files = await _Fetch(self._core, plugin).files()
            folder = await asyncio.to_thread(self._stored.store, *plugin.revision, files)
        from innkeeper.customizations.discovery.discovery import Discovery  # with the first plugin: a start is measured

        places = Places(plugins=(PluginRoot(folder, "client", plugin.uri),))
        change = await asyncio.to_thread(Discovery(self._files).scan, places)
        return next((one for one in change.containers if isinstance(one, DiscoveredPlugin)), None)

    async def _supersede(self) -> None:
        stored, used = self._stored, tuple(self._used.values())
        if stored is not None:
            for revision in superseded_copies(await asyncio.to_thread(stored.stored), used):
                await asyncio.to_thread(stored.delete, *revision)


@dataclass(slots=True)
class _Fetch:
    """One fetch of one plugin."""

    core: Core
    plugin: ClientPlugin
    count: int = 0
    size: int = 0

    async def files(self) -> Mapping[str, bytes]:
        """By relative path. Raises what `_FAILED` names."""
        found: dict[str, bytes] = {}
        folders = [""]
        while folders:
            folder = folders.pop()
            if folder.count("/") >= PLUGIN_DEPTH:
                raise ValueError(f"its folders are more than {PLUGIN_DEPTH} deep")
            listed = await self._ask("resourceList", self._uri(folder))
            for entry in listed["entries"]:
                relative = f"{folder}/{_name(entry['name'])}".lstrip("/")
                self._count()
                if entry["type"] == "directory":
                    folders.append(relative)
                else:
                    found[relative] = await self._content(relative)
        return found

    async def _content(self, relative: str) -> bytes:
        read = await self._ask("resourceRead", self._uri(relative), encoding="base64")
        data = str(read["data"])
        try:
            content = base64.b64decode(data, validate=True) if read.get("encoding") == "base64" else data.encode()
        except binascii.Error:
            raise ValueError("a file did not come as base64") from None
        self.size += len(content)
        if self.size > PLUGIN_BYTES:
            raise ValueError(f"it has more than {PLUGIN_BYTES} bytes")
        return content

    def _count(self) -> None:
        self.count += 1
        if self.count > PLUGIN_FILES:
            raise ValueError(f"it has more than {PLUGIN_FILES} files")

    async def _ask(self, method: str, uri: str, **more: object) -> Mapping[str, Any]:
        params = {"channel": ROOT, "uri": uri, **more}
        answer = await self.core.ask(self.plugin.client, method, params, seconds=FETCH_SECONDS)
        if not isinstance(answer, Mapping):
            raise ValueError("the client's answer is no object")
        return answer

    def _uri(self, relative: str) -> str:
        base = self.plugin.uri.rstrip("/")
        return f"{base}/{quote(relative)}" if relative else self.plugin.uri


def _name(name: object) -> str:
    if not isinstance(name, str) or name in ("", ".", "..") or any(sign in name for sign in "/\\\0"):
        raise ValueError("a name in it leads elsewhere")
    return name


def _why(error: Exception) -> str:
    """Never what a client wrote."""
    return str(error) if isinstance(error, ValueError) else type(error).__name__
