"""The `[approvals]` table of the configuration file (reference §5.11)."""

from pathlib import Path

import pytest

from innkeeper.app.approving import approving
from innkeeper.host.approval.values import CommandRule, FileRule
from innkeeper.settings.approvals import OperatorApprovals, read_approvals
from innkeeper.settings.config import Settings, parse_settings
from innkeeper.settings.problems import SettingsInvalid
from innkeeper.settings.schema import plain_value
from scripted.paths import NamedPaths

PATH = Path("/c/config.toml")

WHOLE = """
[approvals]
allow = ["Read"]
deny = ["Danger"]
ask = ["Deploy"]
shell = false

[approvals.commands]
"make test" = true
rm = false
"/npm run [a-z]+/" = { approve = true, match_command_line = true }

[approvals.files]
"**/generated/**" = true
"""


def test_the_table_is_read_whole() -> None:
    assert parse_settings(WHOLE, PATH).approvals == OperatorApprovals(
        allow=("Read",),
        deny=("Danger",),
        ask=("Deploy",),
        shell=False,
        commands=(
            CommandRule("make test", True),
            CommandRule("rm", False),
            CommandRule("/npm run [a-z]+/", True, whole_line=True),
        ),
        files=(FileRule("**/generated/**", True),),
    )


def test_what_was_read_is_shown_as_it_was_written() -> None:
    """`config show`."""
    shown = plain_value(parse_settings(WHOLE, PATH).approvals)
    assert shown["commands"]["/npm run [a-z]+/"] == {"approve": True, "match_command_line": True}
    assert read_approvals(shown) == parse_settings(WHOLE, PATH).approvals
    assert plain_value(OperatorApprovals()) == {}


def test_without_the_table_the_built_in_rules_stand_alone() -> None:
    assert parse_settings("", PATH).approvals == OperatorApprovals()


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("approvals = 1", "approvals"),
        ("[approvals]\nalow = []", r"approvals\.alow"),
        ("[approvals]\nallow = [1]", r"approvals\.allow"),
        ("[approvals]\nshell = 'no'", r"approvals\.shell"),
        ("[approvals.commands]\nls = 1", r"approvals\.commands\.ls"),
        ("[approvals.commands]\n'/(/' = true", r"approvals\.commands"),
        ("[approvals.commands]\n' ' = true", r"approvals\.commands"),
        ("[approvals.commands]\nls = {approve = 1}", r"approvals\.commands\.ls\.approve"),
        ("[approvals.commands]\nls = {match_command_line = false}", r"approvals\.commands\.ls\.approve"),
        ("[approvals.commands]\nls = {approve = true, whole = true}", r"approvals\.commands\.ls\.whole"),
        ("[approvals.commands]\nls = {approve = true, match_command_line = true}", r"approvals\.commands\.ls"),
        ("[approvals.files]\n'*' = 'yes'", r"approvals\.files"),
    ],
)
def test_a_rule_that_cannot_be_read_is_an_error_with_its_field(text: str, field: str) -> None:
    """M9.6: a misspelt safety setting must not be passed over."""
    with pytest.raises(SettingsInvalid, match=field):
        parse_settings(text, PATH)


def test_a_host_is_composed_with_them() -> None:
    settings, paths = parse_settings(WHOLE, PATH), NamedPaths()
    found = approving(settings, {"HOME": "/home/ada"}, paths, "/data/attachments")
    assert (found.home, found.attachment_area, found.paths) == ("/home/ada", "/data/attachments", paths)
    assert found.values == {"permissions": {"allow": ["Read"], "deny": ["Danger"]}}
    assert found.managed == {"Deploy"}
    assert (found.tables.shell, len(found.tables.commands), len(found.tables.files)) == (False, 3, 1)
    assert approving(Settings(), {}, paths, None).home is None
