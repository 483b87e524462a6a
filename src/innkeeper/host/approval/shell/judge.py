"""May a command line run without a question? (reference §5.11, row 10; K16)

Rules
* Refusals first, then every command must be allowed, then every redirection passes the rules for files.
* A word is checked as what the command is given: where the shell would make something else of it, it is asked about,
  except what `echo` prints and everybody may see.
* `cd` may have failed or not: what comes after it is checked for every directory in which it may run. Git runs what
  the repository that it stands in names, so it is allowed in the working directories themselves only.
* An operator's rule allows a command with its words as they are; it does not allow redirections.
"""

import glob
import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from innkeeper.host.approval.paths import absolute, in_attachment_area, reading, writing
from innkeeper.host.approval.shell.grammar import LANGUAGES, Command, Parse, Redirect, Trouble, Word, commands_of
from innkeeper.host.approval.shell.programs import PROGRAMS, REFUSED, Program
from innkeeper.host.approval.shell.sed import is_harmless
from innkeeper.host.approval.values import CommandRule, Ground, Step, reason
from innkeeper.limits import APPROVAL_COMMANDS
from innkeeper.ports.paths import PathFacts, Real
from innkeeper.ports.questions import Intent, Reason

CHANGES_MOST: Final = 3
"""So often a line may change its directory."""

WRAPPERS: Final = frozenset({"bash", "sh", "/bin/bash", "/bin/sh", "/usr/bin/bash", "/usr/bin/sh"})

SAFE_BEFORE_PATTERN: Final = re.compile(
    r"-[A-Za-dg-z0-9]*|--(?!re|f)[a-z-]+=.*|--(?:line-number|ignore-case|count|hidden|recursive|fixed-strings|no-heading"
    r"|word-regexp|extended-regexp|files-with-matches)"
)
"""Options before a pattern of grep and rg that do not bring one themselves."""


@dataclass(frozen=True, slots=True)
class Judged:
    """`trouble` is why the line was not judged; else `steps` says it of every command and redirection."""

    steps: Sequence[Step] = ()
    trouble: Reason | None = None
    writes_attachments: bool = False

    @property
    def approved(self) -> bool:
        return self.trouble is None and bool(self.steps) and all(step.outcome == "approve" for step in self.steps)

    @property
    def effects(self) -> bool:
        return any(step.effects for step in self.steps)


def judge(intent: Intent, ground: Ground, facts: PathFacts, parse: Parse | None) -> Judged:
    """What each part of the command line means."""
    if not ground.tables.shell:
        return Judged(trouble=reason("shell.off"))
    if intent.language not in LANGUAGES:
        return Judged(trouble=reason("shell.language", language=intent.language or "?"))
    if parse is None:
        return Judged(trouble=reason("shell.noParser"))
    start = absolute(intent.directory or "", None, ground) if intent.directory else next(iter(ground.roots), None)
    if start is None:
        return Judged(trouble=reason("shell.noDirectory"))
    try:
        commands = commands_of(intent.command, parse)
        inner = _inner(commands)
        commands = commands if inner is None else commands_of(inner, parse)
    except Trouble as trouble:
        return Judged(trouble=trouble.why)
    except RecursionError:
        return Judged(trouble=reason("shell.unreadable"))
    if not commands or len(commands) > APPROVAL_COMMANDS:
        return Judged(trouble=reason("shell.number", n=len(commands)))
    line = _Line(intent.command if inner is None else inner, start.rstrip("/") or "/", ground, facts)
    steps = [step for command in commands for step in line.command(command)]
    return Judged(steps, writes_attachments=line.writes_attachments)


def _inner(commands: Sequence[Command]) -> str | None:
    """The line that `bash -c` runs, where it is all that there is: some agents write every command like this."""
    if len(commands) != 1 or commands[0].redirects or len(commands[0].words) != 3:
        return None
    shell, option, line = commands[0].words
    if shell.text not in WRAPPERS or option.source not in ("-c", "-lc") or line.dynamic or line.pattern:
        return None
    return line.text


