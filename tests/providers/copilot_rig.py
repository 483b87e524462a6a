"""A host with the real Copilot CLI beside the console, against a fake of the API it speaks.

The agent is npm's `@github/copilot`: its program is `copilot` on the PATH, or in the folder that `INNKEEPER_NPM_BIN`
names, or what `INNKEEPER_COPILOT` names.
"""

import os
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

import psutil

from innkeeper.providers.copilot import provider as copilot
from innkeeper.providers.copilot.conversation import Conversation
from providers.agent_host import Rig, rig
from servers.fake_llm.openai_responses import FakeOpenAI
from servers.fake_llm.recording import Offered

PROGRAM = "INNKEEPER_COPILOT"
NPM = "INNKEEPER_NPM_BIN"
MODEL = "gpt-5"
_STAMP = re.compile(r"<current_datetime>.*?</current_datetime>\s*", re.S)
_MODE = re.compile(r"<mode_changed_notice>.*?</mode_changed_notice>\s*|^\[\[PLAN\]\] ", re.S)


class FakeService(FakeOpenAI):
    """`last` is without the time, and the notes, that Copilot puts before a message."""

    def read(self, body: Mapping[str, Any]) -> tuple[list[Offered], str]:
        tools, last = super().read(body)
        return list(tools), _MODE.sub("", _STAMP.sub("", last))


@cache
def program() -> str | None:
    """Where the agent is; None where npm has not brought it."""
    chosen = os.environ.get(PROGRAM)
    if chosen:
        return chosen
    paths = os.pathsep.join(filter(None, (os.environ.get(NPM), os.environ.get("PATH"))))
    return shutil.which("copilot", path=paths)


@cache
def cache_folder() -> str:
    """One for all tests of a run: the agent unpacks itself there once."""
    return tempfile.mkdtemp(prefix="copilot-cache-")


def keys(llm: FakeOpenAI) -> dict[str, str]:
    """A model service of the operator's own."""
    return {
        "COPILOT_PROVIDER_BASE_URL": f"{llm.url}/v1",
        "COPILOT_PROVIDER_WIRE_API": "responses",
        "COPILOT_PROVIDER_API_KEY": "sk-made-up",
        "COPILOT_MODEL": MODEL,
        "COPILOT_CACHE_HOME": cache_folder(),
    }


@asynccontextmanager
async def copilot_host(root: Path, llm: FakeOpenAI, **changes: Any) -> AsyncIterator[Rig]:
    more = {**keys(llm), "HOST_SECRET": "host-secret-words", **changes.pop("more", {})}
    changes.setdefault("program", program())
    async with rig(root, copilot, more=more, **changes) as found:
        yield found


def conversations(host: Rig) -> list[Conversation]:
    """The chats that have run here, in all sessions of the agent."""
    return [chat for agent in host.provider.sessions for chat in agent.chats]


def runtimes() -> list[psutil.Process]:
    """Processes of the agent that this one has."""
    found = psutil.Process().children(recursive=True)
    return [process for process in found if "--headless" in line_of(process)]


def line_of(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:  # it has just ended
        return []
