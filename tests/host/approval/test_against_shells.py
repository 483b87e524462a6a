"""What is approved is run in real shells whose every command is a recorder: nothing else may have run (K16).

The shells know no program but recorders of the same names, and bash no builtin but `cd`. What a recorder was called
with must be a command that the decision listed, word by word.
"""

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st

from innkeeper.host.approval import Call, Ground, Standing, decide
from innkeeper.host.approval.shell.grammar import Command, commands_of, load
from innkeeper.host.approval.shell.programs import PROGRAMS, REFUSED
from innkeeper.ports.questions import Intent
from innkeeper.workspace.paths import LocalPaths

PARSE = load()
assert PARSE is not None
SOAK = os.environ.get("INNKEEPER_SOAK") == "1"
BASH = shutil.which("bash") or "bash"
SH = shutil.which("dash") or shutil.which("sh") or "sh"

RECORDER = """#!/bin/sh
{ printf '%s\\0' "${0##*/}"; for word; do printf '%s\\0' "$word"; done; } > "$RECORD/$$"
"""
NAMES = (*PROGRAMS, *(name for names in REFUSED.values() for name in names), "evil", "x", "a", "b", "E", "EOF")


class Shells:
    """A directory with recorders, one to work in, and one that nobody may touch."""

    def __init__(self, base: Path) -> None:
        self.base, self.bin, self.work, self.outside = base, base / "bin", base / "w", base / "outside"
        for folder in (self.bin, self.work / "d", self.outside):
            folder.mkdir(parents=True)
        recorder = base / "recorder"
        recorder.write_text(RECORDER)
        recorder.chmod(0o755)
        for name in dict.fromkeys(NAMES):
            if "/" not in name and name not in (".", "cd"):
                (self.bin / name).symlink_to(recorder)
        builtins = subprocess.run([BASH, "-c", "compgen -b"], capture_output=True, text=True, check=True).stdout.split()
        off = " ".join(sorted(set(builtins) - {"cd", "enable", "[", ":", "."}))
        (base / "start").write_text(f"enable -n {off} '[' ':' '.'\nenable -n enable\n")
        self._record = base / "record"

    def run(self, shell: str, line: str) -> list[list[str]]:
        """What the shell called for the line."""
        self._reset()
        environment = {"PATH": str(self.bin), "RECORD": str(self._record), "BASH_ENV": str(self.base / "start")}
        arguments = ["--norc", "--noprofile", "-c", line] if shell == BASH else ["-c", line]
        subprocess.run(
            [shell, *arguments],
            cwd=self.work,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=20,
            check=False,
        )
        calls = sorted(self._record.iterdir(), key=lambda call: call.stat().st_mtime_ns)
        return [call.read_text().split("\0")[:-1] for call in calls]

    def _reset(self) -> None:
        shutil.rmtree(self._record, ignore_errors=True)
        shutil.rmtree(self.work)
        self._record.mkdir()
        (self.work / "d").mkdir(parents=True)
        for name in ("a.py", "b.py", ".env", "d/x", "-delete", "-exec", "-o", "ab.py"):
            (self.work / name).write_text("x\n")
        (self.work / "out").symlink_to("../outside/secret")
        (self.outside / "secret").write_text("untouched")

    def harm(self) -> str | None:
        """What was changed that must not have been."""
        if sorted(os.listdir(self.outside)) != ["secret"] or (self.outside / "secret").read_text() != "untouched":
            return "outside"
        if (self.work / ".env").read_text() != "x\n":
            return ".env"
        return None


@pytest.fixture(scope="module")
def shells() -> Iterator[Shells]:
    with tempfile.TemporaryDirectory() as folder:
        made = Shells(Path(os.path.realpath(folder)))
        made._reset()
        yield made


COMMANDS = [
    "ls", "ls -la", "cat a.py", "echo hi", "pwd", "true", "grep x a.py", "git status", "wc -l", "cd d", "cd d/..",
    "find . -name a", "sed -n p a.py", "sort -u a.py", "head -n 1", "bash -c 'ls'", "cat *.py", "test -f a.py",
    "uniq", "xxd",
]  # fmt: skip
BAD = ["rm x", "evil", "eval evil", "bash", "sh -c evil", "xargs rm", "FOO=1 evil", "exec evil", ". x", "curl x"]
WORDS = [
    "a", "-x", "'b c'", '"d e"', "'it'\\''s'", '"$?"', "$PWD", "$(pwd)", '"$(pwd)"', "`evil`", "$'e\\'f'", '$"g"',
    "h\\ i", "\\;", "\\|", "\\\\", "#j", "k#l", "~", "~x", "{m,n}", "{o..p}", "*", "?", "[q]", "!r", "%s", "t=u",
    "+v", "=w", "'", '"', "\\", "(", ")", "$", "$(", "${", "}", "{", "`", "<", ">", "&", "|", ";", "\n", "\\\n", "\t",
    "''", '""', "'#'", "é", "\u00a0", "\r", "$((1))", "${HOME}", "<(evil)", ">(evil)", "@(a|b)", "\\\n evil",
    "-d*", "-ex?c", "''*", "-?", "\\-*", "a*",
]  # fmt: skip
JOINS = [" && ", " || ", "; ", " | ", " |& ", "\n", " & ", "&&", ";", "|", " &", "&", "||", " ;", "\n\n", " \\\n", ";;"]
REDIRECTS = [
    " > f", ">f", " 2>&1", " >> d/f", " &> f", " >| f", " < a.py", " <<< a", " > .env", " > out", " > ../outside/f",
    " >&2", " 2>/dev/null", " > 'f g'", ' > "f"', " >$(evil)", " 3>&1", " 1>&2-", " &>> f", " >&f", " 2>f 1>g",
    " <<EOF\nevil\nEOF\n", " <<'EOF'\n$(evil)\nEOF\n", " <<EOF\n$(evil)\nEOF\n", " <<-E\n\tevil\n\tE\n",
    " <<'EOF' > f\nevil\nEOF\nls", " <<EOF\nevil\n", " <<E\nevil\n E\nE\n", " <<'a'\n\\\na\n", " <<\\EOF\nevil\nEOF\n",
    " <<EOF;evil\nx\nEOF\n", " << EOF\nEOF\nevil", " <<EOF\nx\nEOF \nevil\nEOF\n",
]  # fmt: skip
WRAPS = [
    "{}", "{}", "{}", "({})", "{{ {}; }}", "echo $({})", 'echo "$({})"', "bash -c '{}'", "! {}", "if {}; then ls; fi",
    "{}() {{ ls; }}", "[ {} ]", "time {}", "coproc {}", "x=$({})", "ls <({})", "echo '{}'", 'echo "{}"', "# {}", "{} #",
]  # fmt: skip


