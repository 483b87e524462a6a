"""`innkeeper chat` with a person at a terminal: a pseudo-terminal and a real host."""

import contextlib
import os
import pty
import re
import select
import signal
import stat
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from typing import Any

import pytest

from innkeeper.cli import exit_codes

SECONDS = 15


class Screen:
    """The other end of a terminal at which `innkeeper chat` runs."""

    def __init__(self, home: Any) -> None:
        self.master, terminal = pty.openpty()
        self.mode = termios.tcgetattr(terminal)
        self.terminal = terminal
        self.text = ""
        # The first terminal that the leader of a session opens is its own: Ctrl-C then reaches it as a signal.
        command = 'exec "$0" -m innkeeper chat --new <"$1" >"$1" 2>"$1"'
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", command, sys.executable, os.ttyname(terminal)],
            cwd=home.project,
            env={**home.environment, "TERM": "dumb"},
            start_new_session=True,
        )

    def expect(self, pattern: str) -> str:
        """Waits for a pattern in what comes next, and takes everything up to it."""
        deadline = time.monotonic() + SECONDS
        while not (found := re.search(pattern, self.text)):
            ready, _, _ = select.select([self.master], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"{pattern!r} did not come; last: {self.text[-500:]!r}"
            with contextlib.suppress(OSError):
                self.text += os.read(self.master, 65536).decode()
        taken, self.text = self.text[: found.end()], self.text[found.end() :]
        return taken

    def type(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def left(self) -> int:
        """Waits until the chat has ended; its exit code."""
        return self.process.wait(timeout=SECONDS)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        os.close(self.master)
        os.close(self.terminal)


@pytest.fixture
def screen(live: Any) -> Iterator[Screen]:
    opened = Screen(live)
    try:
        opened.expect(r"/help")
        opened.expect(r"> $")
        yield opened
    finally:
        opened.close()


def connected(screen: Screen, live: Any) -> None:
    """The example server runs in the session that the screen shows (the newest of the directory)."""
    screen.type("hello\n")
    screen.expect(r"hello\r\n> $")
    assert live.run("mcp", "connect", "example").code == exit_codes.OK


def test_a_line_is_answered_and_ctrl_d_ends(screen: Screen) -> None:
    screen.type("hi there\n")
    screen.expect(r"hi there\r\n.*hi there\r\n> $")
    screen.type("\x04")
    assert screen.left() == exit_codes.OK


def test_the_history_is_kept_for_its_owner_alone(screen: Screen, live: Any) -> None:
    screen.type("an unusual line\n")
    screen.expect(r"an unusual line\r\n> $")
    screen.type("\x04")
    screen.left()
    history = live.folder / "home" / "state" / "chat_history"
    assert "an unusual line" in history.read_text(encoding="utf-8")
    assert stat.S_IMODE(history.stat().st_mode) == 0o600


def test_a_confirmation_is_asked_with_its_options_and_answered_by_number(screen: Screen, live: Any) -> None:
    """M6.1: Allow once, Always allow this tool, Deny."""
    connected(screen, live)
    screen.type('/call example echo {"text": "PONG"}\n')
    question = screen.expect(r"\(1-3\): $")
    assert [line.strip()[:2] for line in question.splitlines() if re.match(r"\s+\d\. ", line)] == ["1.", "2.", "3."]
    screen.type("nonsense\n")
    screen.expect(r"\(1-3\): $")
    screen.type("1\n")
    screen.expect(r"PONG(.|\n)*> $")
    screen.type('/call example echo {"text": "PONG"}\n')
    screen.expect(r"\(1-3\): $")
    screen.type("3\n")
    screen.expect(r"✗(.|\n)*> $")


def test_a_question_that_another_client_answers_is_withdrawn(screen: Screen, live: Any) -> None:
    connected(screen, live)
    screen.type('/call example echo {"text": "PONG"}\n')
    screen.expect(r"\(1-3\): $")
    answer_elsewhere(live)
    screen.expect(r"\n.+\r\n(.|\n)*PONG(.|\n)*> $")


def answer_elsewhere(live: Any) -> None:
    """Another client allows what waits in the newest session."""
    import asyncio

    from innkeeper.client import connect, turns
    from innkeeper.edge.discovery import find_running

    async def answer() -> None:
        endpoint = find_running(live.folder / "home" / "state")
        assert endpoint is not None
        async with connect(endpoint.target, token=endpoint.token) as client:
            newest = await anext(client.list_sessions())
            session = await client.subscribe_session(newest["resource"])
            chat = await client.subscribe_chat(session.state["defaultChat"])
            state = await chat.wait_for(turns.tool_calls_to_confirm)
            (call,) = turns.tool_calls_to_confirm(state)
            await chat.dispatch(turns.tool_call_confirmed(state["activeTurn"]["id"], call, call["options"][0]["id"]))

    asyncio.run(answer())


def test_ctrl_c_cancels_the_turn_and_the_next_one_leaves_the_terminal_as_it_was(screen: Screen, live: Any) -> None:
    connected(screen, live)
    screen.type('/call example echo {"text": "x"}\n')
    screen.expect(r"\(1-3\): $")
    screen.type("\x03")
    screen.expect(r"> $")
    screen.type("still here\n")
    screen.expect(r"still here\r\n.*still here\r\n> $")
    screen.type("\x03")
    assert screen.left() == exit_codes.INTERRUPTED
    assert termios.tcgetattr(screen.terminal)[3] == screen.mode[3]
