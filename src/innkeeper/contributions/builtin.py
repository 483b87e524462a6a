"""The one list of built-in contributions, and the one activation (K3, K3b).

Rules
* Nothing else registers a contribution. What the operator named comes after the built-ins, from the entry points of the
  group `innkeeper.contributions`; nothing is loaded that was not named.
* Whatever fails on the way disposes what was registered, and is an error of the start: a host never runs with half of
  what it was told to run, least of all without somebody's admission.
"""

import logging
from collections.abc import Iterable
from importlib import import_module
from typing import Any, Final

from innkeeper.contributions.dispatch import Registry
from innkeeper.contributions.spi import SPI_VERSION, Contribution
from innkeeper.errors import HostError

log = logging.getLogger(__name__)

GROUP: Final = "innkeeper.contributions"
BUILTIN: Final = (
    ("local_commands", "LocalCommands"),
    ("turn_admission", "TurnAdmission"),
    ("persisted_usage", "PersistedUsage"),
    ("checkpoint_changeset", "CheckpointChangeset"),
    ("markdown_plan_rich_links", "MarkdownPlanRichLinks"),
    ("interrupted_turn", "InterruptedTurn"),
    ("mcp_declarations", "McpDeclarations"),
    ("queue_drain", "QueueDrain"),
    ("session_input_needed", "SessionInputNeeded"),
    ("worktree_announcement", "WorktreeAnnouncement"),
    ("github_references", "GithubReferences"),
    ("chat_surface", "ChatSurface"),
    ("session_title", "SessionTitle"),
    ("mark_unread", "MarkUnread"),
    ("side_chat", "SideChat"),
    ("chat_draft", "ChatDraft"),
    ("chat_config", "ChatConfig"),
    ("session_flags", "SessionFlags"),
)
"""Folder and class."""


def builtin_kinds() -> list[type[Contribution]]:
    return [getattr(import_module(f"innkeeper.contributions.{folder}"), name) for folder, name in BUILTIN]


def activate(registry: Registry, named: Iterable[str] = ()) -> None:
    """Register the built-ins, then those that the operator named. Raises HostError CONTRIBUTION_…, or what a built-in's
    constructor raised; nothing is registered then."""
    try:
        for kind in builtin_kinds():
            registry.register(kind)
        for name in named:
            _register_named(registry, name)
    except BaseException:
        registry.close()
        raise


def _register_named(registry: Registry, name: str) -> None:
    kind = _loaded(name)
    needs: Any = getattr(kind, "spi", None)
    try:
        first, below = needs
        fits = tuple(first) <= SPI_VERSION < tuple(below)
    except (TypeError, ValueError):
        fits = False
    if not fits:
        version = ".".join(map(str, SPI_VERSION))
        raise HostError("CONTRIBUTION_SPI", contribution=name, version=version)
    if (tie := registry.tied(kind)) is not None:
        raise HostError("CONTRIBUTION_TIED", contribution=kind.id, hook=tie[0], other=tie[1])
    try:
        registry.register(kind)
    except HostError:
        raise
    except Exception as error:
        log.exception("the constructor of contribution %s", name)
        raise HostError("CONTRIBUTION_FAILED", contribution=name, problem=type(error).__name__) from error
    log.info("contribution %s (%s) is active", kind.id, name)


def _loaded(name: str) -> type[Contribution]:
    from importlib.metadata import entry_points

    found = entry_points(group=GROUP, name=name)
    if not found:
        raise HostError("CONTRIBUTION_UNKNOWN", contribution=name)
    if len(found) > 1:
        raise HostError("CONTRIBUTION_DUPLICATE", contribution=name)
    try:
        kind = next(iter(found)).load()
    except Exception as error:
        log.exception("loading contribution %s", name)
        raise HostError("CONTRIBUTION_FAILED", contribution=name, problem=type(error).__name__) from error
    if not (isinstance(kind, type) and issubclass(kind, Contribution)):
        raise HostError("CONTRIBUTION_FAILED", contribution=name, problem="it is not a Contribution")
    return kind
