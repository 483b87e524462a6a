"""What click itself says on a terminal, in the language of the person (architecture §3.14).

Rules
* Headings of a help and complaints about a command line are click's; each that ours can show has a text in the
  catalogue, whose English is click's own. What a newer click says besides stays English, and a test names it.
* click asks the domain of the process, in the language that `LANGUAGE` chooses; ours is another domain and follows
  M9.4. So its modules are given the function to ask.
"""

from collections.abc import Mapping
from types import ModuleType
from typing import Final

from click import core, decorators, exceptions, formatting, parser, termui, types

from innkeeper import texts

MODULES: Final[tuple[ModuleType, ...]] = (core, decorators, exceptions, formatting, parser, termui, types)

CLICK_TEXTS: Final[Mapping[str, str]] = {
    "Usage:": "cli.click.usage",
    "Options": "cli.click.options",
    "Positional arguments": "cli.click.arguments",
    "Commands": "cli.click.commands",
    "default: {default}": "cli.click.default",
    "env var: {var}": "cli.click.variable",
    "Show this message and exit.": "cli.click.help",
    "Error: invalid input": "cli.click.input",
    "Missing command.": "cli.click.missingCommand",
    "No such command {name!r}.": "cli.click.noCommand",
    "No such option {name!r}.": "cli.click.noOption",
    "(Did you mean one of: {possibilities}?)": "cli.click.similar",
    "Got unexpected extra arguments ({args})": "cli.click.extra",
    "Missing argument": "cli.click.missingArgument",
    "Missing option": "cli.click.missingOption",
    "Option {name!r} does not take a value.": "cli.click.noValue",
    "Option {name!r} requires {nargs} arguments.": "cli.click.needsValue",
    "Argument {name!r} takes {nargs} values.": "cli.click.takes",
    "Invalid value: {message}": "cli.click.invalid",
    "Invalid value for {param_hint}: {message}": "cli.click.invalidFor",
    "Choose from:\n\t{choices}": "cli.click.choose",
    "{value!r} is not one of {choices}.": "cli.click.noChoice",
    "{value!r} is not a valid {number_type}.": "cli.click.noNumber",
    "{value} is not in the range {range}.": "cli.click.range",
    "file": "cli.click.file",
    "directory": "cli.click.directory",
    "path": "cli.click.path",
    "{name} {filename!r} does not exist.": "cli.click.absent",
    "{name} {filename!r} is a file.": "cli.click.isFile",
    "{name} {filename!r} is a directory.": "cli.click.isDirectory",
    "{name} {filename!r} is not readable.": "cli.click.unreadable",
    "{name} {filename!r} is not writable.": "cli.click.unwritable",
}
"""click's own words -> text id; of two plural forms the second one."""


def speak(lang: str) -> None:
    """From now on click says these texts in that language."""

    def found(words: str) -> str:
        id = CLICK_TEXTS.get(words)
        return words if id is None else texts.text(id, lang=lang)

    def found_plural(one: str, many: str, n: int) -> str:
        return found(many) if many in CLICK_TEXTS else one if n == 1 else many

    for module in MODULES:
        for name, own in (("_", found), ("ngettext", found_plural)):
            if hasattr(module, name):
                setattr(module, name, own)
