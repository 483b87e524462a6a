"""Which model service the agent talks to, and which models it has (issue 6 §1, §6). Pure.

Rules
* GitHub's, with a token; or one of the operator's own, described in the host's environment by the variables that the
  agent's own documentation names for it. Then no login is needed.
* Models are what the agent reports; before it has, and with a service of one's own, what the operator names.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from innkeeper.protocol.root.state import AgentInfo, SessionModelInfo
from innkeeper.providers.copilot.launch import TOKENS
from innkeeper.providers.copilot.sdk import sdk
from innkeeper.texts import text

NAME: Final = "copilot"
RESOURCE: Final = "https://api.github.com"
DEFAULT: Final = "default"
_TEXTS: Final = {
    "type": "TYPE",
    "wire_api": "WIRE_API",
    "api_key": "API_KEY",
    "bearer_token": "BEARER_TOKEN",
    "wire_model": "WIRE_MODEL",
}
_NUMBERS: Final = {"max_prompt_tokens": "MAX_PROMPT_TOKENS", "max_output_tokens": "MAX_OUTPUT_TOKENS"}


@dataclass(frozen=True, slots=True)
class Service:
    """`provider` is the operator's own, in the SDK's words; `token` is GitHub's. `model` is the operator's choice."""

    provider: Mapping[str, Any] | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    model: str | None = None

    def options(self, model: str | None) -> dict[str, Any]:
        """What a session is opened with."""
        chosen = model or self.model
        found: dict[str, Any] = {"model": chosen} if chosen else {}
        if self.provider is not None:
            base = {"model_id": chosen, **self.provider} if chosen else dict(self.provider)
            return {**found, "provider": base, "model_capabilities": _sees()}
        return {**found, **({"github_token": self.token} if self.token else {})}


def _sees() -> Any:
    """A model of the operator's own is taken to see pictures: the agent would leave them out otherwise."""
    found = sdk()
    return found.ModelCapabilitiesOverride(supports=found.ModelSupportsOverride(vision=True))


def service(host: Mapping[str, str], token: str | None) -> Service:
    """`token` is one that a client gave, or a shared login's; it counts before those of the environment."""
    model = host.get("COPILOT_MODEL") or None
    url = host.get("COPILOT_PROVIDER_BASE_URL")
    if url:
        found: dict[str, Any] = {"type": "openai", "base_url": url}
        for name, variable in _TEXTS.items():
            if value := host.get(f"COPILOT_PROVIDER_{variable}"):
                found[name] = value
        for name, variable in _NUMBERS.items():
            if (value := host.get(f"COPILOT_PROVIDER_{variable}", "")).isdigit():
                found[name] = int(value)
        if known := host.get("COPILOT_PROVIDER_MODEL_ID"):
            found["model_id"] = known
        return Service(provider=found, model=model)
    return Service(token=token or next((host[name] for name in TOKENS if host.get(name)), None), model=model)


def agent_info(models: Sequence[SessionModelInfo], own: Service) -> AgentInfo:
    listed = list(models)
    if not listed:
        listed = [
            {"id": own.model, "provider": NAME, "name": own.model, "supportsVision": True}
            if own.model
            else {"id": DEFAULT, "provider": NAME, "name": text("copilot.model.default")}
        ]
    return {
        "provider": NAME,
        "displayName": text("copilot.name"),
        "description": text("copilot.description"),
        "models": listed,
        "capabilities": {
            "multipleChats": {"fork": True, "sideChat": True},
            "multipleWorkingDirectories": {"immutablePrimary": True},
        },
        "protectedResources": [
            {
                "resource": RESOURCE,
                "resource_name": text("copilot.resource"),
                "authorization_servers": ["https://github.com/login/oauth"],
                "bearer_methods_supported": ["header"],
                "scopes_supported": ["read:user"],
                "required": False,
            }
        ],
    }


def models(reported: object) -> list[SessionModelInfo]:
    """What `model.list` of a session says, as wire data; the default one first, none that a policy has switched off."""
    entries = [one for one in reported if isinstance(one, Mapping)] if isinstance(reported, list) else []
    usable = [one for one in entries if (one.get("policy") or {}).get("state", "enabled") == "enabled"]
    ordered = sorted(usable, key=lambda one: not one.get("is_chat_default"))
    return [_model(one) for one in ordered if isinstance(one.get("id"), str)]


def _model(one: Mapping[str, Any]) -> SessionModelInfo:
    capabilities = one.get("capabilities") or {}
    supports, limits = capabilities.get("supports") or {}, capabilities.get("limits") or {}
    info: SessionModelInfo = {
        "id": str(one["id"]),
        "provider": NAME,
        "name": str(one.get("name") or one["id"]),
        "supportsVision": bool(supports.get("vision")),
    }
    window = limits.get("max_context_window_tokens")
    if isinstance(window, int | float) and window > 0:
        info = {**info, "maxContextWindow": int(window)}
    efforts = [str(effort) for effort in supports.get("reasoning_effort") or ()]
    if not efforts:
        return info
    choice: Any = {"type": "string", "title": text("copilot.effort.title"), "enum": efforts}
    return {**info, "configSchema": {"type": "object", "properties": {"effort": choice}}}


def effort(model: Mapping[str, Any] | None) -> str | None:
    """The reasoning effort that a message asks for."""
    chosen = ((model or {}).get("config") or {}).get("effort")
    return str(chosen) if chosen else None


def model_id(model: Mapping[str, Any] | None) -> str | None:
    """None: the agent's own default."""
    chosen = (model or {}).get("id")
    return str(chosen) if chosen and chosen != DEFAULT else None
