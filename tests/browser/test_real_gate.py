"""The gate with a real server: its file named, its answer kept, its result shown (M6.1, M6.2)."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from innkeeper.client import Client

FIXTURE = Path(__file__).parent.parent / "servers" / "fixture_server.py"


@pytest.fixture(scope="module")
def declared(stage: Any) -> str:
    """A console session whose project's server `ledger` a person has connected."""
    folder = stage.home / "work" / "gated"
    folder.mkdir(parents=True)
    entry = {"command": sys.executable, "args": [str(FIXTURE), "--name", "ledger", "--tool", "query_invoices"]}
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"ledger": entry}}), encoding="utf-8")
    path = str(stage.session(provider="console", title="Real gate", folder=folder))

    async def connected(client: Client) -> str:
        session = "ahp-session:/" + path.removeprefix("/s/")
        await client.request("x-innkeeper/mcp/connect", {"channel": session, "server": "ledger"}, timeout=60)
        return path

    return str(stage.run(connected, seconds=90))


def test_the_question_names_the_file_and_always_holds_for_the_next_call(stage: Any, tab: Any, declared: str) -> None:
    page = tab(declared)
    call = '/call ledger query_invoices {"customer": "c_1042"}'
    page.locator("#text").fill(call)
    page.keyboard.press("Enter")
    gate = page.get_by_role("group", name="Allow query_invoices from ledger?")
    gate.wait_for(timeout=15_000)
    expect(gate.locator(".gate-line")).to_contain_text("A server of this project, declared in .mcp.json.")
    expect(gate.locator(".gate-foot")).to_contain_text("Always is kept for ~/work/gated until the declaration changes.")
    gate.get_by_role("button", name="Always allow this tool").click()
    card = page.locator(".card.done")
    card.wait_for()
    expect(card.locator(".verb")).to_have_text("query_invoices")
    page.locator("#text").fill(call)
    page.keyboard.press("Enter")
    expect(page.locator(".card.done")).to_have_count(2, timeout=15_000)
    expect(page.locator("[data-gate]")).to_have_count(0)
