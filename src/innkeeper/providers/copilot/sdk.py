"""The SDK, imported when the first agent is started: it is large (M7.8).

Rules
* What is called of it is named in `NEEDED` and looked for before anything is started.
* Its own log repeats what the agent and its service said, so it is not written.
"""

import importlib
import logging
from typing import Any, Final

NEEDED: Final = (
    ("copilot", "CopilotClient.create_session"),
    ("copilot", "CopilotClient.resume_session"),
    ("copilot", "CopilotClient.delete_session"),
    ("copilot", "CopilotClient.get_status"),
    ("copilot", "CopilotClient.ping"),
    ("copilot", "CopilotClient.force_stop"),
    ("copilot", "CopilotClient.rpc"),
    ("copilot", "RuntimeConnection.for_uri"),
    ("copilot", "CopilotSession.send"),
    ("copilot", "CopilotSession.abort"),
    ("copilot", "CopilotSession.disconnect"),
    ("copilot", "CopilotSession.set_model"),
    ("copilot", "CopilotSession.set_tools"),
    ("copilot", "Tool"),
    ("copilot", "ToolResult"),
    ("copilot.generated.rpc", "McpApi.disable"),
    ("copilot.generated.rpc", "McpApi.list"),
    ("copilot.generated.rpc", "McpApi.start_server"),
    ("copilot.generated.rpc", "PermissionDecisionApproveOnce"),
    ("copilot.generated.rpc", "PermissionDecisionReject"),
)
"""What is called of the SDK."""


def sdk() -> Any:
    """Blocks for a second or two, the first time: it is 1,900 generated dataclasses."""
    found = importlib.import_module("copilot")
    logging.getLogger("copilot").setLevel(logging.CRITICAL + 1)
    return found


def rpc() -> Any:
    """The shapes of its remote calls."""
    return importlib.import_module("copilot.generated.rpc")


def lacking() -> list[str]:
    """What this SDK does not have of `NEEDED`. Imports it."""
    gone = []
    for module, path in NEEDED:
        try:
            found: Any = importlib.import_module(module)
            for name in path.split("."):
                found = getattr(found, name)
        except (ImportError, AttributeError):
            gone.append(path)
    return gone
