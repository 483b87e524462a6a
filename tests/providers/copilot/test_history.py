"""Where a chat stands in Copilot's conversation: restarts, branches, going back, adoption (K14, K17, issue 6 §8)."""

import shutil
from pathlib import Path

import pytest

from innkeeper.providers.spi import Adopting, Completing, Completion, ProviderError, TokenTaking
from providers.agent_host import Rig, session
from providers.copilot_rig import FakeService, copilot_host
from providers.enabling import files
from scripted.world import text_of
from servers.fake_llm.recording import Asked, call, failure, reply, say

pytestmark = pytest.mark.anyio


def said(asked: Asked) -> list[str]:
    """What people and the model said, in order, without what the agent adds."""
    found: list[str] = []
    for item in asked.body["input"]:
        if item.get("role") in ("user", "assistant"):
            blocks = item["content"]
            words = blocks if isinstance(blocks, str) else "".join(block.get("text", "") for block in blocks)
            found.append(words.rpartition("</current_datetime>")[2].rpartition("</side-conversation>")[2].strip())
    return found


async def test_a_side_chat_and_a_fork_know_what_was_said_and_leave_the_source_alone(
    host: Rig, llm: FakeService
) -> None:
    """AHP §9.3, K17"""
    llm.add(*(reply(say(words)) for words in ("first", "second", "aside", "forked", "third", "anew")))
    client = await host.client()
    uri, chat = await session(client, host.work, "copilot")
    await client.turn(chat, "ONE")
    await client.turn(chat, "TWO", "t2")
    side, fork = f"{uri}/side", f"{uri}/fork"
    await client.request("createChat", uri, chat=side, source={"kind": "sideChat", "chat": chat, "turnId": "t2"})
    await client.subscribe(side)
    assert text_of(await client.turn(side, "SIDE", "s1")) == "aside"
    assert said(llm.asked[2]) == ["ONE", "first", "TWO", "second", "SIDE"]
    await client.request("createChat", uri, chat=fork, source={"kind": "fork", "chat": chat, "turnId": "t1"})
    await client.subscribe(fork)
    assert text_of(await client.turn(fork, "FORK", "f1")) == "forked"
    assert said(llm.asked[3]) == ["ONE", "first", "FORK"]
    await client.turn(chat, "THREE", "t3")
    assert said(llm.asked[4]) == ["ONE", "first", "TWO", "second", "THREE"]
    client.dispatch(fork, "chat/truncated", turnId=client.states[fork]["turns"][0]["id"])
    await client.state(fork, lambda s: len(s["turns"]) == 1)
    await client.turn(fork, "ANEW", "f2")
    assert said(llm.asked[5]) == ["ONE", "first", "ANEW"], "a branch is taken back into what it shares"


async def test_a_conversation_that_is_cut_back_is_cut_back_for_the_model_also_after_a_restart(
    host: Rig, llm: FakeService
) -> None:
    """K14: the log is the truth."""
    llm.add(*(reply(say(words)) for words in ("first", "second", "third", "fourth")))
    client = await host.client()
    _, chat = await session(client, host.work, "copilot")
    await client.turn(chat, "ONE")
    await client.turn(chat, "TWO", "t2")
    client.dispatch(chat, "chat/truncated", turnId="t1")
    await client.state(chat, lambda s: len(s["turns"]) == 1)
    await client.turn(chat, "THREE", "t3")
    assert said(llm.asked[2]) == ["ONE", "first", "THREE"]
    await host.restart()
    again = await host.client()
    await again.subscribe(chat)
    again.dispatch(chat, "chat/truncated", turnId="t1")
    await again.state(chat, lambda s: len(s["turns"]) == 1)
    await again.turn(chat, "FOUR", "t4")
    assert said(llm.asked[3]) == ["ONE", "first", "FOUR"]


async def test_a_turn_that_the_hosts_end_interrupted_goes_on_and_its_message_is_not_said_twice(
    host: Rig, llm: FakeService
) -> None:
    """K14"""
    llm.add(reply(say("Half of"), then="hang"), reply(say("the rest.")))
    client = await host.client()
    _, chat = await session(client, host.work, "copilot")
    client.start_turn(chat, "tell it all")
    await client.until(lambda: "Half of" in text_of(client.states[chat].get("activeTurn") or {"responseParts": []}))
    await host.restart()
    again = await host.client()
    await again.subscribe(chat)
    again.dispatch(chat, "chat/turnResume", turnId="t1", startedAt="2026-01-01T00:00:00.000Z")
    await again.action(chat, "chat/turnComplete")
    turn = await again.ended(chat)
    assert turn["state"] == "complete" and "the rest." in text_of(turn)
    assert said(llm.asked[-1]).count("tell it all") == 1 and llm.asked[-1].mentions("Continue where")


