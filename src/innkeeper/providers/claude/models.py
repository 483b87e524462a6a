"""What the root channel lists of the agent: its models, as it reported them last (AHP §13.9, issue 6 §1).

Rules
* Before the agent has ever run here, one model is listed: its own default, which every version has.
* What it reports is kept in a file of ours, so that the next start of the host knows it without starting an agent.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from innkeeper.protocol.root.state import AgentInfo, SessionModelInfo
from innkeeper.protocol.session.state import SessionConfigSchema
from innkeeper.texts import text

log = logging.getLogger(__name__)

NAME: Final = "claude"
MODES: Final = ("default", "acceptEdits", "plan", "bypassPermissions")
"""The agent's own modes; the last is full access, which the host grants (M6.3b)."""
RESOURCE: Final = "https://api.anthropic.com"
"""What a client gives a token for: a key of the API, or a token made by `claude setup-token`."""


class Models:
    """`file` is where they are kept; its folder is made when needed."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.known = _read(file)

    def learnt(self, about: Mapping[str, Any]) -> bool:
        """The agent said which it has. True: they are others than before. Blocks for a small file."""
        found = [
            {"id": str(one["value"]), "name": str(one.get("displayName") or one["value"])}
            for one in about.get("models") or ()
            if isinstance(one, Mapping) and one.get("value")
        ]
        if not found or found == self.known:
            return False
        self.known = found
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._file.write_text(json.dumps(found))
        except OSError as error:
            log.warning("the models of the agent are not kept: %s", error.strerror)
        return True

    def listed(self) -> Sequence[SessionModelInfo]:
        known = self.known or [{"id": "default", "name": text("claude.model.default")}]
        return [{"id": one["id"], "provider": NAME, "name": one["name"]} for one in known]


def _read(file: Path) -> list[dict[str, str]]:
    try:
        found = json.loads(file.read_text())
        return [{"id": str(one["id"]), "name": str(one["name"])} for one in found]
    except (OSError, ValueError, TypeError, LookupError):
        return []


def agent_info(models: Sequence[SessionModelInfo]) -> AgentInfo:
    return {
        "provider": NAME,
        "displayName": "Claude",
        "description": text("claude.description"),
        "models": models,
        "capabilities": {"multipleChats": {"fork": True, "sideChat": True}},
        "protectedResources": [
            {
                "resource": RESOURCE,
                "resource_name": "Anthropic API",
                "bearer_methods_supported": ["header"],
                "required": False,
            }
        ],
    }


def schema() -> SessionConfigSchema:
    """The configuration of a session beside the host's own."""
    return {
        "type": "object",
        "properties": {
            "permissionMode": {
                "type": "string",
                "title": text("claude.mode.title"),
                "description": text("claude.mode.description"),
                "enum": list(MODES),
                "enumLabels": [text(f"claude.mode.{mode}") for mode in MODES],
                "default": "default",
                "sessionMutable": True,
            }
        },
    }
