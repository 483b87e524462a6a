"""Two clients in one session: one talks, the other watches, and both end with the same transcript.

innkeeper serve --token-file token.txt
python examples/two_clients.py ws://127.0.0.1:4665 "$(cat token.txt)"
"""
# ruff: noqa: T201 - an example prints

import asyncio
import secrets
import sys
from datetime import UTC, datetime
from pathlib import Path

from innkeeper.client import ActionApplied, Applied, Channel, Client, Lagged, Rejected, connect, turns
from innkeeper.protocol.chat.state import ChatState
from innkeeper.protocol.session.state import SessionState


async def join(client: Client, session_uri: str) -> tuple[Channel[SessionState], Channel[ChatState]]:
    """The session and its first chat, both with their state."""
    session = await client.subscribe_session(session_uri)
    state = await session.wait_for(lambda state: state["lifecycle"] == "ready" and "defaultChat" in state)
    return session, await client.subscribe_chat(state["defaultChat"])


async def watch(chat: Channel[ChatState]) -> None:
    """Prints every action as it arrives; a reader that was too slow is told, and the state is complete all the same."""
    async for event in chat.events():
        match event:
            case ActionApplied(action=action, seq=seq):
                print(f"  watcher: {seq} {action['type']}")
            case Lagged(missed=missed):
                print(f"  watcher: missed {missed} events")


async def say(chat: Channel[ChatState], text: str) -> str:
    """Sends a message and gives the agent's answer."""
    turn_id = secrets.token_hex(8)
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    match await chat.dispatch(turns.turn_started(turn_id, text, now)):
        case Rejected(reason=reason):
            raise SystemExit(f"the host refused the message: {reason}")
        case outcome:
            print(f"talker: {outcome}")
    state = await chat.wait_for(lambda state: "activeTurn" not in state)
    turn = turns.turn_of(state, turn_id)
    assert turn is not None
    return "".join(part["content"] for part in turn["responseParts"] if part["kind"] == "markdown")


async def main(url: str, token: str | None) -> None:
    async with connect(url, token=token) as talker, connect(url, token=token) as watcher:
        uri = await talker.create_session(provider="console", working_directories=[Path.cwd().as_uri()])
        session, chat = await join(talker, uri)
        their_session, their_chat = await join(watcher, uri)
        watching = asyncio.create_task(watch(their_chat))

        print(f"talker: the agent said {await say(chat, 'hello, both of you')!r}")

        # Both rename the session in the same moment: each sees its own title at once, and both end with the same one.
        mine = session.dispatch({"type": "session/titleChanged", "title": "the talker's title"})
        theirs = their_session.dispatch({"type": "session/titleChanged", "title": "the watcher's title"})
        print(f"now: {session.state['title']!r} and {their_session.state['title']!r}")
        assert isinstance(await mine, Applied) and isinstance(await theirs, Applied)

        await their_chat.wait_for(lambda state: state == chat.confirmed)
        final = await session.wait_for(lambda state: state["title"] == their_session.confirmed["title"])
        print(f"both: {final['title']!r}, {len(chat.confirmed['turns'])} turn")

        watching.cancel()
        await talker.dispose_session(uri)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    asyncio.run(main(sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else None))
