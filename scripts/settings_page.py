"""docs/reference/settings.md: tables from what reads the settings, words from settings_page.md."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from innkeeper.settings.schema import Setting, all_settings, shown
from innkeeper.texts import text

TEMPLATE = Path(__file__).with_suffix(".md")
BY_FLAG = (
    ("token", "random", "cli.serve.token"),
    ("no_questions", "false", "cli.serve.noQuestions"),
)
"""What the file cannot say."""

Table = Callable[[Sequence[str], Iterable[Sequence[str]]], str]


def settings_page(table: Table) -> str:
    hot = [setting for setting in all_settings() if setting.hot]
    cold = [setting for setting in all_settings() if not setting.hot and "." not in setting.name]
    serve = [setting for setting in all_settings() if setting.name.startswith("serve.")]
    parts = {
        "hot": table(("setting", "type", "default", "meaning"), map(_row, hot)),
        "cold": table(("setting", "type", "default", "meaning"), map(_row, cold)),
        "serve": table(("file", "environment", "flag", "default", "meaning"), [*map(_serve_row, serve), *_flag_rows()]),
    }
    page = TEMPLATE.read_text(encoding="utf-8")
    for name, made in parts.items():
        page = page.replace(f"{{{{{name}}}}}\n", made.rstrip("\n") + "\n")
    return page


def _row(setting: Setting) -> tuple[str, ...]:
    return (f"`{setting.name}`", setting.type(), _default(setting), setting.meaning())


def _serve_row(setting: Setting) -> tuple[str, ...]:
    name = setting.name.removeprefix("serve.")
    return (f"`{setting.name}`", *_spelled(name), _default(setting), setting.meaning())


def _flag_rows() -> list[tuple[str, ...]]:
    return [("", *_spelled(name), default, text(msgid)) for name, default, msgid in BY_FLAG]


def _spelled(name: str) -> tuple[str, str]:
    return f"`INNKEEPER_{name.upper()}`", f"`--{name.replace('_', '-')}`"


def _default(setting: Setting) -> str:
    return "unset" if setting.default is None else f"`{shown(setting.default)}`"
