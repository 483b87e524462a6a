"""Projects that declare servers in every state that the MCP panel shows (design, ui.md §9)."""

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


def pictured(project: Path, programs: Path, *, port: int) -> None:
    """The declarations of the target pictures, word by word where a rule allows it.

    `programs` is a folder of the host's PATH. `ledger` has a tool that its file rules out, which the format of Codex
    can say; `playwright` ends at once; what listens on `port` wants a sign-in.
    """
    programs.mkdir()
    tools = "--tool list_accounts --tool query_invoices --tool delete_invoice"
    scripts = {"npx": "exit 1", "uvx": f'exec {sys.executable} {FIXTURE} --bare --name "$1" {tools}'}
    for name, script in scripts.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    ledger = '[mcp_servers.ledger]\ncommand = "uvx"\nargs = ["ledger-mcp"]\ndisabled_tools = ["delete_invoice"]\n'
    sentry = '\n[mcp_servers.sentry]\ncommand = "uvx"\nargs = ["sentry-mcp"]\n'
    playwright = {
        "type": "stdio",
        "command": "npx",
        "args": ["-y", "@playwright/mcp@0.9.1"],
        "env": {"BROWSER_TOKEN": "s3cret-of-the-browser", "PW_SERVER": "s3cret-of-the-server"},
    }
    written = json.dumps({"servers": {"playwright": playwright}}, indent=2)
    for name, remark in (("playwright", "browser for the e2e tests"), ("env", "keep in step with CI")):
        line = next(line for line in written.split("\n") if f'"{name}": {{' in line)
        written = written.replace(line, f"{line[: -len(line.lstrip())]}// {remark}\n{line}")
    search = {"search": {"type": "http", "url": f"http://127.0.0.1:{port}/mcp"}}
    docs = {"docs": {"url": "https://docs.example/mcp", "type": "http", "disabled": True}}
    files = {
        ".mcp.json": json.dumps({"mcpServers": search}, indent=2) + "\n",
        ".vscode/mcp.json": written + "\n",
        ".codex/config.toml": ledger + sentry,
        ".cursor/mcp.json": json.dumps({"mcpServers": docs}) + "\n",
    }
    for name, content in files.items():
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text(content)
