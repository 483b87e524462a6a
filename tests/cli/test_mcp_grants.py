"""`innkeeper mcp grants|forget` against a real host (M4.2b, M9.4)."""

import json
import sys
from pathlib import Path
from typing import Any

from innkeeper.cli import exit_codes

FIXTURE = Path(__file__).resolve().parent.parent / "servers" / "fixture_server.py"


def test_what_was_allowed_is_listed_without_a_session_and_forgotten_by_its_folder(live: Any, tmp_path: Path) -> None:
    declared = {"mcpServers": {"kept": {"command": sys.executable, "args": [str(FIXTURE)]}}}
    (tmp_path / ".mcp.json").write_text(json.dumps(declared))
    assert live.run("mcp", "allow", "kept", "--dir", str(tmp_path)).code == exit_codes.OK
    items = live.run("mcp", "grants", "--json").json()["items"]
    mine = [one for one in items if one["workspace"] == tmp_path.as_uri()]
    assert [(one["kind"], one["name"]) for one in mine] == [("server", "kept")]
    assert "kept" in live.run("mcp", "grants").out
    left = live.run("mcp", "forget", "kept", "--dir", str(tmp_path), "--json").json()["items"]
    assert tmp_path.as_uri() not in {one["workspace"] for one in left}
    again = live.run("mcp", "list", "--dir", str(tmp_path), "--json").json()["servers"]
    assert [row["allowed"] for row in again if row["name"] == "kept"] == [False]
