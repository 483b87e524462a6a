"""`innkeeper mcp authorize` against a real authorization server (issue 3.8)."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from harness.token_rig import browse
from innkeeper.cli import exit_codes
from servers.authorization_server import protected


def address(process: Any) -> str:
    """What the command tells to open."""
    while line := process.stderr.readline():
        if line.strip().startswith("http"):
            return str(line.strip())
    raise AssertionError("no address was told")


def declare(folder: Path, url: str) -> None:
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"web": {"type": "http", "url": url}}}))


def test_the_address_is_told_at_once_and_the_command_ends_with_the_sign_in(live: Any, tmp_path: Path) -> None:
    where = ("--dir", str(tmp_path))
    with protected() as server:
        declare(tmp_path, server.url)
        assert live.run("mcp", "connect", "web", *where).code == exit_codes.FAILED
        process = live.start("mcp", "authorize", "web", "--json", *where)
        seen = asyncio.run(browse(address(process)))
        out, _ = process.communicate(timeout=20)
        assert process.returncode == exit_codes.OK
        document = json.loads(out)
        assert (document["server"], document["completed"]) == ("web", True)
        called = live.run("mcp", "call", "web", "read", '{"text": "x"}', *where)
        assert called.code == exit_codes.OK, called.err
        assert "Innkeeper" in seen
        assert not any(token in out for token in server.authorization.access)


@pytest.mark.parametrize("lang", ["C.UTF-8", "zh_CN.UTF-8"])
def test_a_sign_in_that_is_denied_fails_with_the_reason(live: Any, tmp_path: Path, lang: str) -> None:
    where = ("--dir", str(tmp_path))
    with protected() as server:
        server.authorization.deny = "access_denied"
        declare(tmp_path, server.url)
        live.run("mcp", "connect", "web", *where)
        process = live.start("mcp", "authorize", "web", *where, env={**live.environment, "LC_ALL": lang})
        asyncio.run(browse(address(process)))
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (exit_codes.FAILED, "")
    assert ("未登录" if lang.startswith("zh") else "Not signed in") in err


def test_a_server_that_asked_for_no_sign_in_is_told(live: Any) -> None:
    done = live.run("mcp", "authorize", "example")
    assert done.code == exit_codes.FAILED
    assert "has not asked for one" in done.err
    assert "SIGN_IN_REFUSED" in done.err
    assert live.run("mcp", "authorize", "nobody").code == exit_codes.FAILED
