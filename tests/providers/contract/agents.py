"""The agents of the contract suite: what each calls things, and where each looks for them. One class an agent.

A new agent adds a class here and its cells to `means`. Nothing of an agent is imported before its host is asked for.
"""

import importlib.util
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, ClassVar, Final

from providers.agent_host import Rig
from providers.enabling import markdown
from servers.fake_llm.anthropic import FakeAnthropic
from servers.fake_llm.openai_responses import FakeOpenAI
from servers.fake_llm.recording import Asked, Call, FakeModel, call


class Agent(ABC):
    name: ClassVar[str]
    module: ClassVar[str]
    """What its extra brings."""
    folder: ClassVar[str]
    """Where a project keeps what is for it."""
    shell: ClassVar[str]
    """The name of its tool for commands."""
    home: ClassVar[str]
    """Where a person keeps what is for it."""
    rules: ClassVar[tuple[str, str]]
    """Instructions of a project, and of a person below `home`."""
    links_login: ClassVar[bool] = True
    """Of a shared login the agent uses the login alone, and not the whole folder."""
    keeps: ClassVar[bool] = False
    """What skills and agents there were stays in the history, and nothing takes it back."""
    prompts: ClassVar[bool] = False
    """Prompts are handed over."""
    uses: ClassVar[bool] = True
    """There is a call by which a skill is used; else the model reads its file."""
    full_access: ClassVar[Mapping[str, Any]] = {"autoApprove": "autoApprove"}

    def missing(self) -> str | None:
        """Why it cannot be had here."""
        found = importlib.util.find_spec(self.module)
        return None if found is not None else f"the extra {self.name} is not installed"

    @abstractmethod
    def model(self) -> FakeModel:
        """Of the API that it speaks."""

    @abstractmethod
    def host(self, root: Path, llm: FakeModel, **changes: Any) -> AbstractAsyncContextManager[Rig]: ...

    def tool(self, server: str, tool: str) -> str:
        """The name of a server's tool in the model's request."""
        return f"mcp__{server}__{tool}"

    @abstractmethod
    def run(self, command: str, id: str) -> Call:
        """A command that somebody has to be asked about."""

    def edited(self, command: str) -> str:
        """What a person makes of the input of such a call."""
        return command

    def runs_unasked(self, command: str, id: str) -> Call:
        """A command that the agent may run without asking, where it has such."""
        return self.run(command, id)

    def asking(self, host: Rig) -> int:
        """How many questions of the agent nobody has answered."""
        return sum(chat.asking for session in host.provider.sessions for chat in session.chats)

    @abstractmethod
    def spawn(self, prompt: str, id: str, agent: str | None = None) -> Call:
        """A child, of a kind that the project defines or of any."""

    def use(self, skill: str, id: str, plugin: str | None = None) -> Call:
        """The call by which a skill of the project, or of a plugin, is used."""
        raise NotImplementedError

    def define(self, folder: Path, name: str) -> None:
        """An agent of a project, whose description is `NAMEWORDS`."""
        markdown(folder / "agents" / f"{name}.md", name)

    @abstractmethod
    def theirs(self, home: Path) -> Path:
        """The person's own configuration of it, with a server `mine` in it; its folder."""

    def now(self, asked: Asked) -> str:
        """What of a request says which skills, agents and rules there are now, as text."""
        return json.dumps(asked.body)

    def child_of(self, asked: Asked, prompt: str) -> bool:
        """Whether a child asks that was spawned with that prompt."""
        return prompt in json.dumps((asked.body.get("messages") or asked.body.get("input") or [""])[0])


class Claude(Agent):
    name = "claude"
    module = "claude_agent_sdk"
    shell = "Bash"
    folder = home = ".claude"
    rules = ("CLAUDE.md", "CLAUDE.md")
    links_login = False
    keeps = prompts = True

    def model(self) -> FakeModel:
        return FakeAnthropic()

    def host(self, root: Path, llm: FakeModel, **changes: Any) -> AbstractAsyncContextManager[Rig]:
        from providers.claude_rig import claude_host

        assert isinstance(llm, FakeAnthropic)
        return claude_host(root, llm, **changes)

    def run(self, command: str, id: str) -> Call:
        return call("Bash", command=command, description="Do it", id=id)

    def edited(self, command: str) -> str:
        return json.dumps({"command": command, "description": "Do it"})

    def spawn(self, prompt: str, id: str, agent: str | None = None) -> Call:
        kind = f"claude:{agent}" if agent else "general-purpose"
        return call("Agent", description="Do it", prompt=prompt, subagent_type=kind, id=id)

    def use(self, skill: str, id: str, plugin: str | None = None) -> Call:
        place = plugin or ("claude")
        return call("Skill", skill=f"{place}:{skill}", id=id)

    def theirs(self, home: Path) -> Path:
        folder = home / self.home
        folder.mkdir(parents=True)
        (folder / "settings.json").write_text('{"theme": "dark"}')
        (folder / ".claude.json").write_text(json.dumps({"mcpServers": {"mine": {"command": "/bin/false"}}}))
        return folder


