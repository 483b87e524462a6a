"""Why an edit is refused: nothing was written then (M8.1, M8.4).

Rules
* A refusal names the reason and, where there is one, the line. It never quotes the file, which may hold a secret.
"""

from pathlib import Path
from typing import Final, Literal

from innkeeper.errors import HostError
from innkeeper.texts import text

Reason = Literal["syntax", "encoding", "duplicate", "split", "missing", "value", "depth", "proof", "anchor", "size"]


class EditUnsafe(HostError):
    """The change cannot be made without touching, or without being sure not to touch, something else: EDIT_UNSAFE.

    `line` counts from 1; None where no line can be named.
    """

    def __init__(self, reason: Reason, *, line: int | None = None, file: str | None = None) -> None:
        super().__init__("EDIT_UNSAFE")
        self.reason: Final = reason
        self.line: Final = line
        self.file: Final = file

    def message(self, lang: str = "en") -> str:
        parts = [super().message(lang), text(f"editing.reason.{self.reason}", lang=lang)]
        if self.file is not None:
            parts.insert(0, f"{self.file}:{self.line}:" if self.line is not None else f"{self.file}:")
        elif self.line is not None:
            parts.append(text("editing.at", lang=lang, line=self.line))
        return " ".join(parts)


class EditConflict(HostError):
    """The file is not the one that the edit was made for: EDIT_CONFLICT. `current` is its version token now."""

    def __init__(self, current: str, file: str | None = None) -> None:
        super().__init__("EDIT_CONFLICT")
        self.current: Final = current
        self.file: Final = file

    def message(self, lang: str = "en") -> str:
        return f"{self.file}: {super().message(lang)}" if self.file else super().message(lang)


class EditUnwritable(HostError):
    """The system does not let the file be written: EDIT_UNWRITABLE. `detail` is its word for that."""

    def __init__(self, path: Path | str, detail: str) -> None:
        super().__init__("EDIT_UNWRITABLE")
        self.path: Final = path
        self.detail: Final = detail

    def message(self, lang: str = "en") -> str:
        return text("editing.unwritable", lang=lang, path=self.path, detail=self.detail)
