"""The `[approvals]` table: what the operator says about tool calls, beside the built-in rules (reference §5.11).

Rules
* `allow` and `deny` name tools and add to what sessions say; `ask` names tools about which a person always decides.
* A command rule is `true` or `false` for words with which a command begins, or for a `/regular expression/`; a table
  with `match_command_line` compares the expression with the whole line. A file rule is `true` or `false` for a pattern.
* An expression that cannot be read is an error: a misspelt rule must not be passed over.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from innkeeper.host.approval.values import CommandRule, FileRule
from innkeeper.settings.fields import read_fields
from innkeeper.settings.problems import Wrong, wrong
from innkeeper.settings.readers import Reader, read_boolean, read_strings, read_table


@dataclass(frozen=True, slots=True)
class OperatorApprovals:
    """What was written; rules in the order of the file."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    shell: bool = True
    """`false`: every shell command is asked about."""
    commands: tuple[CommandRule, ...] = ()
    files: tuple[FileRule, ...] = ()

    def document(self) -> dict[str, Any]:
        """As the file has it; empty where nothing was written."""
        lists = {name: list(names) for name in ("allow", "deny", "ask") if (names := getattr(self, name))}
        commands = {
            rule.key: {"approve": rule.approve, "match_command_line": True} if rule.whole_line else rule.approve
            for rule in self.commands
        }
        files = {rule.pattern: rule.approve for rule in self.files}
        tables = {name: table for name, table in (("commands", commands), ("files", files)) if table}
        return {**lists, **({} if self.shell else {"shell": False}), **tables}


def read_approvals(value: Any) -> OperatorApprovals:
    return OperatorApprovals(**read_fields(read_table(value), APPROVAL_FIELDS))


def read_command_rules(value: Any) -> tuple[CommandRule, ...]:
    return tuple(_command_rule(key, given) for key, given in read_table(value).items())


def read_file_rules(value: Any) -> tuple[FileRule, ...]:
    found = []
    for pattern, approve in read_table(value).items():
        if not pattern or not isinstance(approve, bool):
            raise wrong("boolean", pattern)
        found.append(FileRule(pattern, approve))
    return tuple(found)


def _command_rule(key: str, given: Any) -> CommandRule:
    expression = len(key) > 2 and key.startswith("/") and key.endswith("/")
    if not key.split():
        raise wrong("string", key)
    if expression:
        try:
            re.compile(key[1:-1])
        except (re.error, RecursionError):
            raise wrong("expression", key) from None
    if isinstance(given, bool):
        return CommandRule(key, given)
    if not isinstance(given, Mapping):
        raise wrong("rule", key)
    try:
        read = read_fields({"approve": None, **given}, RULE_FIELDS)
    except Wrong as error:
        raise Wrong(error.problem, key, *error.path) from None
    whole = bool(read.get("match_command_line", False))
    if whole and not expression:
        raise wrong("expression", key)
    return CommandRule(key, bool(read["approve"]), whole)


RULE_FIELDS: Final[Mapping[str, Reader]] = MappingProxyType(
    {"approve": read_boolean, "match_command_line": read_boolean}
)
APPROVAL_FIELDS: Final[Mapping[str, Reader]] = MappingProxyType(
    {
        "allow": read_strings,
        "deny": read_strings,
        "ask": read_strings,
        "shell": read_boolean,
        "commands": read_command_rules,
        "files": read_file_rules,
    }
)
