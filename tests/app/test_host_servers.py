"""Servers of the whole host come from the configuration alone, whole or not at all (M5.2, M9.6)."""

import logging
from pathlib import Path

import pytest

from innkeeper.app.host_servers import host_servers
from innkeeper.app.preferences import Preferences
from innkeeper.mcp.declarations.model import HttpLaunch, StdioLaunch
from innkeeper.settings.config import Settings, parse_settings
from innkeeper.settings.memory import MemorySettings
from innkeeper.settings.problems import SettingsInvalid
from innkeeper.settings.schema import plain_value

TEXT = """
[host_servers.search]
command = "uvx"
args = ["search-mcp", "", "--in=${userHome}"]
env = { API_KEY = "${input:key}", LEVEL = 3, EMPTY = "" }

[host_servers.local]
command = "bin/run"
cwd = "tools"

[host_servers.wiki]
url = "https://user:hunter2@wiki.example.com/mcp?key=hunter2"
headers = { X-Team = "${env:TEAM}" }
"""
ENVIRONMENT = {"HOME": "/home/me", "TEAM": "blue"}


def settings(text: str = TEXT) -> Settings:
    return parse_settings(text, Path("config.toml"))


def test_every_field_and_variable_reaches_the_launch() -> None:
    """M5.2: in the order of the file; no process is started by that."""
    search, local, wiki = host_servers(settings(), {"key": "$TEAM ${TEAM}"}, ENVIRONMENT)
    assert search.launch == StdioLaunch(
        "uvx",
        ("search-mcp", "", "--in=/home/me"),
        {"API_KEY": "$TEAM ${TEAM}", "LEVEL": "3", "EMPTY": ""},
        "/home/me",
    ), "a secret is not expanded again (M2.4)"
    assert local.launch == StdioLaunch("/home/me/tools/bin/run", (), {}, "/home/me/tools")
    assert isinstance(wiki.launch, HttpLaunch)
    assert (wiki.name, wiki.launch.headers) == ("wiki", {"X-Team": "blue"})


def test_server_without_the_value_of_a_variable_is_not_used_and_named(caplog: pytest.LogCaptureFixture) -> None:
    """M2.4: never with an empty secret."""
    with caplog.at_level(logging.WARNING):
        found = host_servers(settings(), {}, {"HOME": "/home/me"})
    assert [server.name for server in found] == ["local"]
    assert [record.getMessage() for record in caplog.records] == [
        "the server search of the configuration is not used: INPUT_MISSING key",
        "the server wiki of the configuration is not used: VARIABLE_MISSING TEAM",
    ]


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ('url = "ftp://x/"', "URL_SCHEME url"),
        ('url = "https://x/"\nheaders = { "bad name" = "hunter2" }', "HEADER_INVALID bad name"),
        ('url = "https://x/"\nheaders = { Authorization = "Bearer" }', "HEADER_INVALID Authorization"),
        ('command = " x"', "FIELD_WHITESPACE command"),
        ('command = "x"\nargs = ["\\u0000"]', "NUL_BYTE args[0]"),
        ('command = "x"\nenv = { "A=B" = "1" }', "FIELD_VALUE env.A=B"),
        ('command = "x"\nargs = ["${command:x}"]', "VARIABLE_UNSUPPORTED command:"),
    ],
)
def test_server_that_cannot_be_started_as_written_is_not_used(
    entry: str, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert host_servers(settings(f"[host_servers.one]\n{entry}\n"), {}, {}) == ()
    assert caplog.messages == [f"the server one of the configuration is not used: {code}"]
    assert "hunter2" not in caplog.text


@pytest.mark.parametrize(
    ("entry", "field"),
    [
        ("args = []", "host_servers.one.command"),
        ('command = "x"\nurl = "https://x/"', "host_servers.one.command"),
        ('url = "https://x/"\nargs = []', "host_servers.one.args"),
        ('command = "x"\nheaders = {}', "host_servers.one.headers"),
        ('command = "x"\ntrust = true', "host_servers.one.trust"),
        ('command = "x"\nenv = { A = true }', "host_servers.one.env.A"),
        ('command = "x"\nargs = [1]', "host_servers.one.args"),
    ],
)
def test_table_that_cannot_be_meant_is_told_with_its_field(entry: str, field: str) -> None:
    """M9.6: nothing misspelt is passed over."""
    with pytest.raises(SettingsInvalid) as refused:
        settings(f"[host_servers.one]\n{entry}\n")
    assert refused.value.field == field


def test_what_is_shown_of_them_holds_no_value() -> None:
    """V4"""
    assert plain_value(settings().host_servers) == {
        "search": {"command": "uvx", "env": ["API_KEY", "EMPTY", "LEVEL"]},
        "local": {"command": "bin/run"},
        "wiki": {"url": "https://wiki.example.com", "headers": ["X-Team"]},
    }
    assert "hunter2" not in repr(settings())


def test_limits_and_servers_of_the_start_reach_the_mcp_side() -> None:
    """M1.7, M5.2: cold, so a later change of the file is not taken."""
    started = settings(TEXT + "[limits]\ndeclaration_bytes = 2000\ndeclaration_entries = 3\n")
    live = MemorySettings(started=started)
    given = Preferences(live, started, {"key": "v"}, ENVIRONMENT)()
    assert (given.file_limit, given.entry_limit) == (2000, 3)
    assert [server.name for server in given.host_servers] == ["search", "local", "wiki"]
