"""The pages and actions, one module a subject. A module has `PAGES` and `ACTIONS`: pairs of path and coroutine.

Rules
* `MANAGEMENT` are the modules that are not served when the operator switched the control off (M9.3).
"""

from importlib import import_module
from typing import Final

from innkeeper.web.asking import Actions, Pages, WebOptions

SUBJECTS: Final = ("home", "chat", "chat_acts", "new", "customizations", "changes", "terminals", "settings")
EXTRAS: Final[tuple[str, ...]] = ("mcp_panel", "changes", "terminals", "usage")
"""Modules of `innkeeper.web` that add to the page of a chat (`web.extras`): imported before the first page."""
MANAGEMENT: Final[tuple[str, ...]] = ("mcp_acts", "mcp_editor", "settings_mcp")


def all_pages(options: WebOptions) -> Pages:
    """Every page that is served."""
    for name in EXTRAS:
        import_module(f"innkeeper.web.{name}")
    return [page for name in _served(options) for page in getattr(_module(name), "PAGES", ())]


def all_actions(options: WebOptions) -> Actions:
    """Every action that is served."""
    return [action for name in _served(options) for action in getattr(_module(name), "ACTIONS", ())]


def _served(options: WebOptions) -> tuple[str, ...]:
    return (*SUBJECTS, *(MANAGEMENT if options.web_control else ()))


def _module(name: str) -> object:
    return import_module(f"innkeeper.web.pages.{name}")
