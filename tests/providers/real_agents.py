"""Real agents for the contract suite: each in a folder of its own, before a fake model. One entry an agent."""

import asyncio
import importlib.util
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from innkeeper.ports.mcp import McpRefused
from innkeeper.providers.spi import Provider, Surroundings
from innkeeper.workspace.processes import LocalProcesses
from scripted.fakes import CountingIds, FakeMcp, RealClock
from servers.fake_llm.anthropic import FakeAnthropic
from servers.fake_llm.openai_responses import FakeOpenAI
from servers.fake_llm.recording import FakeModel, call, reply, say


@dataclass(frozen=True)
class RealAgent:
    """`says`, `calls` and `waits` are prompts, `directory` is where it works. `make` gives a provider that is closed
    with the test."""

    make: Callable[[], Provider]
    directory: str
    says: str = "hello"
    calls: str = "call a tool"
    waits: str = "never answer"


class NoEndpoints:
    """No server is connected, so nothing is offered."""

    async def offer(self, session: str, server: str, **more: object) -> object:
        raise McpRefused("SERVER_UNKNOWN", server)

    async def withdraw(self, session: str, server: str | None = None, **more: object) -> None:
        return None

    def give_up(self, session: str, call: str) -> None:
        return None


def answer_as_asked(llm: FakeModel, tool: str, **arguments: object) -> None:
    """The replies to the three prompts of the suite."""
    llm.when(lambda asked: asked.last == "call a tool", reply(call(tool, **arguments)))
    llm.when(lambda asked: asked.last == "never answer", reply(say("wait"), then="hang"))


@asynccontextmanager
async def agents_of(
    make: Callable[[Surroundings], Provider], root: Path, environment: Mapping[str, str]
) -> AsyncIterator[RealAgent]:
    """Makes providers and closes them, and what they started."""
    processes, made = LocalProcesses(), list[Provider]()
    work, home = root / "work", root / "user"
    work.mkdir()
    home.mkdir()

    def one() -> Provider:
        made.append(
            make(
                Surroundings(
                    gateway=FakeMcp(),  # type: ignore[arg-type]  # the part of it that a provider uses
                    endpoints=NoEndpoints(),  # type: ignore[arg-type]
                    processes=processes,
                    clock=RealClock(),
                    ids=CountingIds(),
                    environment={"PATH": os.environ["PATH"], "HOME": os.fspath(home), **environment},
                    directory=root / "agent",
                )
            )
        )
        return made[-1]

    try:
        yield RealAgent(one, os.fspath(work))
    finally:
        await asyncio.gather(*(provider.close() for provider in made))
        await processes.close()


@asynccontextmanager
async def codex(root: Path) -> AsyncIterator[RealAgent]:
    from innkeeper.providers.codex import provider
    from providers.codex.conftest import configure

    async with FakeOpenAI() as llm:
        configure(root / "agent" / "home", llm.url)
        answer_as_asked(llm, "exec_command", cmd="true")
        async with agents_of(provider, root, {}) as agent:
            yield agent


@asynccontextmanager
async def claude(root: Path) -> AsyncIterator[RealAgent]:
    from innkeeper.providers.claude import provider
    from providers.claude_rig import keys

    async with FakeAnthropic() as llm:
        answer_as_asked(llm, "Bash", command="ls", description="Look")
        async with agents_of(provider, root, keys(llm)) as agent:
            yield agent


@asynccontextmanager
async def acp(root: Path) -> AsyncIterator[RealAgent]:
    from innkeeper.providers.acp import provider
    from providers.acp.conftest import simple_program

    async with FakeOpenAI() as llm:
        answer_as_asked(llm, "shell", command="true")
        program = simple_program(root, llm.url)
        async with agents_of(lambda given: provider(replace(given, program=program))[0], root, {}) as agent:
            yield agent


@asynccontextmanager
async def copilot(root: Path) -> AsyncIterator[RealAgent]:
    from innkeeper.providers.copilot import provider
    from providers.copilot_rig import FakeService, keys, program

    async with FakeService() as llm:
        answer_as_asked(llm, "glob", pattern="*")
        async with agents_of(lambda given: provider(replace(given, program=program())), root, keys(llm)) as agent:
            yield agent


REAL: Mapping[str, tuple[str, Callable[[Path], AbstractAsyncContextManager[RealAgent]]]] = {
    "claude": ("claude_agent_sdk", claude),
    "codex": ("codex_cli_bin", codex),
    "copilot": ("copilot", copilot),
    "acp": ("acp", acp),
}
"""By name: the module that has to be installed, and the agent."""


def missing(name: str) -> str | None:
    """Why the agent cannot be had here."""
    module = REAL[name][0]
    if importlib.util.find_spec(module) is None:
        return f"the extra {name} is not installed"
    from providers.copilot_rig import program

    return "npm's @github/copilot is not installed" if name == "copilot" and program() is None else None
