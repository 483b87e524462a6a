"""Why an edit of a declaration is refused; nothing was written then, or it was put back (M8).

Rules
* A refusal names code, file, line, server and field: never a value.
"""

from typing import Final

from innkeeper.errors import ERRORS, HostError
from innkeeper.mcp.declarations.files import Refused
from innkeeper.mcp.declarations.model import message_of, printable
from innkeeper.texts import text


class EditRefused(HostError):
    """`detail` names fields, keys or files; `hint` is the last part of a text id `declaration.hint.…`."""

    def __init__(
        self, code: str, file: str, *, line: int = 0, server: str | None = None, detail: str = "", hint: str = ""
    ) -> None:
        super().__init__(code)
        self.file: Final = file
        self.line: Final = line
        self.server: Final = server
        self.detail: Final = detail
        self.hint: Final = hint

    def message(self, lang: str = "en") -> str:
        return _placed(message_of(self.code, printable(self.detail), self.hint, lang), self)


class EditRolledBack(EditRefused):
    """EDIT_ROLLED_BACK: `reason` is the code of what the loader said."""

    def __init__(
        self, reason: str, file: str, *, line: int = 0, server: str | None = None, detail: str = "", hint: str = ""
    ) -> None:
        super().__init__("EDIT_ROLLED_BACK", file, line=line, server=server, detail=detail, hint=hint)
        self.reason: Final = reason

    def message(self, lang: str = "en") -> str:
        why = message_of(self.reason, printable(self.detail), self.hint, lang)
        return _placed(f"{text(ERRORS[self.code].meaning, lang=lang)} {self.reason}: {why}", self)

    def remedy(self, lang: str = "en") -> str:
        return text(ERRORS[self.reason].remedy, lang=lang)


def refused(found: Refused, file: str, server: str | None = None) -> EditRefused:
    """What the loader refuses, as a refusal of an edit."""
    return EditRefused(found.code, file, line=found.line, server=server, detail=found.detail, hint=found.hint)


def _placed(message: str, error: EditRefused) -> str:
    place = f"{error.file}:{error.line}" if error.line else error.file
    about = f" {printable(error.server)}:" if error.server else ""
    return f"{place}:{about} {message}" if place else f"{about} {message}".strip()
