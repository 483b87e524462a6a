"""What of approvals only Copilot has; the rest is the contract suite's (issue 6 §2, M6.1-M6.8)."""

import pytest

from providers.agent_host import Rig, session
from providers.answering import questions
from providers.copilot_rig import FakeService
from scripted.world import call_of
from servers.fake_llm.recording import call, reply, say

pytestmark = pytest.mark.anyio

MAKE = {"command": "touch made", "description": "Make a file", "id": "call-1"}


async def test_a_tool_about_which_copilot_asks_nobody_is_denied_with_full_access_too(
    host: Rig, llm: FakeService
) -> None:
    """M6.8: the hook before every call denies it."""
    (host.work / "read.txt").write_text("READWORDS")
    llm.add(
        reply(call("bash", **MAKE)),
        reply(call("view", path=str(host.work / "read.txt"), id="call-2")),
        reply(say("done")),
    )
    client = await host.client()
    config = {"autoApprove": "autoApprove", "permissions": {"allow": [], "deny": ["view"]}}
    _, chat = await session(client, host.work, "copilot", config=config)
    turn = await client.turn(chat, "go")
    assert turn["state"] == "complete" and (host.work / "made").exists()
    assert call_of(turn, "call-2")["success"] is False and not llm.asked[2].mentions("READWORDS")
    assert not questions(client, chat)
