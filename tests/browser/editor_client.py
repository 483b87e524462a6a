"""Another client of the host, as an editor is one: it bundles a plugin, and owns its Global (C2.1, C6.6)."""

import asyncio
import base64
import threading
from collections.abc import Mapping
from typing import Any

from innkeeper.client import RpcFailure, connect

KIT = "https://plugins.example/release-kit"
FILES: Mapping[str, str] = {
    ".claude-plugin/plugin.json": '{"name": "release-kit"}',
    "skills/write-changelog/SKILL.md": "---\nname: write-changelog\ndescription: Writes it\n---\n",
    ".mcp.json": '{"mcpServers": {"tracker": {"command": "true"}}}',
}


class Editor:
    """Connected in a thread of its own until `close`."""

    def __init__(self, url: str, token: str, session: str) -> None:
        self._url, self._token, self._session = url, token, session
        self._loop = asyncio.new_event_loop()
        self._ready, self._over = threading.Event(), asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._work(),))
        self._thread.start()
        assert self._ready.wait(15)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(10)
        self._loop.close()

    async def _work(self) -> None:
        async with connect(self._url, token=self._token, client_id="vscode") as client:
            client.on_request("resourceList", self._list)
            client.on_request("resourceRead", self._read)
            session = await client.subscribe_session(self._session)
            on = [{"kind": "global", "enabled": True}]
            plugin = {"type": "plugin", "id": KIT, "uri": KIT, "name": "release-kit", "nonce": "1", "enablement": on}
            entry = {
                "clientId": "vscode",
                "displayName": "VS Code",
                "tools": [],
                "customizations": [{**plugin, "childEnablement": {"tracker": on}}],
            }
            await session.dispatch({"type": "session/activeClientSet", "activeClient": entry})
            await session.wait_for(lambda state: any(one["name"] == "release-kit" for one in state["customizations"]))
            self._ready.set()
            await self._over.wait()

    async def _list(self, params: Mapping[str, Any]) -> Any:
        path = params["uri"].removeprefix(KIT).lstrip("/")
        below = [name.removeprefix(f"{path}/" if path else "") for name in FILES if name.startswith(path)]
        names = {name.split("/")[0]: "directory" if "/" in name else "file" for name in below}
        return {"entries": [{"name": name, "type": type} for name, type in names.items()]}

    async def _read(self, params: Mapping[str, Any]) -> Any:
        path = params["uri"].removeprefix(KIT).lstrip("/")
        if path not in FILES:
            raise RpcFailure("resourceRead", -32008, "not here")
        return {"data": base64.b64encode(FILES[path].encode()).decode(), "encoding": "base64"}
