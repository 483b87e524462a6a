"""The agents that are known, and what is peculiar to each: a table (issue 6 §4, §5). Data, and looking on the PATH.

Rules
* What holds for every agent is not here. An agent that is not known is driven as the most careful of them: a process of
  its own for each session, started again when what is on has changed.
* `home` are variables by which an agent is given a folder of the host's for what it keeps; `settings` silence telemetry
  and updates; `keys` are the variables of the host by which a person gives it a login, `methods` the agent's own names
  of the ways to sign in with one of them, where it wants to be told.
"""

import json
import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Profile:
    """`name` is the agent's in the host, `programs` its names on the PATH."""

    name: str
    title: str
    programs: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    install: str = ""
    login: str = ""
    home: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    keys: tuple[str, ...] = ()
    methods: Mapping[str, str] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)
    """`_meta` of a new session: the adapter's own options."""
    follows_lists: bool = False
    """It reads a server's tools again when it is told that they have changed."""
    first_mode: str | None = None
    """The mode to set where the agent's own first mode lets a model decide what is allowed."""
    tested: frozenset[str] = frozenset()
    """Versions that the tests have run with."""
    program: str | None = None
    """The path, where it was found."""

    def signing_in(self, directory: Path, *, share_login: bool) -> str:
        """The command line by which a person signs in where the agent that the host runs looks for it."""
        if share_login or not self.login:
            return self.login
        homes = (f"{name}={shlex.quote(os.fspath(directory / folder))}" for name, folder in self.home.items())
        return " ".join((*homes, self.login))


KNOWN: Final[tuple[Profile, ...]] = (
    Profile(
        name="claude-acp",
        title="Claude Code (ACP)",
        programs=("claude-agent-acp", "claude-code-acp"),
        install="npm install -g @agentclientprotocol/claude-agent-acp",
        login="claude auth login",
        home={"CLAUDE_CONFIG_DIR": "claude"},
        settings={
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "ENABLE_TOOL_SEARCH": "false",
        },
        keys=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_MAX_RETRIES"),
        meta={"claudeCode": {"options": {"settingSources": [], "strictMcpConfig": True}}},
        follows_lists=True,
        tested=frozenset({"0.49.0"}),
    ),
    Profile(
        name="codex-acp",
        title="Codex (ACP)",
        programs=("codex-acp",),
        install="npm install -g @zed-industries/codex-acp",
        login="codex login",
        home={"CODEX_HOME": "codex"},
        keys=("OPENAI_API_KEY", "CODEX_API_KEY"),
        methods={"codex-api-key": "CODEX_API_KEY", "openai-api-key": "OPENAI_API_KEY"},
        first_mode="auto",
        tested=frozenset({"0.16.0"}),
    ),
    Profile(
        name="gemini",
        title="Gemini CLI (ACP)",
        programs=("gemini",),
        arguments=("--acp",),
        install="npm install -g @google/gemini-cli",
        login="gemini",
        home={"GEMINI_CLI_HOME": "gemini"},
        settings={"GEMINI_CLI_NO_RELAUNCH": "true", "GEMINI_TELEMETRY_ENABLED": "false"},
        keys=("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL"),
        methods={"gemini-api-key": "GEMINI_API_KEY"},
        follows_lists=True,
    ),
    Profile(
        name="opencode",
        title="opencode (ACP)",
        programs=("opencode",),
        arguments=("acp",),
        install="npm install -g opencode-ai",
        login="opencode auth login",
        home={
            "XDG_CONFIG_HOME": "config",
            "XDG_DATA_HOME": "data",
            "XDG_STATE_HOME": "state",
            "XDG_CACHE_HOME": "cache",
        },
        settings={
            "OPENCODE_DISABLE_AUTOUPDATE": "true",
            "OPENCODE_DISABLE_MODELS_FETCH": "true",
            "OPENCODE_PERMISSION": '{"bash":"ask","edit":"ask","webfetch":"ask"}',
        },
        keys=("OPENCODE_CONFIG_CONTENT", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"),
        follows_lists=True,
        tested=frozenset({"1.18.33"}),
    ),
    Profile(
        name="copilot-acp",
        title="Copilot CLI (ACP)",
        programs=("copilot",),
        arguments=("--acp", "--no-auto-update", "--disable-builtin-mcps", "--disable-client-telemetry"),
        install="npm install -g @github/copilot",
        login="copilot login",
        home={"COPILOT_HOME": "copilot", "GH_CONFIG_DIR": "gh"},
        settings={"COPILOT_AUTO_UPDATE": "false"},
        keys=(
            "COPILOT_GITHUB_TOKEN",
            "GH_TOKEN",
            "COPILOT_MODEL",
            "COPILOT_OFFLINE",
            "COPILOT_CACHE_HOME",
            *(f"COPILOT_PROVIDER_{name}" for name in ("BASE_URL", "TYPE", "WIRE_API", "API_KEY", "BEARER_TOKEN")),
        ),
        follows_lists=True,
        tested=frozenset({"1.0.102"}),
    ),
)

UNKNOWN: Final = Profile(name="acp", title="Agent (ACP)", programs=(), install=KNOWN[0].install)
"""An agent that the operator names and the table does not know, or the place of one that is not there."""


def found(program: str | None, environment: Mapping[str, str]) -> Sequence[Profile]:
    """The agents on this machine, the operator's first. Never empty: without any it is `UNKNOWN` without a program."""
    here: list[Profile] = []
    if program is not None:
        name = Path(program).name
        known = next((one for one in KNOWN if name in one.programs), UNKNOWN)
        here.append(_at(known, program))
    for one in KNOWN:
        path = _which(one, environment)
        if path is not None and all(one.name != other.name for other in here):
            here.append(_at(one, path))
    return here or (UNKNOWN,)


def _which(profile: Profile, environment: Mapping[str, str]) -> str | None:
    paths = environment.get("PATH", os.defpath)
    return next((path for name in profile.programs if (path := shutil.which(name, path=paths))), None)


def _at(profile: Profile, program: str) -> Profile:
    return replace(profile, program=program)


def version_of(program: str) -> str | None:
    """What npm wrote beside the program; None where it is not known without starting it."""
    for folder in list(Path(program).resolve().parents)[:3]:
        try:
            found = json.loads((folder / "package.json").read_bytes())
        except (OSError, ValueError):
            continue
        if isinstance(found, dict) and found.get("bin") and found.get("version"):
            return str(found["version"])
    return None
