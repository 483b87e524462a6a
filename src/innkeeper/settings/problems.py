"""What is wrong with a setting, told with its place in the reader's language.

Rules
* A problem names the file, the line where it can be found, the field, and what was expected; never the value, which may
  be a secret.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from innkeeper.errors import HostError
from innkeeper.texts import text

Kind = Literal["unknown", "near", "expected", "syntax", "encoding", "unreadable", "secret", "exclusive", "preset"]
Expected = Literal[
    "boolean", "string", "strings", "paths", "path", "count", "seconds", "port", "choice", "choices", "table", "tables",
    "log", "inputName", "reference", "values", "rule", "expression",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong. `values` fill the placeholders of its text."""

    kind: Kind
    expected: Expected | None = None
    values: Mapping[str, str] = field(default_factory=dict)

    def describe(self, lang: str = "en") -> str:
        """The problem as a clause."""
        if self.kind == "preset":
            return text(f"declaration.preset.{self.values['problem']}", lang=lang)
        values = dict(self.values)
        if self.expected is not None:
            values["expected"] = text(f"settings.expected.{self.expected}", lang=lang, **self.values)
        return text(f"settings.problem.{self.kind}", lang=lang, **values)


class Wrong(ValueError):
    """A value that a field does not take; `path` leads from the field into the value."""

    def __init__(self, problem: Problem, *path: str | int) -> None:
        super().__init__(problem.describe())
        self.problem = problem
        self.path = path


def wrong(expected: Expected, *path: str | int, **values: str) -> Wrong:
    """The value is not what is expected there."""
    return Wrong(Problem("expected", expected, values), *path)


class SettingsInvalid(HostError):
    """The configuration file cannot be used: code CONFIG_INVALID where a start fails for it, SETTINGS_INVALID where the
    last good settings stay in force. `line` counts from 1; None when it is not known."""

    def __init__(
        self,
        path: Path,
        problem: Problem,
        *,
        line: int | None = None,
        field: str | None = None,
        code: Literal["CONFIG_INVALID", "SETTINGS_INVALID"] = "CONFIG_INVALID",
    ) -> None:
        super().__init__(code, path=path)
        self.path = path
        self.problem = problem
        self.line = line
        self.field = field

    def message(self, lang: str = "en") -> str:
        said = text("error.CONFIG_INVALID.meaning", lang=lang, path=self.path, reason=self.reason(lang))
        return said if self.code == "CONFIG_INVALID" else f"{text(self.error.meaning, lang=lang)} {said}"

    def reason(self, lang: str = "en") -> str:
        """Line, field and problem, without the file."""
        reason = self.problem.describe(lang)
        if self.field is not None:
            reason = text("settings.at.field", lang=lang, field=self.field, reason=reason)
        if self.line is not None:
            reason = text("settings.at.line", lang=lang, line=self.line, reason=reason)
        return reason

    def while_running(self) -> "SettingsInvalid":
        """The same, where the last good settings stay in force."""
        return SettingsInvalid(self.path, self.problem, line=self.line, field=self.field, code="SETTINGS_INVALID")


class ValueRefused(HostError):
    """A setting does not take a value: code SETTING_VALUE. `field` is a path such as `presets[0].id`."""

    def __init__(self, field: str, problem: Problem) -> None:
        super().__init__("SETTING_VALUE", field=field)
        self.field = field
        self.problem = problem

    def message(self, lang: str = "en") -> str:
        return text(self.error.meaning, lang=lang, field=self.field, reason=self.problem.describe(lang))


class OptionInvalid(HostError):
    """An option or an environment variable cannot be used: code OPTION_INVALID."""

    def __init__(self, option: str, problem: Problem) -> None:
        super().__init__("OPTION_INVALID", option=option)
        self.option = option
        self.problem = problem

    def message(self, lang: str = "en") -> str:
        return text(self.error.meaning, lang=lang, option=self.option, reason=self.problem.describe(lang))
