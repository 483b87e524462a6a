"""`innkeeper changes` against a real host and a real git repository (M9.4; docs/reference/changesets.md)."""

import os
import pty
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Home, end, wait_for_ready
from harness.repositories import RealRepository, environment
from innkeeper.cli import exit_codes


class Work:
    """A project that is a repository, with a session whose host is the module's."""

    def __init__(self, home: Home, folder: Path) -> None:
        self.home = home
        self.repository = RealRepository.made(folder, environment(home.folder / "user"))
        self.run("chat", "-m", "hello", changes=False)

    def run(self, *words: str, changes: bool = True, **more: Any) -> Any:
        return self.home.run(*(["changes"] if changes else []), *words, "--dir", str(self.repository.root), **more)

    def files(self, *words: str) -> dict[str, Any]:
        return {row["file"]: row for row in self.run(*words, "--json").json()["files"]}

    def at_terminal(self, *words: str, answer: str = "") -> tuple[int, str]:
        """Exit code and what a terminal of 80 columns shows."""
        master, slave = pty.openpty()
        os.write(master, answer.encode())
        process = self.home.start(
            "changes", *words, "--dir", str(self.repository.root),
            stdin=slave, stdout=slave, stderr=slave, env={**self.home.environment, "TERM": "xterm-256color"},
        )  # fmt: skip
        os.close(slave)
        shown = bytearray()
        try:
            while piece := os.read(master, 65536):
                shown += piece
        except OSError:  # the other side is closed
            pass
        os.close(master)
        return process.wait(20), shown.decode()


@pytest.fixture(scope="module")
def hosted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    home = Home(tmp_path_factory.mktemp("changes"))
    home.environment |= environment(home.folder / "user") | {"PATH": os.environ["PATH"]}
    host = home.start("serve", "--port", "0", "--quiet", stderr=subprocess.DEVNULL)
    try:
        wait_for_ready(host)
        yield home
    finally:
        end(host)


@pytest.fixture
def work(hosted: Home, tmp_path: Path) -> Work:
    return Work(hosted, tmp_path / "repo")


@pytest.fixture
def changed(work: Work) -> Work:
    """A file that changed, a new one, a deleted one, a renamed one, a binary one, and one with an odd name."""
    made = work.repository
    made.write("gone.txt", "a\n")
    made.write("old.txt", "".join(f"{n}\n" for n in range(40)))
    made.commit()
    made.write("README", "hello\nthere")
    made.write("src/new.py", "one\ntwo\n")
    (made.root / "gone.txt").unlink()
    (made.root / "old.txt").rename(made.root / "name.txt")
    made.write("image.bin", b"\0\1")
    made.write("a\tb\x1b", "x\x1b[31m\n")
    return work


# -- looking -----------------------------------------------------------------------------------------------------------


def test_the_files_are_listed_with_what_happened_to_them(changed: Work) -> None:
    found = changed.files("--set", "uncommitted")
    assert {name: row["change"] for name, row in found.items()} == {
        "README": "changed",
        "src/new.py": "added",
        "gone.txt": "deleted",
        "name.txt": "renamed",
        "image.bin": "added",
        "a\tb\x1b": "added",
    }
    assert (found["README"]["added"], found["README"]["removed"]) == (1, 0)
    assert found["image.bin"]["kinds"] == ["binary"] and found["name.txt"]["was"] == "old.txt"
    document = changed.run("--set", "uncommitted", "--json").json()
    assert {one["id"] for one in document["operations"]} == {"commit", "discard", "checkout"}
    assert (document["set"], document["error"], document["note"]) == ("uncommitted", None, None)


def test_a_pipe_gets_a_line_a_file_and_names_that_steer_no_terminal(changed: Work) -> None:
    done = changed.run("--set", "uncommitted")
    lines = [line.split("\t") for line in done.out.splitlines()]
    assert ["src/new.py", "new", "+2", "−0", "", ""] in lines
    assert '"a\\tb\\033"' in [line[0] for line in lines] and "\x1b" not in done.out
    assert "6 files" in done.err


def test_what_is_listed_is_what_there_is_now(work: Work) -> None:
    """A list that the host computed earlier is never shown: every look is a new one."""
    for number in range(3):
        work.repository.write(f"{number}.txt", "x\n")
        assert set(work.files("--set", "uncommitted")) == {f"{n}.txt" for n in range(number + 1)}


