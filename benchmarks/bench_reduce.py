"""What one action costs on a long chat: microseconds for a delta, a draft, a tool call that becomes ready.

Run `python benchmarks/bench_reduce.py [--json]`. The state is made here, about 166 KB as JSON: a history of ended
turns and an active one with Markdown, reasoning and tool calls. Each figure is the best of several rounds, since
everything else on the machine only ever adds time.
"""

import argparse
import json
import time
from collections.abc import Mapping
from typing import Any

from innkeeper.reduce import reduce

START = "2026-03-01T08:00:00.000Z"
ROUNDS = 7
ACTIONS_PER_ROUND = 5000

Action = Mapping[str, Any]


def text(length: int) -> str:
    return ("Water the beds before noon, then prune. " * (length // 40 + 1))[:length]


def message(length: int) -> dict[str, Any]:
    return {"text": text(length), "origin": {"kind": "user"}}


def tool_call(index: int, status: str) -> dict[str, Any]:
    call: dict[str, Any] = {
        "toolCallId": f"call-{index}",
        "toolName": "read_file",
        "displayName": "Read file",
        "status": status,
        "contributor": {"kind": "mcp", "customizationId": "files"},
        "_meta": {"ui": {"resourceUri": "ui://files/view"}},
    }
    if status == "completed":
        call |= {"invocationMessage": "Reads", "toolInput": text(120), "confirmed": "setting", "success": True}
        call |= {"pastTenseMessage": "Read", "content": [{"type": "text", "text": text(600)}]}
    return {"kind": "toolCall", "toolCall": call}


def parts(turn: int) -> list[dict[str, Any]]:
    return [
        {"kind": "reasoning", "id": f"r{turn}", "content": text(400)},
        {"kind": "markdown", "id": f"m{turn}", "content": text(1200)},
        *(tool_call(turn * 10 + index, "completed") for index in range(2)),
    ]


def chat_state(turns: int) -> dict[str, Any]:
    """A chat with `turns` ended turns and an active one of 14 parts; the last three receive the measured actions."""
    ended = [
        {"id": f"t{n}", "startedAt": START, "duration": 9000, "message": message(200), "responseParts": parts(n)}
        | {"state": "complete", "usage": {"inputTokens": 1200, "outputTokens": 300}}
        for n in range(turns)
    ]
    live = [part for n in range(900, 903) for part in parts(n)]
    live += [{"kind": "markdown", "id": "live", "content": ""}, tool_call(7, "streaming")]
    active = {"id": "now", "startedAt": START, "message": message(200), "responseParts": live}
    return {
        "resource": "ahp-chat:/bench",
        "title": "Beds",
        "status": 8,
        "modifiedAt": START,
        "turns": ended,
        "activeTurn": active,
        "draft": message(20),
    }


def measured() -> dict[str, list[Action]]:
    delta: dict[str, Any] = {"type": "chat/delta", "turnId": "now", "partId": "live", "content": " and then"}
    ready: dict[str, Any] = {
        "type": "chat/toolCallReady",
        "turnId": "now",
        "toolCallId": "call-7",
        "invocationMessage": "Reads a file",
    }
    ready |= {"toolInput": text(120), "options": [{"id": "once", "label": "Allow once", "kind": "approve"}]}
    drafts: list[Action] = [
        {"type": "chat/draftChanged", "draft": message(20 + n % 40)} for n in range(ACTIONS_PER_ROUND)
    ]
    return {"delta": [delta], "draft": drafts, "toolCallReady": [ready]}


def best(state: Any, actions: list[Action], *, grow: bool) -> float:
    """Microseconds an action; `grow` feeds each result into the next action, as a stream does."""
    rounds = []
    for _ in range(ROUNDS):
        current = state
        begun = time.perf_counter()
        for index in range(ACTIONS_PER_ROUND):
            after = reduce("chat", current, actions[index % len(actions)])
            current = after if grow else state
        rounds.append((time.perf_counter() - begun) / ACTIONS_PER_ROUND)
    return min(rounds) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    as_json = parser.parse_args().json
    state = chat_state(turns=36)
    short = chat_state(turns=0)
    figures: dict[str, float] = {"stateBytes": len(json.dumps(state))}
    for name, actions in measured().items():
        grow = name != "toolCallReady"
        figures[name] = round(best(state, actions, grow=grow), 2)
        figures[f"{name}WithoutHistory"] = round(best(short, actions, grow=grow), 2)
    if as_json:
        print(json.dumps(figures))
        return
    print(f"chat state of {figures['stateBytes'] / 1000:.0f} KB")
    for name in measured():
        print(f"{name:14} {figures[name]:6.2f} µs an action, {figures[name + 'WithoutHistory']:.2f} without a history")


if __name__ == "__main__":
    main()