@st.composite
def simple(draw: st.DrawFn) -> str:
    line = draw(st.sampled_from(COMMANDS * 3 + BAD))
    for _ in range(draw(st.integers(0, 2))):
        line += draw(st.sampled_from([" ", " ", " ", ""])) + draw(st.sampled_from(WORDS))
    if draw(st.booleans()) and draw(st.booleans()):
        line += draw(st.sampled_from(REDIRECTS))
    return line


@st.composite
def lines(draw: st.DrawFn) -> str:
    line = draw(simple())
    for _ in range(draw(st.integers(0, 2))):
        line += draw(st.sampled_from(JOINS)) + draw(simple())
    line = draw(st.sampled_from(WRAPS)).format(line)
    if draw(st.booleans()) and draw(st.booleans()):
        line += draw(st.sampled_from(JOINS)) + draw(simple())
    if draw(st.booleans()) and draw(st.booleans()):
        place = draw(st.integers(0, len(line)))
        line = line[:place] + draw(st.sampled_from(WORDS)) + line[place:]
    return line


SOUP = st.lists(st.sampled_from(COMMANDS + WORDS + JOINS + REDIRECTS), max_size=6).map("".join)


def expected(line: str) -> list[Command]:
    """What the line may run, by the same reading; the inner line of `bash -c` is read again."""
    found = list(commands_of(line, PARSE))
    inner = [command.words[2].text for command in found if len(command.words) == 3 and command.words[0].text == "bash"]
    return found + [command for line in inner for command in commands_of(line, PARSE)]


def is_listed(call: list[str], commands: list[Command]) -> bool:
    """Whether some command of the list is this call: word by word, where its words are what the shell hands on."""
    for command in commands:
        words = command.words
        if not words or words[0].text != call[0]:
            continue
        if any(word.pattern or word.dynamic for word in words) or [word.text for word in words] == call:
            return True
    return False


@pytest.mark.timeout(900 if SOAK else 120)
@settings(max_examples=20_000 if SOAK else 600, deadline=None, suppress_health_check=list(HealthCheck))
@given(line=st.one_of(lines(), lines(), lines(), SOUP))
@example(line="echo $'\\'; evil #'")
@example(line="ls \\\n -la")
@example(line="cat <<EOF\nEOF\nls")
@example(line='echo "a\\"; ls; \\"b"')
@example(line="bash -c 'ls; pwd'")
@example(line="find . -ex?c evil")
@example(line="find . -d*")
@example(line="find . ''*")
@example(line="uniq a*")
@example(line='echo "$(ls \\ a)"')
@example(line='echo "$(echo "$(ls \\ a)")"')
def test_only_allowed_commands_run_in_an_approved_line(shells: Shells, line: str) -> None:
    ground = Ground(roots=(str(shells.work),), home=str(shells.base / "home"))
    intent = Intent("shell", command=line, language="bash")
    shells._reset()
    found = decide(Call("shell", intent), Standing(), ground, LocalPaths(), PARSE)
    event(found.outcome)
    if found.outcome != "approve":
        return
    commands = expected(line)
    for shell in (BASH, SH):
        for call in shells.run(shell, line):
            assert call[0] in PROGRAMS or call[0] == "bash", (shell, call)
            assert is_listed(call, commands), (shell, call, [command.source for command in commands])
            # Whatever patterns became: the words that were handed over are approved as they are.
            handed = Call("shell", Intent("shell", command=shlex.join(call), language="bash"))
            assert decide(handed, Standing(), ground, LocalPaths(), PARSE).outcome == "approve", (shell, call)
        assert shells.harm() is None, shell


def test_the_recorders_see_what_a_shell_runs(shells: Shells) -> None:
    """The check above can fail: what is not approved is seen when it runs all the same."""
    called = shells.run(BASH, "FOO=1 evil 'a b' | eval x; echo $(rm y)")
    assert sorted(call[0] for call in called) == ["echo", "eval", "evil", "rm"]
    assert ["evil", "a b"] in called
    shells.run(BASH, "ls > ../outside/f")
    assert shells.harm() == "outside"
    (shells.outside / "f").unlink()
    assert sorted(shells.run(SH, "evil; rm x")) == [["evil"], ["rm", "x"]]
