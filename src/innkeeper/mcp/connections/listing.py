"""Listing what a server offers, and following its changes (M5.7), for both protocol generations of the SDK."""

import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from innkeeper.mcp.connections.values import Catalogue, JsonObject
from innkeeper.protocol.session.state import ToolDefinition

if TYPE_CHECKING:
    from mcp.client.client import Client
    from pydantic import BaseModel

Part = Literal["tools", "resources", "prompts"]
PARTS: Final[tuple[Part, ...]] = ("tools", "resources", "prompts")
FEATURES: Final = (*PARTS, "logging")

PAGES: Final = 100
"""Pages of one list; a server that never ends one cannot hang the start."""

DESCRIPTION_LIMIT: Final = 20_000
"""Characters of what one tool, or the server as a whole, says about its use; a longer text is cut and says so."""

_CHANGES: Final[Mapping[str, Part]] = {
    "notifications/tools/list_changed": "tools",
    "notifications/resources/list_changed": "resources",
    "notifications/prompts/list_changed": "prompts",
}
_EVENTS: Final[Mapping[str, Part]] = {
    "ToolsListChanged": "tools",
    "ResourcesListChanged": "resources",
    "PromptsListChanged": "prompts",
}


async def list_all(client: "Client") -> Catalogue:
    """Everything, as far as the server says that it has it. Raises what the SDK raises."""
    stated = client.server_capabilities
    features = frozenset(name for name in FEATURES if getattr(stated, name) is not None)
    catalogue = Catalogue(instructions=_cut(client.instructions), features=features)
    for part in PARTS:
        catalogue = await list_part(client, catalogue, part)
    return catalogue


async def list_part(client: "Client", catalogue: Catalogue, part: Part) -> Catalogue:
    """The catalogue with one part listed anew."""
    capabilities = client.server_capabilities
    if getattr(capabilities, part) is None:
        return catalogue
    match part:
        case "tools":
            tools = await _pages(lambda cursor: client.list_tools(cursor=cursor, cache_mode="bypass"), "tools")
            return replace(catalogue, tools=[_tool(tool) for tool in tools])
        case "prompts":
            prompts = await _pages(lambda cursor: client.list_prompts(cursor=cursor, cache_mode="bypass"), "prompts")
            return replace(catalogue, prompts=prompts)
        case "resources":
            resources = await _pages(
                lambda cursor: client.list_resources(cursor=cursor, cache_mode="bypass"), "resources"
            )
            return replace(catalogue, resources=resources, templates=await _templates(client))


def changed_part(message: object) -> Part | None:
    """Which list a notification of the first generation says has changed."""
    return _CHANGES.get(str(getattr(message, "method", "")))


async def follow(client: "Client", changed: Callable[[Part], None]) -> None:
    """The second generation's subscription; returns when the server ends it or has none."""
    from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
    from mcp.shared.exceptions import MCPError
    from mcp_types.version import MODERN_PROTOCOL_VERSIONS

    if client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return
    capabilities = client.server_capabilities
    wanted = {f"{part}_list_changed": getattr(capabilities, part) is not None for part in PARTS}
    if not any(wanted.values()):
        return
    with contextlib.suppress(ListenNotSupportedError, SubscriptionLost, MCPError):
        async with client.listen(**cast(Any, wanted)) as subscription:
            async for event in subscription:
                part = _EVENTS.get(type(event).__name__)
                if part is not None:
                    changed(part)


async def _templates(client: "Client") -> Sequence[JsonObject]:
    from mcp.shared.exceptions import MCPError

    try:
        return await _pages(
            lambda cursor: client.list_resource_templates(cursor=cursor, cache_mode="bypass"), "resource_templates"
        )
    except MCPError:
        return ()  # a server may have resources and no templates


async def _pages(fetch: Callable[[str | None], Awaitable["BaseModel"]], attribute: str) -> list[JsonObject]:
    found: list[JsonObject] = []
    cursor: str | None = None
    for _ in range(PAGES):
        page = await fetch(cursor)
        found.extend(dump(item) for item in getattr(page, attribute))
        cursor = getattr(page, "next_cursor", None)
        if not cursor:
            break
    return found


def dump(model: "BaseModel") -> JsonObject:
    """A model of the SDK in the shape of the wire."""
    return cast(JsonObject, model.model_dump(mode="json", by_alias=True, exclude_none=True))


_TOOL_KEYS: Final = ("name", "title", "description", "inputSchema", "outputSchema", "annotations", "_meta")


def _tool(tool: JsonObject) -> ToolDefinition:
    kept = {key: tool[key] for key in _TOOL_KEYS if key in tool}
    if "description" in kept:
        kept["description"] = _cut(str(kept["description"]))
    return cast(ToolDefinition, kept)


def _cut(written: str | None) -> str | None:
    if written is None or len(written) <= DESCRIPTION_LIMIT:
        return written
    return f"{written[:DESCRIPTION_LIMIT]}… [cut: {DESCRIPTION_LIMIT} of {len(written)} characters]"
