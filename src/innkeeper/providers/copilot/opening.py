"""What a session of the runtime is opened with, in the SDK's words (C6.1)."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from innkeeper.providers.copilot.handing import Read, system_message
from innkeeper.providers.copilot.servers import Wanted
from innkeeper.providers.copilot.service import Service, effort, model_id
from innkeeper.providers.spi import TurnRequest

QUIET: Final[Mapping[str, Any]] = {
    "streaming": True,
    "include_sub_agent_streaming_events": True,
    "enable_config_discovery": False,
    "enable_file_hooks": False,
    "enable_on_demand_instruction_discovery": False,
    "enable_session_store": False,
    "enable_session_telemetry": False,
    "enable_experimental_mode": False,
    "skip_custom_instructions": True,
    "skip_embedding_retrieval": True,
    "custom_agents_local_only": True,
    "manage_schedule_enabled": False,
    "memory": {"enabled": False},
    "tool_search": {"enabled": False},
}
"""Nothing is found, fetched, kept or begun by the agent itself, and all tools are in the request (C5.4)."""


def opening(given: Read, folders: Sequence[str], wanted: Wanted, instructions: Sequence[str]) -> dict[str, Any]:
    """Everything that may reach the model; `folders` are where the skills are laid out."""
    return {
        **QUIET,
        "mcp_servers": {name: dict(config) for name, config in wanted.configs.items()},
        "disabled_mcp_servers": list(wanted.off),
        "skill_directories": list(folders),
        "enable_skills": bool(folders),
        "included_builtin_skills": [],
        "custom_agents": [dict(agent) for agent in given.agents],
        "system_message": system_message(given.rules, instructions),
    }


def chosen(request: TurnRequest, service: Service) -> tuple[str | None, str | None]:
    """Model and reasoning effort that the request wants."""
    model = request.message.get("model")
    return model_id(model) or service.model, effort(model)
