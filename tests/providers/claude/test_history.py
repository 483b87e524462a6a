"""Where a chat stands in the agent's conversation: restarts, branches, going back (K14, K17, AHP §9.3)."""

import json
from pathlib import Path
from typing import Any

import pytest

from innkeeper.providers.claude import provider as claude
from innkeeper.providers.spi import BackingChanged, ProviderError, SessionOpening
from providers.agent_host import Rig, session
from providers.claude_rig import claude_host, keys, pids
from providers.real_agents import agents_of
from providers.test_contract import NOTHING, Recorder, request
from scripted.world import text_of
from servers.fake_llm.anthropic import FakeAnthropic
from servers.fake_llm.recording import Asked, call, reply, say

pytestmark = pytest.mark.anyio

START = {"startedAt": "2026-01-01T00:00:00.000Z"}


def said(asked: Asked) -> list[str]:
    """What people and the model said, in order, without what the agent adds."""
    found: list[str] = []
    for message in asked.body["messages"]:
        content = message["content"]
        texts = [content] if isinstance(content, str) else [b["text"] for b in content if b["type"] == "text"]
        if message["role"] != "system":
            found += [text for text in texts if not text.lstrip().startswith("<system-reminder>")]
    return found


async def test_a_conversation_goes_on_after_a_restart_of_the_host(host: Rig, llm: FakeAnthropic) -> None:
    """K14"""
    llm.add(reply(say("Noted.")), reply(say("Blue.")))
    client = await host.client()
    _, chat = await session(client, host.work, "claude")
    await client.turn(chat, "my colour is blue")
    await host.restart()
    again = await host.client()
    await again.subscribe(chat)
    assert text_of(await again.turn(chat, "which is it?", "t2")) == "Blue."
    assert said(llm.asked[-1]) == ["my colour is blue", "Noted.", "which is it?"]


async def test_a_turn_that_the_hosts_end_interrupted_can_be_resumed(host: Rig, llm: FakeAnthropic) -> None:
    """K14: the message is not sent again."""
    llm.add(reply(say("Half of"), then="hang"), reply(say("the rest.")))
    client = await host.client()
    _, chat = await session(client, host.work, "claude")
    client.start_turn(chat, "tell it all")
    await client.until(lambda: "Half of" in text_of(client.states[chat].get("activeTurn") or {"responseParts": []}))
    await host.restart()
    again = await host.client()
    state = await again.subscribe(chat)
    last = state["turns"][-1]["responseParts"][-1]
    assert (last["error"]["errorType"], last["resumable"]) == ("executionInterrupted", True)
    again.dispatch(chat, "chat/turnResume", turnId="t1", **START)
    await again.action(chat, "chat/turnComplete")
    turn = await again.ended(chat)
    assert turn["state"] == "complete" and "the rest." in text_of(turn)
    assert said(llm.asked[-1]).count("tell it all") == 1 and llm.asked[-1].mentions("Continue where")


async def test_a_turn_whose_message_never_reached_the_agent_is_resumed_with_its_message(tmp_path: Path) -> None:
    """K14, at the provider's own door: the host ended after the turn began and before anything was sent."""
    async with FakeAnthropic() as llm, agents_of(claude, tmp_path, keys(llm)) as agent:
        opened = await agent.make().open_session(SessionOpening("s", [agent.directory], {}, NOTHING))
        first, later = Recorder(), Recorder()
        await opened.run_turn(request("ONE"), first)
        backing = next(signal.data for signal in reversed(first.signals) if isinstance(signal, BackingChanged))
        before: Any = {"id": "t", "message": {"text": "ONE"}, "responseParts": [], "state": "complete"}
        again = request("TWO")._replace(turn_id="t2", resumed=True, backing=backing, history=(before,))
        await opened.run_turn(again, later)
        assert llm.asked[-1].last == "TWO"
        await opened.run_turn(again, later)
        assert llm.asked[-1].last.startswith("Continue where") and said(llm.asked[-1]).count("TWO") == 1
        await opened.close()


