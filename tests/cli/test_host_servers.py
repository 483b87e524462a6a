"""Servers of the whole host, from the file to a call (M5.2, M9.6)."""

import json
import sys
from pathlib import Path
from typing import Any

from cli.conftest import end, wait_for_ready
from innkeeper.cli import exit_codes

FIXTURE = Path(__file__).resolve().parent.parent / "servers" / "fixture_server.py"
CANARY = "c4nary-of-the-operator"


def test_a_server_of_the_configuration_serves_every_session_and_is_not_asked_about(quiet: Any) -> None:
    """It starts with the first request, is called without a question, and *disconnect all* is about the project's."""
    file = quiet.folder / "home" / "config" / "config.toml"
    file.parent.mkdir(parents=True)
    arguments = json.dumps([str(FIXTURE), "--name", "wide"])
    file.write_text(
        f'[host_servers.wide]\ncommand = "{sys.executable}"\nargs = {arguments}\nenv = {{ KEY = "${{env:WIDE}}" }}\n',
        encoding="utf-8",
    )
    quiet.environment["WIDE"] = CANARY
    host = quiet.start("serve", "--port", "0", "--quiet")
    try:
        wait_for_ready(host)
        assert quiet.run("mcp", "list", "--json").json()["servers"] == []
        assert quiet.run("chat", "-m", "hello").code == exit_codes.OK
        listed = quiet.run("mcp", "list", "--json")
        (row,) = listed.json()["servers"]
        assert (row["name"], row["scope"], row["status"], row["file"]) == ("wide", "host", "connected", "config.toml")
        assert CANARY not in listed.out
        assert "x" in quiet.run("mcp", "call", "wide", "echo", '{"text": "x"}').out
        assert quiet.run("mcp", "disconnect", "--all").code == exit_codes.OK
        (after,) = quiet.run("mcp", "list", "--json").json()["servers"]
        assert (after["status"], after["pid"]) == ("connected", row["pid"])
    finally:
        end(host)
    shown = quiet.run("config", "show", "--json")
    assert shown.code == exit_codes.OK
    assert '"KEY"' in shown.out
    assert "WIDE" not in shown.out
