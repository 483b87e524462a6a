"""Conversations that Codex has on disk, and questions outside every conversation (issue 6 §8, K18)."""

from pathlib import Path

import pytest

from innkeeper.providers.spi import Adopting, Completing, Completion, ProviderError, TokenTaking
from providers.agent_host import session
from providers.codex.conftest import codex_host
from scripted.world import text_of
from servers.fake_llm.openai_responses import FakeOpenAI
from servers.fake_llm.recording import call, failure, reply, say, think

pytestmark = pytest.mark.anyio


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


async def earlier(root: Path, llm: FakeOpenAI) -> Path:
    """A person's own directory of Codex with one conversation in it, as Codex itself wrote it."""
    llm.add(reply(think("hm"), say("first answer")), reply(call("exec_command", cmd="echo hi")), reply(say("second")))
    async with codex_host(root / "before", llm) as host:
        client = await host.client()
        _, chat = await session(client, host.work, "codex")
        await client.turn(chat, "ONE")
        await client.turn(chat, "TWO", "t2")
    theirs = root / "user" / ".codex"
    theirs.parent.mkdir(parents=True)
    (root / "before" / "agent" / "home").rename(theirs)
    return theirs


async def test_a_conversation_of_the_person_is_listed_read_and_gone_on_with_and_stays_as_it_was(
    root: Path, llm: FakeOpenAI
) -> None:
    theirs = await earlier(root, llm)
    before = files(theirs)
    async with codex_host(root, llm) as host:
        assert isinstance(host.provider, Adopting)
        listed = await host.provider.transcripts(None)
        assert [(one.title, one.directory) for one in listed] == [("ONE", str(root / "before" / "work"))]
        assert await host.provider.transcripts(str(root)) == []
        assert [one.id for one in await host.provider.transcripts(str(root / "before" / "work"))] == [listed[0].id]
        adopted = await host.provider.read_transcript(listed[0].id, None)
        assert [turn["message"]["text"] for turn in adopted.turns] == ["ONE", "TWO"]
        kinds = [[part["kind"] for part in turn["responseParts"]] for turn in adopted.turns]
        assert kinds == [["reasoning", "markdown"], ["toolCall", "markdown"]]
        assert adopted.turns[1]["responseParts"][0]["toolCall"]["content"] == [{"type": "text", "text": "hi\n"}]
        assert adopted.backing == {"thread": listed[0].id}
        assert host.provider.can_resume(adopted.backing)
        with pytest.raises(ProviderError, match="no conversation"):
            await host.provider.read_transcript("0" * 8, None)
    assert files(theirs) == before, "reading changes nothing there"


async def test_a_question_outside_a_conversation_is_answered_without_tools_and_kept_nowhere(
    root: Path, llm: FakeOpenAI
) -> None:
    async with codex_host(root, llm) as host:
        (host.work / "AGENTS.md").write_text("PROJECTRULE")
        assert isinstance(host.provider, Completing) and isinstance(host.provider, TokenTaking)
        llm.add(reply(say("A short", " title")))
        question = Completion("Give a title.", "what was said", directory=str(host.work))
        assert await host.provider.complete(question) == "A short title"
        asked = llm.asked[0]
        assert asked.mentions("Give a title.") and asked.last == "what was said" and not asked.mentions("PROJECTRULE")
        assert asked.names == ["request_user_input"]
        assert not list((host.agent_folder / "home").glob("sessions/**/*.jsonl"))
        llm.add(failure(400, "bad", "no"))
        with pytest.raises(ProviderError):
            await host.provider.complete(question)
        llm.add(reply(say("late"), then="hang"))
        with pytest.raises(ProviderError) as late:
            await host.provider.complete(question._replace(seconds=0.3))
        assert late.value.error_type == "AGENT_UNRESPONSIVE"


async def test_an_interrupted_turn_goes_on_after_a_restart(root: Path, llm: FakeOpenAI) -> None:
    """K14: its message has reached the agent, so it is not said twice."""
    async with codex_host(root, llm) as host:
        llm.add(reply(say("begun"), then="hang"), reply(say("finished")))
        client = await host.client()
        _, chat = await session(client, host.work, "codex")
        client.start_turn(chat, "DO IT")
        await client.state(chat, lambda s: (s.get("activeTurn") or {}).get("responseParts"))
        await host.restart()
        again = await host.client()
        await again.subscribe(chat)
        turn = await again.turn(chat, "go on", "t2")
        assert text_of(turn) == "finished"
        assert str(llm.asked[1].body["input"]).count("DO IT") == 1