async def test_a_fork_goes_on_from_its_turn_and_leaves_the_source_alone(host: Rig, llm: FakeAnthropic) -> None:
    """AHP §9.3"""
    client = await host.client()
    uri, chat = await session(client, host.work, "claude")
    for number in (1, 2, 3):
        llm.add(reply(say(f"answer {number}")))
        await client.turn(chat, f"question {number}", f"t{number}")
    fork = "ahp-chat:/fork"
    await client.request("createChat", uri, chat=fork, source={"kind": "fork", "chat": chat, "turnId": "t2"})
    await client.subscribe(fork)
    await client.turn(fork, "another way", "f1")
    assert said(llm.asked[-1]) == ["question 1", "answer 1", "question 2", "answer 2", "another way"]
    await client.turn(chat, "and on", "t4")
    assert said(llm.asked[-1])[-2:] == ["answer 3", "and on"] and not llm.asked[-1].mentions("another way")
    client.dispatch(fork, "chat/truncated", turnId=client.states[fork]["turns"][0]["id"])
    await client.state(fork, lambda s: len(s["turns"]) == 1)
    await client.turn(fork, "back there", "f2")
    assert said(llm.asked[-1]) == ["question 1", "answer 1", "back there"]


async def test_a_side_chat_knows_what_its_source_said_and_answers_beside_it(host: Rig, llm: FakeAnthropic) -> None:
    """AHP §9.3: also one that begins at a turn that still runs, which is told to it."""
    llm.add(reply(say("It is seven.")))
    client = await host.client()
    uri, chat = await session(client, host.work, "claude")
    await client.turn(chat, "the number?")
    side = "ahp-chat:/side"
    await client.request("createChat", uri, chat=side, source={"kind": "sideChat", "chat": chat, "turnId": "t1"})
    await client.subscribe(side)
    await client.turn(side, "why?", "s1")
    assert said(llm.asked[-1])[:2] == ["the number?", "It is seven."]
    assert said(llm.asked[-1])[2].endswith("why?")
    llm.add(reply(say("Still counting"), then="hang"))
    client.start_turn(chat, "count on", "t2")
    await client.until(lambda: "Still" in text_of(client.states[chat].get("activeTurn") or {"responseParts": []}))
    other = "ahp-chat:/other"
    await client.request("createChat", uri, chat=other, source={"kind": "sideChat", "chat": chat, "turnId": "t2"})
    await client.subscribe(other)
    await client.turn(other, "how far?", "o1")
    assert llm.asked[-1].mentions("It is seven.") and llm.asked[-1].mentions("Still counting")
    client.dispatch(chat, "chat/turnCancelled", turnId="t2")
    await client.ended(chat, "t2")


async def test_a_chat_that_was_cut_is_cut_for_the_agent_too(host: Rig, llm: FakeAnthropic) -> None:
    """The log is the truth (K17): before the next message the agent is taken back."""
    client = await host.client()
    _, chat = await session(client, host.work, "claude")
    for number in (1, 2, 3):
        llm.add(reply(say(f"answer {number}")))
        await client.turn(chat, f"question {number}", f"t{number}")
    client.dispatch(chat, "chat/truncated", turnId="t1")
    await client.state(chat, lambda s: len(s["turns"]) == 1)
    await client.turn(chat, "instead", "t4")
    assert said(llm.asked[-1]) == ["question 1", "answer 1", "instead"]
    await host.restart()
    again = await host.client()
    await again.subscribe(chat)
    again.dispatch(chat, "chat/truncated")
    await again.state(chat, lambda s: s["turns"] == [])
    await again.turn(chat, "from the beginning", "t5")
    assert said(llm.asked[-1]) == ["from the beginning"]


