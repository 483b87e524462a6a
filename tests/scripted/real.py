"""A host as `app` joins it, with real MCP servers, and a workspace that declares one."""

import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from innkeeper.contributions.builtin import activate
from innkeeper.engine.effects import Also
from innkeeper.engine.hub import Hub
from innkeeper.engine.settings import HubSettings
from innkeeper.host.driver import Driver
from innkeeper.host.policy import HostPolicy
from innkeeper.host.service import HOST_METHODS, Conversation, HostService, Outside
from innkeeper.mcp.gateway import Gateway
from innkeeper.mcp.servers import ProjectServers
from innkeeper.mcp.settings import McpSettings
from innkeeper.providers.console import ConsoleProvider
from innkeeper.workspace.processes import LocalProcesses
from scripted.world import Client, World

FIXTURE = Path(__file__).resolve().parent.parent / "servers" / "fixture_server.py"


class RealWorld(World):
    """`mcp_settings` may be replaced while it runs; `asks` False is `--no-questions`."""

    mcp_settings = McpSettings()
    environment: dict[str, str] = {"PATH": "/usr/bin:/bin"}  # noqa: RUF012 - replaced, never changed
    asks = True

    async def start(self) -> "RealWorld":
        policy, image = HostPolicy(), await self.log.open()
        self.hub = Hub(image, settings=HubSettings(), policy=policy, methods=HOST_METHODS)
        self.driver = Driver(self.hub, self.log, self.clock, decisions=image.decisions)
        self.conversation = Conversation(self.driver, self.settings)
        self.processes = LocalProcesses()
        shared: dict[str, Any] = {
            "clock": self.clock,
            "decisions": lambda: self.driver.decisions,
            "store": lambda ops: self.driver.commit(Also(tuple(ops))),
            "settings": lambda: self.mcp_settings,
        }
        self.servers = ProjectServers(processes=self.processes, environment=self.environment, **shared)
        self.gateway = Gateway(
            servers=self.servers,
            questions=self.conversation.questions if self.asks else None,
            full_access=self.conversation.full_access,
            rules=self.conversation.rules,
            language=self.conversation.language,
            **shared,
        )
        console = ConsoleProvider(self.gateway, self.ids)
        outside = Outside((console, *self.more), self.servers, self.gateway, self.servers, self.clock, self.ids)
        self.service = HostService(self.driver, self.conversation, outside, policy, self.settings)
        activate(self.service.contributions)
        self.servers.publish_to(self.service.listener)
        self.driver.start()
        await self.service.start()
        return self

    async def close(self) -> None:
        await super().close()
        await self.processes.close()


@asynccontextmanager
async def real_host(**given: Any) -> AsyncIterator[RealWorld]:
    """`mcp_settings`, `environment` and `asks` as in `RealWorld`; the rest as in `World`."""
    own = {name: given.pop(name) for name in ("mcp_settings", "environment", "asks") if name in given}
    world = RealWorld(**given)
    for name, value in own.items():
        setattr(world, name, value)
    await world.start()
    try:
        yield world
    finally:
        await world.close()


def declare(folder: Path, *names: str, switches: tuple[str, ...] = (), **fields: Any) -> None:
    """Write a `.mcp.json` in which each name is a fixture server that notes what it is asked in `<name>.log`."""
    servers = {
        name: {
            "command": sys.executable,
            "args": [os.fspath(FIXTURE), "--name", name, "--log", os.fspath(folder / f"{name}.log"), *switches],
            **fields,
        }
        for name in names
    }
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))


def calls_of(folder: Path, name: str) -> list[str]:
    """The tools that the fixture server was asked for."""
    try:
        lines = (folder / f"{name}.log").read_text().splitlines()
    except FileNotFoundError:
        return []
    return [event["tool"] for event in map(json.loads, lines) if event["event"] == "call"]


async def session_in(client: Client, folder: Path, uri: str = "ahp-session:/1", **more: Any) -> tuple[str, str]:
    """A session of the console agent in a folder, its declarations read."""
    session, chat = await client.new_session(uri, provider="console", workingDirectories=[folder.as_uri()], **more)
    await client.state(session, lambda s: s.get("customizations"))
    return session, chat


async def open_question(client: Client, session: str) -> dict[str, Any]:
    """The call that waits for an answer in the session."""
    state = await client.state(session, lambda s: s.get("inputNeeded"))
    call: dict[str, Any] = state["inputNeeded"][0]["toolCall"]
    return call


def give(client: Client, chat: str, turn: str, call: dict[str, Any], option: str) -> None:
    """Answer a question of the gate."""
    approved = option != "deny"
    more = {"confirmed": "user-action"} if approved else {"reason": "denied"}
    client.dispatch(
        chat,
        "chat/toolCallConfirmed",
        turnId=turn,
        toolCallId=call["toolCallId"],
        approved=approved,
        selectedOptionId=option,
        **more,
    )
