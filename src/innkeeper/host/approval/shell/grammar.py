"""A command line as the commands that it runs, by the grammar of bash (K16; reference §5.11, row 10).

Rules
* The grammar says what the parts are; every part is then read again here. What the two do not agree on, what the
  grammar could not read, and every construct that is not in the short list below is *trouble*: it is asked about.
* The list: simple commands, pipes, `&&`, `||`, `;`, `&`, new lines, groups, subshells, redirections, one here-document,
  command substitution. No assignments, functions, loops, conditions, arithmetic, process substitution, `!`.
* Between two parts stands a blank or nothing that a shell could join: what is next to each other is one word.
* The library is imported when the first command is judged. Without it there is no judgement.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Final, Literal, NamedTuple

from innkeeper.host.approval.values import reason
from innkeeper.limits import APPROVAL_COMMAND_CHARACTERS
from innkeeper.ports.questions import Reason

LANGUAGES: Final = frozenset({"bash", "sh"})
"""Shells that read what is accepted here alike."""

SHOWN: Final = frozenset({"?", "PWD", "OLDPWD", "HOME", "USER", "SHELL", "PATH", "LANG", "TERM", "HOSTNAME"})
"""Variables whose value anybody may see."""

Parse = Callable[[bytes], Any]
"""Source to the root node of its tree."""


class Word(NamedTuple):
    """One word. `text` is what the command is given, unless `dynamic`: then the shell makes something else of it.
    `shown`: dynamic, but only by what is harmless to print. `pattern`: file names may take its place."""

    text: str
    source: str
    dynamic: bool = False
    shown: bool = False
    pattern: bool = False


class Redirect(NamedTuple):
    """`text` is given to the command as it is: a here-document or a here-string."""

    operator: str
    kind: Literal["read", "write", "copy", "text"]
    target: Word | None


class Command(NamedTuple):
    """A simple command; without words it only redirects."""

    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...]
    source: str


class Trouble(Exception):
    """Why a command line is not judged."""

    def __init__(self, why: Reason) -> None:
        super().__init__(why.message)
        self.why = why


def load() -> Parse | None:
    """The parser, None where its library is missing or unfit. It may be used by several threads."""
    try:
        import tree_sitter
        import tree_sitter_bash

        language = tree_sitter.Language(tree_sitter_bash.language())
        tree_sitter.Parser(language)
    except Exception:
        return None
    return lambda source: tree_sitter.Parser(language).parse(source).root_node


def commands_of(line: str, parse: Parse) -> Sequence[Command]:
    """Every command that the line can run, in the order of the text. Raises Trouble."""
    _refuse_characters(line)
    source = line.encode()
    reading = _Reading(source, parse(source))
    return reading.commands


class _Reading:
    """One walk through one tree."""

    def __init__(self, source: bytes, root: Any) -> None:
        self._source = source
        self._heredocs = 0
        self.commands: list[Command] = []
        if root.has_error or root.type != "program":
            raise Trouble(reason("shell.unreadable"))
        self._refuse_gaps(root, 0, len(self._source))
        self._statements(root)

    # -- statements ----------------------------------------------------------------------------------------------

    def _statements(self, node: Any) -> None:
        for child in node.children:
            if child.is_named:
                self._statement(child)
            elif child.type not in TOKENS:
                raise self._construct(child)

    def _statement(self, node: Any) -> None:
        match node.type:
            case "list" | "pipeline" | "subshell" | "compound_statement":
                self._statements(node)
            case "command":
                self._command(node, ())
            case "redirected_statement":
                self._redirected(node)
            case "comment":
                self._comment(node)
            case _:
                raise self._construct(node)

    def _redirected(self, node: Any) -> None:
        bodies = [child for child in node.children if child.type not in REDIRECTS]
        redirects = tuple(r for child in node.children if child.type in REDIRECTS for r in self._redirects(child))
        if len(bodies) > 1:
            raise self._construct(node)
        if bodies and bodies[0].type == "command":
            self._command(bodies[0], redirects)
            return
        self.commands.append(Command((), redirects, self._text(node)))
        for body in bodies:
            self._statement(body)

    def _command(self, node: Any, redirects: tuple[Redirect, ...]) -> None:
        words: list[Word] = []
        before, end = len(self.commands), None
        for child in node.children:
            if end is not None and child.start_byte == end and child.type not in REDIRECTS:
                raise self._construct(node)
            end = child.end_byte
            if child.type in REDIRECTS:
                redirects = (*redirects, *self._redirects(child))
            elif child.type == "command_name":
                words.append(self._name(child))
            elif child.type == "variable_assignment":
                raise Trouble(reason("shell.assignment", text=self._text(child)))
            else:
                words.append(self._word(child))
        if not words:
            raise self._construct(node)
        self.commands.insert(before, Command(tuple(words), redirects, self._text(node)))

    def _comment(self, node: Any) -> None:
        start = node.start_byte
        if start and self._source[start - 1 : start] not in (b" ", b"\t", b"\n"):
            raise self._construct(node)

    # -- redirections --------------------------------------------------------------------------------------------

    def _redirects(self, node: Any) -> tuple[Redirect, ...]:
        if node.type != "heredoc_redirect":
            return (self._redirect(node),)
        after = [child for child in node.children if child.type == "file_redirect"]
        self._heredoc(node, after)
        return (Redirect("<<", "text", None), *(self._redirect(child) for child in after))

    def _redirect(self, node: Any) -> Redirect:
        parts = [child for child in node.children if child.type != "file_descriptor"]
        if len(parts) != 2:
            raise self._construct(node)
        operator, target = parts[0].type, self._word(parts[1])
        if node.type == "herestring_redirect":
            if target.dynamic:
                raise Trouble(reason("shell.dynamic", word=target.source))
            return Redirect(operator, "text", target)
        if operator in (">&", "<&") and re.fullmatch(r"[0-9]+", target.text) and target.source == target.text:
            return Redirect(operator, "copy", target)
        kind = OPERATORS.get(operator)
        if kind is None:
            raise self._construct(node)
        return Redirect(operator, kind, target)

    def _heredoc(self, node: Any, after: Sequence[Any]) -> None:
        """The body must end where a shell ends it, and hold nothing that a shell would run; behind the name of its end
        stands nothing but at most one redirection."""
        start = next((child for child in node.children if child.type == "heredoc_start"), None)
        end = next((child for child in node.children if child.type == "heredoc_end"), None)
        self._heredocs += 1
        if start is None or end is None or self._heredocs > 1 or len(after) > 1:
            raise self._construct(node)
        if any(child.type not in HEREDOC for child in node.children):
            raise self._construct(node)
        written = self._text(start)
        name = written[1:-1] if written[:1] in "'\"" and written[:1] == written[-1:] else written
        rest, _, body = self._source[start.end_byte :].decode().partition("\n")
        between = "".join(self._text(child) for child in after)
        if not re.fullmatch(r"[A-Za-z_]+", name) or rest.strip(" \t") != between:
            raise self._construct(node)
        tabs = any(child.type == "<<-" for child in node.children)
        place = start.end_byte + len(rest.encode()) + 1
        for line in body.split("\n"):
            if (line.lstrip("\t") if tabs else line) == name:
                break
            if written == name and any(sign in line for sign in "$`\\"):
                raise Trouble(reason("shell.dynamic", word=line.strip()[:80]))
            place += len(line.encode()) + 1
        else:
            raise self._construct(node)
        if not place <= end.start_byte < end.end_byte == place + len(line.encode()):
            raise self._construct(node)

    # -- words ---------------------------------------------------------------------------------------------------

    def _name(self, node: Any) -> Word:
        text = self._text(node)
        if len(node.children) != 1 or node.children[0].type != "word" or not re.fullmatch(r"[A-Za-z0-9_.+/-]+", text):
            raise Trouble(reason("shell.name", text=text))
        return Word(text, text)

    def _word(self, node: Any) -> Word:
        parts = node.children if node.type == "concatenation" else [node]
        words = [self._part(part) for part in parts]
        if any(one.end_byte != two.start_byte for one, two in pairwise(parts)):
            raise self._construct(node)
        bare = "".join(w.source if p.type in BARE else "'" for p, w in zip(parts, words, strict=True))
        braces = re.search(r"\{.*(?:,|\.\.)", bare) is not None
        homes = re.search(r"(?:^|[=:])~", bare) is not None
        return Word(
            text="".join(word.text for word in words),
            source=self._text(node),
            dynamic=any(word.dynamic for word in words) or braces or homes or "[" in bare,
            shown=any(word.dynamic for word in words)
            and all(word.shown for word in words if word.dynamic)
            and not (braces or homes or "[" in bare),
            pattern=any(word.pattern for word in words),
        )

    def _part(self, node: Any) -> Word:
        text = self._text(node)
        match node.type:
            case "word" | "number":
                return self._bare(text, node)
            case "raw_string" if text.count("'") == 2 and text[0] == text[-1] == "'":
                return Word(text[1:-1], text)
            case "string":
                return self._string(node, text)
            case "simple_expansion" if re.fullmatch(r"\$(\?|[A-Za-z_][A-Za-z0-9_]*)", text):
                return Word("", text, dynamic=True, shown=text[1:] in SHOWN)
            case "command_substitution" if text.startswith("$(") and not text.startswith("$(("):
                self._substitution(node)
                return Word("", text, dynamic=True, shown=True)
            case "command_substitution":
                raise Trouble(reason("shell.backquotes"))
            case _:
                raise self._construct(node)

    def _substitution(self, node: Any) -> None:
        inner = [child for child in node.children if child.type not in ("$(", ")")]
        if len(inner) + 2 != len(node.children) or not inner:
            raise self._construct(node)
        for child in inner:
            if child.is_named:
                self._statement(child)
            elif child.type not in TOKENS:
                raise self._construct(child)

    def _bare(self, text: str, node: Any) -> Word:
        out: list[str] = []
        pattern, signs = False, iter(text)
        for sign in signs:
            if sign == "\\":
                sign = next(signs, "")
                if sign in ("", "\n"):
                    raise self._construct(node)
            elif sign in "!`$\"'();&|<> \t\n" or (sign == "#" and not out):
                raise Trouble(reason("shell.sign", word=text, sign=sign))
            elif sign in "*?":
                pattern = True
            out.append(sign)
        return Word("".join(out), text, pattern=pattern)

    def _string(self, node: Any, text: str) -> Word:
        """Between double quotes: `\\` before `$`, a backquote, a quote or itself, expansions, and plain text."""
        dynamic = False
        for child in node.children:
            if child.type in ('"', "string_content"):
                continue
            if child.type not in ("simple_expansion", "command_substitution"):
                raise self._construct(child)
            dynamic = True
        if dynamic:
            parts = [self._part(child) for child in node.children if child.type not in ('"', "string_content")]
            if "!" in text or "`" in text:
                raise Trouble(reason("shell.sign", word=text, sign="!" if "!" in text else "`"))
            return Word("", text, dynamic=True, shown=all(part.shown for part in parts))
        return Word(self._plain_string(node, text), text)

    def _plain_string(self, node: Any, text: str) -> str:
        out: list[str] = []
        if len(text) < 2 or text[0] != '"' or text[-1] != '"':
            raise self._construct(node)
        signs = iter(text[1:-1])
        for sign in signs:
            if sign == "\\":
                following = next(signs, "")
                if following in ("", "\n"):
                    raise self._construct(node)
                out.append(following if following in '$`"\\' else sign + following)
                continue
            if sign in '!`$"':
                raise Trouble(reason("shell.sign", word=text, sign=sign))
            out.append(sign)
        return "".join(out)

    # -- the whole -----------------------------------------------------------------------------------------------

    def _refuse_gaps(self, node: Any, start: int, end: int) -> None:
        """Whatever no part of the tree covers is blank, also in a substitution inside of a text."""
        position = start
        for part in _parts(node):
            self._refuse_gap(position, part.start_byte)
            position = max(position, part.end_byte)
            for inner in _substitutions(part):
                self._refuse_gaps(inner, inner.start_byte, inner.end_byte)
        self._refuse_gap(position, end)

    def _refuse_gap(self, start: int, end: int) -> None:
        if end > start and self._source[start:end].replace(b"\\\n", b"").strip(b" \t\n"):
            raise Trouble(reason("shell.unreadable"))

    def _text(self, node: Any) -> str:
        return self._source[node.start_byte : node.end_byte].decode()

    def _construct(self, node: Any) -> Trouble:
        return Trouble(reason("shell.construct", text=self._text(node)[:80]))


def _parts(node: Any) -> Iterator[Any]:
    """Leaves, and texts as a whole: their blanks belong to them."""
    if node.type in WHOLE or node.child_count == 0:
        yield node
        return
    for child in node.children:
        yield from _parts(child)


def _substitutions(text: Any) -> Iterator[Any]:
    """The outermost command substitutions below a text."""
    for child in text.children:
        if child.type == "command_substitution":
            yield child
        else:
            yield from _substitutions(child)


def _refuse_characters(line: str) -> None:
    """What a shell and a grammar might take for different things is in no line that is judged."""
    if len(line) > APPROVAL_COMMAND_CHARACTERS:
        raise Trouble(reason("shell.tooLong", characters=APPROVAL_COMMAND_CHARACTERS))
    for sign in line:
        if sign not in " \t\n" and unicodedata.category(sign)[0] in "CZ":
            raise Trouble(reason("shell.character", code=f"U+{ord(sign):04X}"))
    for found in re.finditer(r"\\\n", line):
        before = line[max(0, found.start() - 2) : found.start()]
        if not before.endswith((" ", "\t")) or before.startswith("\\"):
            raise Trouble(reason("shell.continuation"))


TOKENS: Final = frozenset({"&&", "||", ";", "&", "|", "|&", "\n", "(", ")", "{", "}"})
REDIRECTS: Final = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
HEREDOC: Final = frozenset(
    {"<<", "<<-", "file_descriptor", "heredoc_start", "heredoc_body", "heredoc_end", "file_redirect"}
)
BARE: Final = frozenset({"word", "number"})
WHOLE: Final = frozenset({"string", "raw_string", "heredoc_body", "comment"})
OPERATORS: Final[dict[str, Literal["read", "write"]]] = {
    "<": "read",
    ">": "write",
    ">>": "write",
    ">|": "write",
    "&>": "write",
    "&>>": "write",
    ">&": "write",
}
