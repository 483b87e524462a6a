"""What of the MCP SDK is used, and whether the installed version has it (M7.8).

Rules
* A version in `TESTED` is used as it is. Any other is asked for the names that we need: when all are there it is used,
  logged once as "version unverified, capabilities confirmed" and shown by `doctor`.
* When names are missing, the part that needs them is off and says MONITORING_UNSUPPORTED. Without those of `connect`
  nothing can run, and starting is refused with that code.
* Nothing is imported before somebody asks, and the answer is found once a process.
"""

import importlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

logger = logging.getLogger(__name__)

Part = Literal["connect", "changes", "probe"]
"""`connect`: everything. `changes`: following a server's lists. `probe`: telling that an HTTP server is gone."""

TESTED: Final[Mapping[str, frozenset[str]]] = {"mcp": frozenset({"2.3.0"}), "httpx2": frozenset({"2.16.2"})}
"""The versions that the tests of this repository ran with."""

NEEDED: Final[Mapping[Part, tuple[str, ...]]] = {
    "connect": (
        "mcp.client.client:Client.list_tools",
        "mcp.client.client:Client.list_resources",
        "mcp.client.client:Client.list_resource_templates",
        "mcp.client.client:Client.list_prompts",
        "mcp.client.client:Client.session",
        "mcp.client.client:Client.server_capabilities",
        "mcp.client.session:ClientSession.call_tool",
        "mcp.client.session:ClientSession.read_resource",
        "mcp.client.session:ClientSession.get_prompt",
        "mcp.client.streamable_http:streamable_http_client",
        "mcp.shared.message:SessionMessage",
        "mcp_types:jsonrpc_message_adapter",
    ),
    "changes": ("mcp.client.client:Client.listen", "mcp.client.subscriptions:SubscriptionLost"),
    "probe": ("httpx2:AsyncClient.build_request", "httpx2:create_ssl_context"),
}


@dataclass(frozen=True, slots=True)
class Admission:
    """`unverified` are the libraries whose version no test ran with; `missing` the parts that are off."""

    unverified: Mapping[str, str]
    missing: Mapping[Part, tuple[str, ...]]

    def allows(self, part: Part) -> bool:
        return part not in self.missing and "connect" not in self.missing


def admit(versions: Mapping[str, str], present: Callable[[str], bool]) -> Admission:
    """The decision for these versions; `present` says whether a name of `NEEDED` is there, and is asked only when a
    version is not a tested one."""
    unverified = {name: versions.get(name, "") for name in TESTED if versions.get(name) not in TESTED[name]}
    if not unverified:
        return Admission({}, {})
    lacking: dict[Part, tuple[str, ...]] = {
        part: tuple(name for name in names if not present(name)) for part, names in NEEDED.items()
    }
    return Admission(unverified, {part: names for part, names in lacking.items() if names})


@cache
def admission() -> Admission:
    """What is installed here; logged when it is no tested version. Imports the SDK when it must look."""
    found = admit({name: _version(name) for name in TESTED}, is_present)
    for name, number in found.unverified.items():
        if not found.missing:
            logger.info("%s %s: version unverified, capabilities confirmed", name, number or "(not installed)")
    for part, names in found.missing.items():
        logger.warning("MCP: %s is off, the installed libraries lack %s", part, ", ".join(names))
    return found


def is_present(name: str) -> bool:
    """Whether `module:attribute.path` can be had. A pydantic field counts as an attribute."""
    module, _, path = name.partition(":")
    try:
        found: object = importlib.import_module(module)
        for attribute in path.split("."):
            annotated = attribute in getattr(found, "__annotations__", {})
            found = None if annotated and not hasattr(found, attribute) else getattr(found, attribute)
    except (ImportError, AttributeError):
        return False
    return True


def _version(name: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return ""