async def test_a_conversation_that_is_gone_from_disk_is_replaced_and_told_what_was_said(
    host: Rig, llm: FakeService
) -> None:
    llm.add(reply(say("first answer")), reply(say("second answer")))
    client = await host.client()
    _, chat = await session(client, host.work, "copilot")
    await client.turn(chat, "ONE")
    await host.host.close(2)
    shutil.rmtree(host.agent_folder / "home" / "session-state")
    await host.start()
    again = await host.client()
    await again.subscribe(chat)
    turn = await again.turn(chat, "TWO", "t2")
    assert text_of(turn) == "second answer", turn
    assert llm.asked[1].mentions("The conversation before") and llm.asked[1].mentions("first answer")


async def earlier(root: Path, llm: FakeService) -> Path:
    """A person's own directory of Copilot with one conversation in it, as Copilot itself wrote it."""
    llm.add(reply(say("first answer")), reply(call("bash", command="echo hi", description="Say")), reply(say("second")))
    async with copilot_host(root / "before", llm) as host:
        client = await host.client()
        _, chat = await session(client, host.work, "copilot", config={"autoApprove": "autoApprove"})
        await client.turn(chat, "ONE")
        await client.turn(chat, "TWO", "t2")
    theirs = root / "user" / ".copilot"
    theirs.parent.mkdir(parents=True)
    (root / "before" / "agent" / "home").rename(theirs)
    return theirs


async def test_a_conversation_of_the_person_is_listed_read_and_gone_on_with_and_stays_as_it_was(
    root: Path, llm: FakeService
) -> None:
    """Issue 6 §8: through the host's own command, so hydration goes through the hooks."""
    theirs = await earlier(root, llm)
    before, work = files(theirs), root / "before" / "work"
    async with copilot_host(root, llm) as host:
        assert isinstance(host.provider, Adopting)
        listed = await host.provider.transcripts(None)
        assert [(one.title, one.directory) for one in listed] == [("ONE", str(work))]
        assert await host.provider.transcripts(str(root)) == []
        adopted = await host.provider.read_transcript(listed[0].id, str(work))
        assert [turn["message"]["text"] for turn in adopted.turns] == ["ONE", "TWO"]
        kinds = [[part["kind"] for part in turn["responseParts"]] for turn in adopted.turns]
        assert kinds == [["markdown"], ["toolCall", "markdown"]]
        assert adopted.turns[1]["responseParts"][0]["toolCall"]["content"] == [{"type": "text", "text": "hi\n"}]
        assert host.provider.can_resume(adopted.backing)
        with pytest.raises(ProviderError, match="no conversation"):
            await host.provider.read_transcript("../../etc", None)
        client = await host.client()
        uri = "ahp-session:/adopted"
        given = {"provider": "copilot", "transcript": listed[0].id, "session": uri}
        await client.request("x-innkeeper/transcripts/adopt", **given)
        await client.subscribe(uri)
        chat = str(client.states[uri]["chats"][0]["resource"])
        await client.subscribe(chat)
        llm.add(reply(say("third")))
        assert text_of(await client.turn(chat, "THREE", "t3")) == "third"
        assert said(llm.asked[-1])[0] == "ONE" and llm.asked[-1].mentions("first answer")
    assert files(theirs) == before, "neither reading nor going on changes anything there"


async def test_a_question_outside_a_conversation_is_answered_without_tools_and_kept_nowhere(
    host: Rig, llm: FakeService
) -> None:
    """K18"""
    (host.work / "AGENTS.md").write_text("PROJECTRULE")
    assert isinstance(host.provider, Completing) and isinstance(host.provider, TokenTaking)
    await session(await host.client(), host.work, "copilot")
    llm.add(reply(say("A short", " title")))
    asking = Completion("Give a title.", "what was said", directory=str(host.work))
    assert await host.provider.complete(asking) == "A short title"
    asked = llm.asked[0]
    assert asked.mentions("Give a title.") and asked.last == "what was said" and not asked.mentions("PROJECTRULE")
    assert asked.names == []
    llm.add(failure(400, "bad", "no"))
    with pytest.raises(ProviderError):
        await host.provider.complete(asking)
    llm.add(reply(say("late"), then="hang"))
    with pytest.raises(ProviderError) as late:
        await host.provider.complete(asking._replace(seconds=1.5))
    assert late.value.error_type == "AGENT_UNRESPONSIVE"
    left = host.agent_folder / "home" / "session-state"
    assert not list(left.glob("*/events.jsonl"))