class _Line:
    """One line on its way; `_places` are the directories in which the next command may run."""

    def __init__(self, text: str, start: str, ground: Ground, facts: PathFacts) -> None:
        self._text = text
        self._ground = ground
        self._facts = facts
        self._places = [start]
        self._changes = 0
        self.writes_attachments = False

    def command(self, command: Command) -> Iterator[Step]:
        if command.words:
            yield self._judged(command)
        for redirect in command.redirects:
            if (step := self._redirect(redirect)) is not None:
                yield step

    def _judged(self, command: Command) -> Step:
        try:
            effects = self._allowed(command)
        except Trouble as trouble:
            return Step(command.source, "ask", trouble.why)
        return Step(command.source, "approve", reason("shell.allowed", command=command.words[0].text), effects)

    def _allowed(self, command: Command) -> bool:
        """Whether the command has effects. Raises Trouble where it is not allowed."""
        name, rules = command.words[0].text, self._ground.tables.commands
        for rule in rules:
            if not rule.approve and _fits(rule, command, self._text):
                raise Trouble(reason("shell.ruleRefuses", rule=rule.key))
        group = next((group for group, names in REFUSED.items() if name in names), None)
        if group is not None or name.startswith("mkfs."):
            raise Trouble(reason("shell.refused", command=name))
        for rule in rules:
            if rule.approve and _fits(rule, command, self._text):
                _refuse_dynamic(command.words)
                return True
        program = PROGRAMS.get(name)
        if program is None:
            raise Trouble(reason("shell.unknown", command=name))
        return self._program(name, program, command.words[1:])

    def _program(self, name: str, program: Program, words: Sequence[Word]) -> bool:
        if name == "cd":
            self._change(words)
            return False
        if name == "git":
            self._refuse_elsewhere()
        if program.subcommands:
            return self._subcommand(name, program, words)
        if name == "echo":
            words = [word for word in words if not word.shown]
        _refuse_dynamic(words)
        _check_options(name, program, words)
        if name == "sed":
            words = _after_script(words)
        if program.words != "text":
            self._refuse_outside(_paths(program, words))
        return program.effects

    def _subcommand(self, name: str, program: Program, words: Sequence[Word]) -> bool:
        _refuse_dynamic(words)
        count = next((i for i, word in enumerate(words) if not word.text.startswith("-")), len(words))
        _check_options(name, Program(only=program.only or ()), words[:count])
        if count == len(words):
            if words and all(word.text == "--version" for word in words):
                return False
            raise Trouble(reason("shell.subcommand", command=name))
        inner = program.subcommands.get(words[count].text)
        if inner is None:
            raise Trouble(reason("shell.subcommand", command=f"{name} {words[count].text}"))
        return self._program(f"{name} {words[count].text}", inner, words[count + 1 :])

    # -- directories and files -----------------------------------------------------------------------------------

    def _change(self, words: Sequence[Word]) -> None:
        _refuse_dynamic(words)
        if len(words) != 1 or words[0].pattern or words[0].text.startswith("-") or not words[0].text:
            raise Trouble(reason("shell.change"))
        self._changes += 1
        if self._changes > CHANGES_MOST:
            raise Trouble(reason("shell.changes", n=CHANGES_MOST))
        self._refuse_outside(words)
        targets = self._absolute(words[0].text)
        found = [*self._places, *targets, *map(posixpath.normpath, targets)]
        self._places = list(dict.fromkeys(place.rstrip("/") or "/" for place in found))

    def _refuse_elsewhere(self) -> None:
        """Git reads the configuration of the repository that it stands in, which may name programs."""
        for place in self._places:
            if not any(posixpath.normpath(place) == posixpath.normpath(root) for root in self._ground.roots):
                raise Trouble(reason("shell.gitElsewhere", directory=place))
            if (bare := self._bare(place)) is not None:
                raise Trouble(reason("shell.gitBare", directory=bare))

    def _bare(self, place: str) -> str | None:
        """The folder that git may take for a repository although there is no `.git`: it has a `HEAD`. Its
        configuration is then a file like any other."""
        here = next(iter(self._facts.look(place).paths), place)
        while not self._named_there(here, ".git").paths:
            head = self._named_there(here, "HEAD")
            if head.paths or head.problem is not None:  # a link that leads nowhere serves git as well
                return here
            if here == posixpath.dirname(here):
                return None
            here = posixpath.dirname(here)
        return None

    def _named_there(self, place: str, name: str) -> Real:
        """What exactly that name leads to; nothing where there is none."""
        return self._facts.look(f"{glob.escape(place.rstrip('/'))}/{name}", pattern=True)

    def _refuse_outside(self, words: Iterable[Word]) -> None:
        for word in words:
            if word.pattern and "[" in word.text:
                raise Trouble(reason("shell.dynamic", word=word.source))
            for text in _named(word.text):
                for path in self._absolute(text):
                    step = reading(path, self._ground, self._facts, pattern=word.pattern)
                    if step.outcome == "ask":
                        raise Trouble(step.reason)

    def _absolute(self, text: str) -> list[str]:
        return [path for place in self._places if (path := absolute(text, place, self._ground)) is not None]

    def _redirect(self, redirect: Redirect) -> Step | None:
        target = redirect.target
        if redirect.kind in ("text", "copy") or target is None:
            return None
        subject = f"{redirect.operator} {target.source}"
        if target.dynamic or target.pattern or not target.text or any(sign in target.text for sign in "%{}~"):
            return Step(subject, "ask", reason("shell.target", word=target.source), redirect.kind == "write")
        steps = []
        for path in self._absolute(target.text):
            if redirect.kind == "read":
                steps.append(reading(path, self._ground, self._facts))
                continue
            self.writes_attachments = self.writes_attachments or in_attachment_area(path, self._ground, self._facts)
            steps.append(writing(path, self._ground, self._facts))
        worst = next((step for step in steps if step.outcome == "ask"), steps[0])
        return worst._replace(subject=subject)