class Codex(Agent):
    name = "codex"
    module = "codex_cli_bin"
    shell = "shell"
    uses = False
    folder = home = ".codex"
    rules = ("AGENTS.md", "AGENTS.md")
    full_access: ClassVar[Mapping[str, Any]] = {"sandbox": "danger-full-access"}

    def model(self) -> FakeModel:
        return FakeOpenAI()

    def host(self, root: Path, llm: FakeModel, **changes: Any) -> AbstractAsyncContextManager[Rig]:
        from providers.codex.conftest import codex_host

        assert isinstance(llm, FakeOpenAI)
        return codex_host(root, llm, **changes)

    def run(self, command: str, id: str) -> Call:
        leaves = {"sandbox_permissions": "require_escalated", "justification": "it must"}
        return call("exec_command", cmd=command, id=id, **leaves)

    def spawn(self, prompt: str, id: str, agent: str | None = None) -> Call:
        return call("spawn_agent", message=prompt, id=id, **({"agent_type": agent} if agent else {}))

    def runs_unasked(self, command: str, id: str) -> Call:
        return call("exec_command", cmd=command, id=id)

    def asking(self, host: Rig) -> int:
        server = host.provider._servers.running
        return 0 if server is None else len(server._rpc._serving)

    def define(self, folder: Path, name: str) -> None:
        (folder / "agents").mkdir(parents=True, exist_ok=True)
        lines = [
            f'name = "{name}"',
            f'description = "{name.upper()}WORDS"',
            f'developer_instructions = "BODY of {name}"',
        ]
        (folder / "agents" / f"{name}.toml").write_text("\n".join(lines))

    def theirs(self, home: Path) -> Path:
        folder = home / self.home
        folder.mkdir(parents=True)
        (folder / "config.toml").write_text('[mcp_servers.mine]\ncommand = "/bin/false"\n')
        (folder / "auth.json").write_text('{"auth_mode": "apikey", "OPENAI_API_KEY": "sk-theirs"}')
        return folder

    def now(self, asked: Asked) -> str:
        """What was said before stays in the history; of lists and instructions the last one counts."""
        items = [json.dumps(item) for item in asked.body["input"]]
        last = [[item for item in items if mark in item][-1:] for mark in ("<skills_instructions>", "<innkeeper>")]
        return json.dumps([asked.body.get("tools"), *last])

    def child_of(self, asked: Asked, prompt: str) -> bool:
        said = [item for item in asked.body["input"] if item.get("role") == "user"]
        return prompt in json.dumps(said[-1:])


class Copilot(Agent):
    name = "copilot"
    module = "copilot"
    shell = "bash"
    folder = ".github"
    home = ".copilot"
    rules = ("AGENTS.md", "copilot-instructions.md")

    def missing(self) -> str | None:
        from providers.copilot_rig import program

        return super().missing() or (None if program() else "npm's @github/copilot is not installed")

    def model(self) -> FakeModel:
        from providers.copilot_rig import FakeService

        return FakeService()

    def host(self, root: Path, llm: FakeModel, **changes: Any) -> AbstractAsyncContextManager[Rig]:
        from providers.copilot_rig import FakeService, copilot_host

        assert isinstance(llm, FakeService)
        return copilot_host(root, llm, **changes)

    def tool(self, server: str, tool: str) -> str:
        return f"{server}-{tool}"

    def run(self, command: str, id: str) -> Call:
        return call("bash", command=command, description="Do it", id=id)

    def spawn(self, prompt: str, id: str, agent: str | None = None) -> Call:
        kind = {"agent_type": agent or "general-purpose", "name": "kid", "mode": "sync"}
        return call("task", description="Do it", prompt=prompt, id=id, **kind)

    def use(self, skill: str, id: str, plugin: str | None = None) -> Call:
        return call("skill", skill=skill, id=id)

    def define(self, folder: Path, name: str) -> None:
        markdown(folder / "agents" / f"{name}.agent.md", name)

    def theirs(self, home: Path) -> Path:
        folder = home / self.home
        folder.mkdir(parents=True)
        mine = {"type": "local", "tools": ["*"], "command": "/bin/false", "args": []}
        (folder / "mcp-config.json").write_text(json.dumps({"mcpServers": {"mine": mine}}))
        (folder / "config.json").write_text('{"copilotTokens": {"https://github.com:me": "gho_theirs"}}')
        return folder


AGENTS: Final[Mapping[str, Agent]] = {agent.name: agent for agent in (Claude(), Codex(), Copilot())}
