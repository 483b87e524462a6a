"""Agents that speak ACP: one of the tests' own, and a real one where npm has brought it."""

import json
import os
import shutil
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2]))

from innkeeper.providers.acp.agent import AcpProvider
from innkeeper.providers.acp.profiles import UNKNOWN, found
from innkeeper.providers.spi import Provider, Surroundings
from providers.agent_host import Rig, rig
from providers.codex.conftest import configure
from providers.copilot_rig import FakeService
from providers.copilot_rig import keys as service
from servers.fake_llm.anthropic import FakeAnthropic
from servers.fake_llm.openai_chat import FakeChat
from servers.fake_llm.openai_responses import FakeOpenAI
from servers.fake_llm.recording import Asked, Call, FakeModel, call, reply, say

SIMPLE = Path(__file__).resolve().parents[2] / "servers" / "acp_agent.py"
NPM = "INNKEEPER_NPM_BIN"
"""The folder in which npm put its programs, where it is not on the PATH."""


@dataclass
class AcpHost:
    """A host with one agent. `name` is the agent's, `run` the model's call by which it runs a command that has to be
    asked about; `plans` says whether the agent has a plan mode."""

    rig: Rig
    llm: Any
    name: str
    run: Callable[..., Call]
    plans: bool = True
    names: str = "mcp__{server}__{tool}"
    """How a tool is called in the model's request."""

    def tool(self, server: str, tool: str) -> str:
        """The name in the model's request."""
        return self.names.format(server=server, tool=tool)

    @property
    def asked(self) -> list[Asked]:
        """The requests of the turns: opencode asks for a title too, without tools."""
        return [asked for asked in self.llm.asked if asked.tools]

    async def request(self, number: int) -> Asked:
        found: Asked = await self.llm.until(lambda: self.asked[number] if len(self.asked) > number else None)
        return found


def one(profile_of: Callable[[Surroundings], Any]) -> Callable[[Surroundings], Provider]:
    def make(given: Surroundings) -> Provider:
        return AcpProvider(given, profile_of(given))

    return make


def simple_program(root: Path, url: str, quirks: str = "") -> str:
    """A program that needs no arguments, as an operator would write it."""
    file = root / "simple-agent"
    lines = [
        "#!/bin/sh",
        f"export ACP_MODEL_URL={url} ACP_HOME={root / 'kept'} ACP_QUIRKS='{quirks}'",
        f"exec {sys.executable} {SIMPLE}",
    ]
    file.write_text("\n".join(lines) + "\n")
    file.chmod(0o755)
    return os.fspath(file)


@asynccontextmanager
async def simple_host(root: Path, quirks: str = "", **changes: Any) -> AsyncIterator[AcpHost]:
    """`keys` are the variables by which the agent is given a login."""
    keys = changes.pop("keys", ())
    async with FakeOpenAI() as llm:
        program = simple_program(root, llm.url, quirks)
        make = one(lambda given: replace(found(program, {"PATH": ""})[0], keys=keys))
        async with rig(root, make, program=program, **changes) as host:
            yield AcpHost(host, llm, UNKNOWN.name, lambda command, **more: call("shell", command=command, **more))


def npm_program(name: str) -> str | None:
    paths = os.pathsep.join(filter(None, (os.environ.get(NPM), os.environ.get("PATH"))))
    return shutil.which(name, path=paths)


@asynccontextmanager
async def claude_host(root: Path, **changes: Any) -> AsyncIterator[AcpHost]:
    program = npm_program("claude-agent-acp")
    if program is None:
        pytest.skip("npm's @agentclientprotocol/claude-agent-acp is not installed")
    async with FakeAnthropic() as llm:
        more = {
            "ANTHROPIC_BASE_URL": llm.url,
            "ANTHROPIC_API_KEY": "sk-ant-made-up",
            "CLAUDE_CODE_MAX_RETRIES": "1",
            **changes.pop("more", {}),
        }
        make = one(lambda given: found(program, {"PATH": ""})[0])
        async with rig(root, make, more=more, **changes) as host:
            yield AcpHost(host, llm, "claude-acp", lambda command, **more: call("Bash", command=command, **more))