def _fits(rule: CommandRule, command: Command, line: str) -> bool:
    """Whether the rule is about the command. What approves must fit the whole text, what refuses any part of it."""
    if len(rule.key) > 2 and rule.key.startswith("/") and rule.key.endswith("/"):
        text = line if rule.whole_line else command.source
        compare = re.fullmatch if rule.approve else re.search
        return compare(rule.key[1:-1], text) is not None
    words = rule.key.split()
    return bool(words) and [word.text for word in command.words[: len(words)]] == words


def _refuse_dynamic(words: Iterable[Word]) -> None:
    for word in words:
        if word.dynamic:
            raise Trouble(reason("shell.dynamic", word=word.source))


def _check_options(name: str, program: Program, words: Sequence[Word]) -> None:
    operands, given = 0, [word.text for word in words]
    if program.begins and not (given and given[0] in program.begins):
        raise Trouble(reason("shell.onlyWith", command=name, option=" / ".join(program.begins)))
    if program.needs is not None and program.needs not in given:
        raise Trouble(reason("shell.onlyWith", command=name, option=program.needs))
    for word in words:
        text = word.text
        # A file may be called like an option, and there may be more files than words are allowed.
        if word.pattern and (program.most is not None or (text[:1] in ("*", "?", "-") and not program.option_free)):
            raise Trouble(reason("shell.dynamic", word=word.source))
        if text in program.refuse_words or any(_is_option(text, refused) for refused in program.refuse):
            raise Trouble(reason("shell.option", command=name, option=text))
        if text.startswith("-") and text != "-":
            if program.only is not None and not _is_known(text, program.only):
                raise Trouble(reason("shell.option", command=name, option=text))
            continue
        operands += 1
        if program.first is not None and not text.startswith(program.first):
            raise Trouble(reason("shell.option", command=name, option=text))
    if program.most is not None and operands > program.most:
        raise Trouble(reason("shell.operands", command=name, n=program.most))


def _is_option(text: str, refused: str) -> bool:
    """Whether the word is the refused option, perhaps abbreviated, with a value, or in a cluster of letters."""
    if refused.startswith("--"):
        name = text.partition("=")[0]
        return len(name) > 2 and refused.startswith(name)
    if len(refused) > 2:
        return len(text) > 1 and text.startswith("-") and refused.startswith(text)
    return text.startswith("-") and not text.startswith("--") and refused[1] in text[1:]


def _is_known(text: str, only: Sequence[str]) -> bool:
    """Whether the word is one of the known options: whole, with a value, or a cluster of known letters."""
    if text.startswith("--"):
        name, sign, _ = text.partition("=")
        return name + sign in only or (not sign and f"{name}=" in only)
    letters = {option[1] for option in only if len(option) == 2}
    return text in only or all(letter in letters for letter in text[1:])


def _paths(program: Program, words: Sequence[Word]) -> Sequence[Word]:
    """The words that may be paths: all of them, but for the pattern where it is certain which word that is."""
    if program.words != "pattern":
        return words
    count = next((i for i, word in enumerate(words) if not word.text.startswith("-")), len(words))
    if count == len(words) or not all(SAFE_BEFORE_PATTERN.fullmatch(word.text) for word in words[:count]):
        return words
    return [word for i, word in enumerate(words) if i != count or word.pattern]


def _named(text: str) -> Iterator[str]:
    """What a word may name as a path: itself, and the value of an option that is written in one word with it."""
    if text in ("", "-", "--"):
        return
    yield text
    if text.startswith("-") and "=" in text:
        yield text.partition("=")[2] or "."
    if text.startswith("-") and not text.startswith("--"):
        yield from (text[start:] for start in range(2, len(text)))


def _after_script(words: Sequence[Word]) -> Sequence[Word]:
    """The words of `sed` without its script, which must be a harmless one. Raises Trouble."""
    rest: list[Word] = []
    scripts: list[str] = []
    expects = False
    for word in words:
        if expects:
            scripts.append(word.text)
            expects = False
        elif word.text.startswith("--expression"):
            _, given, script = word.text.partition("=")
            scripts.extend([script] if given else [])
            expects = not given
        elif word.text.startswith("-") and not word.text.startswith("--") and "e" in word.text:
            _, _, script = word.text.partition("e")
            scripts.extend([script] if script else [])
            expects = not script
        else:
            rest.append(word)
    if not scripts:
        first = next((i for i, word in enumerate(rest) if not word.text.startswith("-")), None)
        if first is None:
            raise Trouble(reason("shell.script"))
        scripts.append(rest.pop(first).text)
    if expects or not all(is_harmless(script) for script in scripts):
        raise Trouble(reason("shell.script"))
    return rest
