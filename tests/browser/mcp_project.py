"""A project that declares servers in every state that the MCP panel shows (design, ui.md §9)."""

import json
import sys
from pathlib import Path

FIXTURE = Path(__file__).parent.parent / "servers" / "fixture_server.py"


def server(*arguments: str) -> dict[str, object]:
    """An entry that starts the fixture server."""
    return {"command": sys.executable, "args": [str(FIXTURE), *arguments]}


def write(project: Path, *, dead_port: int = 9) -> None:
    """`ledger` works, `playwright` ends at once, `search` is not reached, `sentry` waits, `docs` is disabled."""
    ledger = {**server("--name", "ledger", "--tool", "list_accounts", "--tool", "query_invoices"), "type": "stdio"}
    search = {"type": "http", "url": f"http://127.0.0.1:{dead_port}/mcp"}
    (project / ".mcp.json").write_text(
        json.dumps({"mcpServers": {"ledger": ledger, "search": search}}, indent=2) + "\n"
    )
    (project / ".vscode").mkdir(exist_ok=True)
    (project / ".vscode" / "mcp.json").write_text(
        f"""{{
  "servers": {{
    // browser for the e2e tests
    "playwright": {{
      "type": "stdio",
      "command": {json.dumps(sys.executable)},
      "args": [
        {json.dumps(str(FIXTURE))},
        "--crash",
        "1"
      ],
      // keep in step with CI
      "env": {{
        "BROWSER_TOKEN": "s3cret-of-the-browser",
        "PW_SERVER": "s3cret-of-the-server"
      }}
    }}
  }}
}}
"""
    )
    (project / ".codex").mkdir(exist_ok=True)
    (project / ".codex" / "config.toml").write_text('[mcp_servers.sentry]\ncommand = "sentry-mcp"\nargs = ["serve"]\n')
    (project / ".cursor").mkdir(exist_ok=True)
    docs = {"url": "https://docs.example/mcp", "type": "http", "disabled": True}
    (project / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": {"docs": docs}}) + "\n")