def escalated(command: str, **more: Any) -> Call:
    """Codex runs the rest in its sandbox without asking."""
    return call("exec_command", cmd=command, sandbox_permissions="require_escalated", justification="must", **more)


@asynccontextmanager
async def codex_host(root: Path, **changes: Any) -> AsyncIterator[AcpHost]:
    program = npm_program("codex-acp")
    if program is None:
        pytest.skip("npm's @zed-industries/codex-acp is not installed")
    async with FakeOpenAI() as llm:
        configure(root / "agent" / "codex-acp" / "codex", llm.url)
        make = one(lambda given: found(program, {"PATH": ""})[0])
        async with rig(root, make, **changes) as host:
            yield AcpHost(host, llm, "codex-acp", escalated, plans=False)


@asynccontextmanager
async def opencode_host(root: Path, **changes: Any) -> AsyncIterator[AcpHost]:
    program = npm_program("opencode")
    if program is None:
        pytest.skip("npm's opencode-ai is not installed")
    async with FakeChat() as llm:
        llm.when(lambda asked: not asked.tools, reply(say("A title")))
        models = {"m": {"name": "m"}}
        options = {"baseURL": f"{llm.url}/v1", "apiKey": "made-up"}
        fake = {"npm": "@ai-sdk/openai-compatible", "name": "fake", "options": options, "models": models}
        config = {"provider": {"fake": fake}, "model": "fake/m"}
        more = {"OPENCODE_CONFIG_CONTENT": json.dumps(config), **changes.pop("more", {})}
        make = one(lambda given: found(program, {"PATH": ""})[0])
        async with rig(root, make, more=more, **changes) as host:
            run = lambda command, **more: call("bash", command=command, description="do", **more)  # noqa: E731
            yield AcpHost(host, llm, "opencode", run, names="{server}_{tool}")


@asynccontextmanager
async def copilot_host(root: Path, **changes: Any) -> AsyncIterator[AcpHost]:
    program = npm_program("copilot")
    if program is None:
        pytest.skip("npm's @github/copilot is not installed")
    async with FakeService() as llm:
        more = {**service(llm), "COPILOT_OFFLINE": "true", **changes.pop("more", {})}
        make = one(lambda given: found(program, {"PATH": ""})[0])
        async with rig(root, make, more=more, **changes) as host:
            run = lambda command, **more: call("bash", command=command, description="do", **more)  # noqa: E731
            yield AcpHost(host, llm, "copilot-acp", run, names="{server}-{tool}")


HOSTS: dict[str, Callable[..., Any]] = {
    "simple": simple_host,
    "claude-agent-acp": claude_host,
    "codex-acp": codex_host,
}
ENABLING: dict[str, Callable[..., Any]] = {**HOSTS, "opencode": opencode_host, "copilot-acp": copilot_host}
"""Two more that are slow and large: enablement is tried with them, and not the rest."""


@pytest.fixture(autouse=True)
def extra() -> None:
    pytest.importorskip("acp", reason="the extra acp is not installed")


@pytest.fixture
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("acp")


@pytest.fixture(params=HOSTS)
async def host(request: pytest.FixtureRequest, root: Path) -> AsyncIterator[AcpHost]:
    async with HOSTS[request.param](root, more={"MY_SECRET": "HIDDEN", "GITHUB_TOKEN": "HIDDEN"}) as made:
        yield made


@pytest.fixture(params=ENABLING)
async def enabling(request: pytest.FixtureRequest, root: Path) -> AsyncIterator[AcpHost]:
    async with ENABLING[request.param](root) as made:
        yield made


__all__ = ["AcpHost", "FakeModel"]