async def test_the_agents_own_command_for_a_new_conversation_is_followed(host: Rig, llm: FakeAnthropic) -> None:
    """What the agent forgets by itself is forgotten after a restart too."""
    client = await host.client()
    _, chat = await session(client, host.work, "claude")
    await client.turn(chat, "remember blue")
    assert (await client.turn(chat, "/clear", "t2"))["state"] == "complete"
    await client.turn(chat, "which colour?", "t3")
    assert not llm.asked[-1].mentions("remember blue")
    await host.restart()
    again = await host.client()
    await again.subscribe(chat)
    await again.turn(chat, "and now?", "t4")
    assert said(llm.asked[-1])[-1] == "and now?" and not llm.asked[-1].mentions("remember blue")
    assert llm.asked[-1].mentions("which colour?")


async def test_an_idle_agent_is_let_go_and_comes_back(host: Rig, llm: FakeAnthropic) -> None:
    """A process is 200 MB, so one that nobody talks to is ended; the conversation is not."""
    client = await host.client()
    _, chat = await session(client, host.work, "claude")
    for agent in host.provider.sessions:
        agent.shared.idle_seconds = 0.2
    llm.add(reply(say("Noted.")))
    await client.turn(chat, "remember me")
    assert len(pids(host)) == 1
    await host.until(lambda: not pids(host))
    await client.turn(chat, "still there?", "t2")
    assert said(llm.asked[-1]) == ["remember me", "Noted.", "still there?"]


# -- transcripts -----------------------------------------------------------------------------------------------------


async def test_conversations_on_disk_are_listed_and_go_on_without_being_written(root: Path, llm: FakeAnthropic) -> None:
    """Issue 6 §8: what the person's own agent left, here made by the agent itself in their directory."""
    llm.add(reply(say("I look."), call("Bash", command="echo seen", description="See")), reply(say("Seen.")))
    async with claude_host(root, llm, share_login=True) as theirs:
        client = await theirs.client()
        _, chat = await session(client, theirs.work, "claude", config={"autoApprove": "autoApprove"})
        await client.turn(chat, "what is there?")
    folder = root / "user" / ".claude" / "projects"
    before = {path: path.read_bytes() for path in folder.rglob("*.jsonl")}
    assert before
    async with claude_host(root, llm) as host:
        [one] = await host.provider.transcripts(str(host.work))
        assert (one.title, one.directory) == ("what is there?", str(host.work))
        assert await host.provider.transcripts("/somewhere/else") == []
        with pytest.raises(ProviderError, match="no conversation"):
            await host.provider.read_transcript("00000000", None)
        adopted = await host.provider.read_transcript(one.id, str(host.work))
        [turn] = adopted.turns
        assert turn["message"]["text"] == "what is there?" and text_of(turn) == "I look.Seen."
        tool = next(part["toolCall"] for part in turn["responseParts"] if part["kind"] == "toolCall")
        assert (tool["toolName"], tool["status"], tool["success"]) == ("Bash", "completed", True)
        assert json.loads(tool["toolInput"])["command"] == "echo seen"
        assert not pids(host)
        await went_on(host, llm, one.id)
        assert [one.id for one in await host.provider.transcripts(None)] == [one.id], "those of the host are not listed"
    assert {path: path.read_bytes() for path in folder.rglob("*.jsonl")} == before


async def went_on(host: Rig, llm: FakeAnthropic, transcript: str) -> None:
    """A session made of it has what was said before, and goes on in a conversation of its own. No agent is started for
    it before its first turn."""
    client = await host.client()
    adopted = {"provider": "claude", "transcript": transcript, "session": "ahp-session:/adopted"}
    await client.request("x-innkeeper/transcripts/adopt", **adopted)
    state = await client.subscribe("ahp-session:/adopted")
    chat = state["defaultChat"]
    [turn] = (await client.subscribe(chat))["turns"]
    assert text_of(turn) == "I look.Seen." and not pids(host)
    await client.turn(chat, "and now?", "t2")
    assert said(llm.asked[-1]) == ["what is there?", "I look.", "Seen.", "and now?"]
    kept = client.states["ahp-session:/adopted"]["_meta"]["x-innkeeper/backings"][chat]
    assert kept["conversation"] != transcript and "transcript" not in kept
