"""Which entries are held because an agent wrote them (M4.1b)."""

from typing import Any

import pytest

from innkeeper.mcp.authorship import Authorship
from innkeeper.mcp.declarations.model import DeclaredServer, StdioLaunch

W = "file:///repo"


class Writes:
    def __init__(self) -> None:
        self.by_agent = False
        self.asked: list[tuple[str, float]] = []

    def wrote(self, path: str, since: float, changed: float | None) -> bool:
        self.asked.append((path, since))
        return self.by_agent


def server(name: str, fingerprint: str, file: str = ".mcp.json") -> DeclaredServer:
    where: Any = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}
    launch = StdioLaunch("n", (), {}, "/")
    return DeclaredServer(name, name, "root", file, 1, where, "stdio", fingerprint, launch)


@pytest.fixture
def writes() -> Writes:
    return Writes()


@pytest.fixture
def authorship(writes: Writes) -> Authorship:
    return Authorship(writes)


def test_unchanged_entries_of_a_file_that_an_agent_wrote_are_not_held(writes: Writes, authorship: Authorship) -> None:
    old, new = server("old", "f1"), server("new", "f2")
    authorship.read(W, "/repo", [old], 100.0)
    writes.by_agent = True
    authorship.read(W, "/repo", [old, new], 200.0)
    assert (authorship.held(W, old), authorship.held(W, new)) == (False, True)
    assert writes.asked == [("/repo/.mcp.json", 0.0), ("/repo/.mcp.json", 100.0)]


def test_every_session_of_the_directory_meets_the_hold_and_other_directories_do_not(
    writes: Writes, authorship: Authorship
) -> None:
    entry = server("a", "f1")
    writes.by_agent = True
    authorship.read(W, "/repo", [entry], 100.0)
    writes.by_agent = False
    authorship.read(W, "/repo", [entry], 200.0)
    assert authorship.held(W, entry)
    authorship.read("file:///other", "/other", [entry], 300.0)
    assert not authorship.held("file:///other", entry)


def test_hold_ends_when_a_person_says_so_and_the_next_change_is_judged_anew(
    writes: Writes, authorship: Authorship
) -> None:
    writes.by_agent = True
    authorship.read(W, "/repo", [server("a", "f1")], 100.0)
    authorship.release(W, [server("a", "f1")])
    assert not authorship.held(W, server("a", "f1"))
    authorship.read(W, "/repo", [server("a", "f1")], 200.0)
    assert not authorship.held(W, server("a", "f1")), "known by now"
    authorship.read(W, "/repo", [server("a", "f2")], 300.0)
    assert authorship.held(W, server("a", "f2"))


def test_entry_that_goes_and_comes_back_as_it_was_is_still_held(writes: Writes, authorship: Authorship) -> None:
    writes.by_agent = True
    authorship.read(W, "/repo", [server("a", "f1")], 100.0)
    writes.by_agent = False
    authorship.read(W, "/repo", [], 200.0)
    authorship.read(W, "/repo", [server("a", "f1")], 300.0)
    assert authorship.held(W, server("a", "f1"))


def test_rejected_entries_have_nothing_to_hold(writes: Writes, authorship: Authorship) -> None:
    writes.by_agent = True
    rejected = server("a", "")
    authorship.read(W, "/repo", [rejected], 100.0)
    assert not authorship.held(W, rejected)