def test_the_changes_of_a_turn_and_between_two_are_chosen_by_the_turns(work: Work) -> None:
    work.repository.write("by hand", "x\n")
    work.run("chat", "-m", "again", changes=False)
    document = work.run("--set", "compare", "--json").json()
    for _ in range(20):  # the end of a turn is captured behind its answer
        if document["error"] is None:
            break
        document = work.run("--set", "compare", "--json").json()
    first, last = document["turns"]
    assert first != last, document
    assert [row["file"] for row in document["files"]] == ["by hand"], document
    assert work.run("--turn", first, "--turn", last, "--json").json()["set"] == "compare"
    assert work.files("--turn", last) == {}
    assert work.run("--set", "turn", "--json").json()["turns"] == [last]


def test_nothing_changed_is_said_in_words(work: Work) -> None:
    done = work.run("--set", "uncommitted")
    assert (done.code, done.out, done.err) == (exit_codes.OK, "", "Everything is committed.\n")


# -- diff --------------------------------------------------------------------------------------------------------------


def test_the_diff_makes_of_the_commit_what_there_is(changed: Work, tmp_path: Path) -> None:
    """`git apply` reads it; a binary file is named, and left out here."""
    made = changed.repository
    done = changed.run("diff", "README", "src/new.py", "gone.txt", "name.txt", "--set", "uncommitted")
    assert done.code == exit_codes.OK, done.err
    made.git("worktree", "add", "--quiet", str(tmp_path / "other"))
    other = RealRepository(tmp_path / "other", made.variables)
    other.git("apply", "-", stdin=done.out.encode())
    there = {path.name for path in other.root.rglob("*") if path.is_file() and path.name != ".git"}
    assert there == {"README", "new.py", "name.txt"}
    assert (other.root / "README").read_text() == "hello\nthere"


def test_a_binary_file_is_named_and_a_pipe_gets_no_colour(changed: Work) -> None:
    done = changed.run("diff", "image.bin", "--set", "uncommitted")
    assert done.out.splitlines()[-1] == "Binary files /dev/null and b/image.bin differ" and "\x1b" not in done.out
    document = changed.run("diff", "image.bin", "README", "--set", "uncommitted", "--json").json()
    assert [row["problem"] for row in document["files"]] == ["binary", None]
    assert "+there" in document["files"][1]["diff"]


def test_a_terminal_gets_colours_and_nothing_that_steers_it(changed: Work) -> None:
    code, shown = changed.at_terminal("diff", "--set", "uncommitted")
    assert code == exit_codes.OK
    assert "\x1b[32m+x^[[31m" in shown and "\x1b[31m\r\n" not in shown


def test_a_reader_that_has_had_enough_is_no_fault(changed: Work) -> None:
    changed.repository.write("long.txt", "line\n" * 100_000)
    process = changed.home.start(
        "changes", "diff", "long.txt", "--set", "uncommitted", "--dir", str(changed.repository.root)
    )
    with process:
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""


# -- reviewing ---------------------------------------------------------------------------------------------------------


def test_a_mark_is_kept_until_it_is_undone_or_the_file_changes(changed: Work) -> None:
    uncommitted = ("--set", "uncommitted")
    assert changed.run("review", "README", "src/new.py", *uncommitted).code == exit_codes.OK
    assert [name for name, row in changed.files(*uncommitted).items() if row["reviewed"]] == ["README", "src/new.py"]
    assert changed.run("review", "README", "--undo", *uncommitted).code == exit_codes.OK
    changed.repository.write("src/new.py", "three\n")
    assert not any(row["reviewed"] for row in changed.files(*uncommitted).values())
    assert len(changed.run("review", "--all", *uncommitted, "--json").json()["files"]) == 6


# -- operations --------------------------------------------------------------------------------------------------------


def test_everything_is_committed_with_the_message(changed: Work) -> None:
    done = changed.run("commit", "-m", "what I wrote")
    assert (done.code, "main" in done.err) == (exit_codes.OK, True), done.err
    assert changed.repository.git("log", "-1", "--format=%s") == "what I wrote"
    again = changed.run("commit", "-m", "more", "--json")
    assert (again.code, again.json()["error"]["code"]) == (exit_codes.FAILED, "OPERATION_DISABLED")


def test_files_that_are_named_are_discarded_and_the_others_stay(changed: Work) -> None:
    done = changed.run("discard", "src/new.py", "README", "--yes", "--json")
    assert done.code == exit_codes.OK, done.out
    assert (changed.repository.root / "README").read_text() == "hello\n"
    assert not (changed.repository.root / "src/new.py").exists()
    assert set(changed.files("--set", "uncommitted")) == {"gone.txt", "name.txt", "image.bin", "a\tb\x1b"}
    assert changed.run("discard", "--all", "--yes").code == exit_codes.OK
    assert changed.repository.git("status", "--porcelain") == ""


