"""What the web UI is made of: templates, styles, scripts, and whether all of it is there.

Rules
* `TEMPLATES`, `STYLES` and `STATIC` name every file; a test compares them with the folders. What is missing in an
  installation is named by `missing`, and the web part is refused then.
* Every address of a static file has the fingerprint of all files in it, so that it may be kept for ever, and a page
  that was made with other files can be told.
* A changed file is seen at the next request (looked at once a second), so that nothing needs a restart while one works
  on them. While files are being replaced, what was read before stays.
"""

import hashlib
import time
from pathlib import Path
from typing import Final

from innkeeper.texts import DOMAIN, LANGUAGES, LOCALE_FOLDER

HERE: Final = Path(__file__).parent
TEMPLATE_FOLDER: Final = HERE / "templates"
STATIC_FOLDER: Final = HERE / "static"
LOOK_SECONDS: Final = 1.0

STYLES: Final = (
    "tokens",
    "base",
    "controls",
    "layout",
    "sessions",
    "chat",
    "tools",
    "new",
    "composer",
    "tree",
    "drawers",
    "usage",
    "first",
    "terminals",
    "changes",
    "mcp",
    "editor",
    "settings",
)
"""The parts of the one style sheet, in the order in which they hold; `static/css/NAME.css`."""

STATIC: Final = ("app.js", "composer.js", "icons.svg", "mark.svg", "mcp.js", "beside.js", "folders.js", "tips.js")
TEMPLATES: Final = (
    "agent_keys.html",
    "bar.html",
    "bar_changes.html",
    "bar_more.html",
    "bar_terminal.html",
    "base.html",
    "card.html",
    "changes_empty.html",
    "changes_file.html",
    "changes_files.html",
    "changes_foot.html",
    "changes_head.html",
    "changes_more.html",
    "changes_open.html",
    "chat.html",
    "chats.html",
    "closed.html",
    "composer.html",
    "content_ref.html",
    "custom_bar.html",
    "custom_counts.html",
    "custom_empty.html",
    "custom_history.html",
    "custom_row.html",
    "custom_skeleton.html",
    "custom_why.html",
    "customizations.html",
    "customizations_none.html",
    "diff.html",
    "edit_body.html",
    "edit_calls.html",
    "edit_closed.html",
    "edit_copy.html",
    "edit_copy_diff.html",
    "edit_diff.html",
    "edit_fields.html",
    "edit_foot.html",
    "edit_mode.html",
    "edit_note.html",
    "edit_permissions.html",
    "edit_scan.html",
    "edit_why.html",
    "error.html",
    "first.html",
    "first_agents.html",
    "first_config.html",
    "first_folder.html",
    "folder_dialog.html",
    "folder_field.html",
    "folders.html",
    "gate.html",
    "home.html",
    "input.html",
    "log_empty.html",
    "lost.html",
    "mcp_all.html",
    "mcp_compare.html",
    "mcp_control.html",
    "mcp_edit_files.html",
    "mcp_edit_find.html",
    "mcp_edit_head.html",
    "mcp_edit_none.html",
    "mcp_edit_row.html",
    "mcp_finding.html",
    "mcp_foot.html",
    "mcp_head.html",
    "mcp_macros.html",
    "mcp_none.html",
    "mcp_off.html",
    "mcp_open.html",
    "mcp_row.html",
    "mcp_sign_in.html",
    "mcp_tool.html",
    "message.html",
    "new.html",
    "new_agents.html",
    "new_config.html",
    "notice.html",
    "older.html",
    "reasoning.html",
    "row_menu.html",
    "said.html",
    "session_dialogs.html",
    "session_group.html",
    "session_row.html",
    "sessions.html",
    "sessions_empty.html",
    "sessions_rest.html",
    "settings.html",
    "settings_about.html",
    "settings_agents.html",
    "settings_allowances.html",
    "settings_bar.html",
    "settings_commands.html",
    "settings_conflict.html",
    "settings_fault.html",
    "settings_files.html",
    "settings_keys.html",
    "settings_look.html",
    "settings_macros.html",
    "settings_nav.html",
    "settings_off.html",
    "settings_trust.html",
    "settings_workspaces.html",
    "side_foot.html",
    "steps.html",
    "terminal_body.html",
    "terminal_empty.html",
    "terminal_foot.html",
    "terminal_head.html",
    "terminal_open.html",
    "terminal_part.html",
    "tools_left.html",
    "tools_right.html",
    "turn_end.html",
    "turn_error.html",
    "usage.html",
    "waiting.html",
    "working.html",
)
TYPES: Final = {".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml", ".css": "text/css; charset=utf-8"}
STYLE_SHEET: Final = "app.css"


def missing() -> list[str]:
    """What an installation lacks: paths below the package; empty when it is complete."""
    wanted = [TEMPLATE_FOLDER / name for name in TEMPLATES]
    wanted += [STATIC_FOLDER / name for name in STATIC]
    wanted += [STATIC_FOLDER / "css" / f"{name}.css" for name in STYLES]
    wanted += [LOCALE_FOLDER / lang / "LC_MESSAGES" / f"{DOMAIN}.mo" for lang in LANGUAGES]
    return [str(path.relative_to(HERE.parent)) for path in wanted if not path.is_file()]


class Files:
    """The static files of this installation, and the fingerprint of everything that makes a page."""

    def __init__(self) -> None:
        self._stamp: tuple[tuple[str, int, int], ...] = ()
        self._looked = 0.0
        self._content: dict[str, bytes] = {}
        self._fingerprint = ""

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that change with any template or static file."""
        self._look()
        return self._fingerprint

    def read(self, name: str) -> tuple[bytes, str] | None:
        """Content and type of a static file; None when there is none of that name."""
        self._look()
        content = self._content.get(name)
        return None if content is None else (content, TYPES[Path(name).suffix])

    def _look(self) -> None:
        now = time.monotonic()
        if self._stamp and now - self._looked < LOOK_SECONDS:
            return
        self._looked = now
        try:
            stamp = _stamp()
            if stamp != self._stamp:
                self._load()
                self._stamp = stamp
        except OSError:
            if not self._stamp:
                raise

    def _load(self) -> None:
        sheet = b"\n".join((STATIC_FOLDER / "css" / f"{name}.css").read_bytes() for name in STYLES)
        self._content = {STYLE_SHEET: sheet, **{name: (STATIC_FOLDER / name).read_bytes() for name in STATIC}}
        digest = hashlib.sha256()
        for name in sorted(self._content):
            digest.update(self._content[name])
        for name in TEMPLATES:
            digest.update((TEMPLATE_FOLDER / name).read_bytes())
        self._fingerprint = digest.hexdigest()[:16]


def _stamp() -> tuple[tuple[str, int, int], ...]:
    paths = [TEMPLATE_FOLDER / name for name in TEMPLATES]
    paths += [STATIC_FOLDER / name for name in STATIC]
    paths += [STATIC_FOLDER / "css" / f"{name}.css" for name in STYLES]
    found = []
    for path in paths:
        status = path.stat()
        found.append((path.name, status.st_mtime_ns, status.st_size))
    return tuple(found)
