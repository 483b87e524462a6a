"""What the hooks cost: a streaming delta with all built-ins, a turn's outgoing and end (K9; goal 20 µs a delta)."""

import asyncio
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from innkeeper.contributions.spi import DispatchedAction, OutgoingTurn, TurnEnd, TurnEndReason
from innkeeper.engine.effects import Released
from scripted.world import World

ROUNDS = 20_000


def each(work, rounds=ROUNDS):
    """Microseconds of one call, the best of five."""
    best = float("inf")
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(rounds):
            work()
        best = min(best, time.perf_counter() - began)
    return best / rounds * 1e6


async def main() -> None:
    world = await World().start()
    client = await world.client()
    session, chat = await client.new_session()
    hooks, sites, state = world.service.hooks, world.service._sites, world.hub.head(chat)
    delta = Released(chat, "chat", {"type": "chat/delta", "turnId": "t"}, 1, None, state, state)
    message = {"text": "hi", "origin": {"kind": "user"}}
    end = TurnEnd(session, chat, "t", message, TurnEndReason("cancelled"))

    def dispatched(type, **more):
        action = {"type": type, "turnId": "t", **more}
        return lambda: hooks.dispatched(DispatchedAction(session, chat, "chat", action))

    rows = {
        "streaming delta, all built-ins (goal 20)": each(lambda: sites.dispatched(delta)),
        "tool call start": each(dispatched("chat/toolCallStart", toolCallId="x")),
        "usage report": each(dispatched("chat/usage", usage={"inputTokens": 1})),
        "end of a turn": each(lambda: hooks.turn_end(end), 2_000),
    }
    for name, cost in rows.items():
        print(f"{name:42}{cost:8.3f} µs")
    began = time.perf_counter()
        for _ in range(rounds):
            work()
        best = min(best, time.perf_counter() - began)
    return best / rounds * 1e6


async def main() -> None:
    world = await World().start()
    client = await world.client()
    session, chat = await client.new_session()
    hooks, sites, state = world.service.hooks, world.service._sites, world.hub.head(chat)
    delta = Released(chat, "chat", {"type": "chat/delta", "turnId": "t"}, 1, None, state, state)
    usage = {"type": "chat/usage", "turnId": "t", "usage": {"inputTokens": 1}}
    print(f"streaming delta, all built-ins   {each(lambda: sites.dispatched(delta)):8.3f} µs   goal 20")
    started = {"type": "chat/toolCallStart", "turnId": "t", "toolCallId": "x"}
    print(
        f"tool call start                  {each(lambda: hooks.dispatched(DispatchedAction(session, chat, 'chat', started))):8.3f} µs"
    )
    print(
        f"usage report                     {each(lambda: hooks.dispatched(DispatchedAction(session, chat, 'chat', usage))):8.3f} µs"
    )
    message = {"text": "hi", "origin": {"kind": "user"}}
    end = TurnEnd(session, chat, "t", message, TurnEndReason("cancelled"))
    print(f"end of a turn                    {each(lambda: hooks.turn_end(end), 2_000):8.3f} µs")
    began = time.perf_counter()
    for _ in range(2_000):
        await hooks.outgoing(OutgoingTurn(session, chat, "t", message, "hi"))
    print(f"{'outgoing turn':42}{(time.perf_counter() - began) / 2_000 * 1e6:8.3f} µs")
    await world.close()


asyncio.run(main())