@pytest.mark.parametrize(("answer", "code"), [("n\n", exit_codes.INTERRUPTED), ("y\n", exit_codes.OK)])
def test_at_a_terminal_a_discard_asks_in_the_hosts_words(changed: Work, answer: str, code: int) -> None:
    done, shown = changed.at_terminal("discard", "README", answer=answer)
    assert (done, "Discard the uncommitted changes?" in shown, "README" in shown) == (code, True, True)
    assert (changed.repository.root / "README").read_text() == ("hello\n" if answer == "y\n" else "hello\nthere")


def test_what_changed_while_the_question_stood_is_not_discarded(changed: Work) -> None:
    """CHANGESET_STALE: nobody discards what they have not seen."""
    master, slave = pty.openpty()
    process = changed.home.start("changes", "discard", "--all", "--dir", str(changed.repository.root), stdin=slave)
    os.close(slave)
    asked = ""
    while "[y/N]" not in asked:
        asked += process.stderr.read(1)
    changed.repository.write("README", "another\n")
    os.write(master, b"y\n")
    _, err = process.communicate(timeout=20)
    os.close(master)
    assert (process.returncode, "CHANGESET_STALE" in err, "README" in err) == (exit_codes.FAILED, True, True)
    assert (changed.repository.root / "README").read_text() == "another\n"


def test_another_branch_is_checked_out_and_one_that_there_is_not_is_refused(work: Work) -> None:
    work.repository.git("branch", "topic")
    work.repository.write("README", "carried\n")
    assert work.run("checkout", "topic").code == exit_codes.OK
    assert work.repository.git("branch", "--show-current") == "topic"
    assert (work.repository.root / "README").read_text() == "carried\n"
    done = work.run("checkout", "nowhere", "--json")
    error = done.json()["error"]
    assert done.code == exit_codes.FAILED and error["code"].startswith("GIT_") and error["remedy"]


# -- wrong input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code", "named"),
    [
        (["--session", "nope"], "SESSION_UNKNOWN", "nope"),
        (["diff", "nope"], "CHANGED_FILE_UNKNOWN", "README"),
        (["review", "nope"], "CHANGED_FILE_UNKNOWN", "README"),
        (["discard", "nope", "--yes"], "CHANGED_FILE_UNKNOWN", "README"),
        (["--turn", "nope"], "TURN_UNKNOWN", "(hello)"),
    ],
    ids=" ".join,
)
def test_what_there_is_not_is_told_with_what_there_is(work: Work, words: list[str], code: str, named: str) -> None:
    work.repository.write("README", "x\n")
    done = work.run(*words, "--json")
    error = done.json()["error"]
    assert (done.code, error["code"]) == (exit_codes.FAILED, code) and error["remedy"]
    assert named in error["message"]


@pytest.mark.parametrize(
    "words",
    [
        ["review"],
        ["review", "README", "--all"],
        ["discard", "README"],
        ["discard", "--yes"],
        ["checkout", " "],
        ["--turn", "a", "--set", "session"],
        ["--turn", "a", "--set", "compare"],
        ["--turn", "a", "--turn", "b", "--turn", "c"],
        ["--set", "uncommitted", "diff"],
    ],
    ids=" ".join,
)
def test_what_cannot_be_meant_is_wrong_usage(hosted: Home, words: list[str]) -> None:
    done = hosted.run("changes", *words, "--json")
    assert (done.code, done.json()["error"]["code"]) == (exit_codes.USAGE, "USAGE"), done.out


def test_without_a_repository_there_is_nothing_to_commit_and_without_a_session_nothing_to_show(
    hosted: Home, tmp_path: Path
) -> None:
    none = hosted.run("changes", "--dir", str(tmp_path), "--json")
    assert (none.code, none.json()["error"]["code"]) == (exit_codes.FAILED, "SESSION_NONE")
    hosted.run("chat", "-m", "hello", "--dir", str(tmp_path))
    assert hosted.run("changes", "--dir", str(tmp_path), "--json").json()["files"] == []
    error = hosted.run("changes", "commit", "--dir", str(tmp_path), "--json").json()["error"]
    assert error["code"] == "CHANGESET_UNKNOWN" and "session, turn" in error["message"]


def test_without_a_host_that_is_said(quiet: Home) -> None:
    done = quiet.run("changes", "--json")
    assert (done.code, done.json()["error"]["code"]) == (exit_codes.NO_HOST, "HOST_NOT_RUNNING")
