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

    def dispatched(type_, **more):
        action = {"type": type_, "turnId": "t", **more}
        return lambda: hooks.dispatched(DispatchedAction(session, chat, "chat", action))

    rows = {
        "streaming delta, all built-ins (goal 20)": each(lambda: sites.dispatched(delta)),
        "tool call start": each(dispatched("chat/toolCallStart", toolCallId="x")),
        "usage report": each(dispatched("chat/usage", usage={"inputTokens": 1})),
        "end of a turn": each(lambda: hooks.turn_end(end), 2_000),
    }
    began = time.perf_counter()
    for _ in range(2_000):
        await hooks.outgoing(OutgoingTurn(session, chat, "t", message, "hi"))
    rows["outgoing turn"] = (time.perf_counter() - began) / 2_000 * 1e6
    for name, cost in rows.items():
        print(f"{name:42}{cost:8.3f} µs")
    await world.close()


asyncio.run(main())
