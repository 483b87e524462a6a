"""The texts catalogue from the command line.

python scripts/i18n.py add ID "English" "中文"                   one text
python scripts/i18n.py add ID "One file" "{n} files" "{n} 个文件"   a plural text, chosen by the value n
python scripts/i18n.py remove ID …                               remove texts
python scripts/i18n.py compile                                   after editing a .po file by hand
python scripts/i18n.py check                                     what `just i18n` runs
"""

import ast
import contextlib
import fcntl
import re
import string
import sys
from collections.abc import Iterator

import catalogue
from catalogue import Entries, Entry
from innkeeper.errors import ERRORS
from innkeeper.texts import LANGUAGES, LOCALE_FOLDER

SAME_IN_BOTH = catalogue.ROOT / "scripts" / "i18n_same.txt"
ID_SHAPE = re.compile(r"[a-z][a-zA-Z0-9_]*(\.[a-zA-Z0-9_]+)+")
CJK = re.compile(r"[\u3400-\u9fff]")
WORD = re.compile(r"[A-Za-z]{2,}")


@contextlib.contextmanager
def locked() -> Iterator[None]:
    """One writer at a time: several people and tools add texts to one checkout."""
    with (LOCALE_FOLDER / "innkeeper.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def add(msgid: str, *forms: str) -> None:
    """Adds or replaces a text: `English, 中文` or, for a plural, `one, many, 中文`."""
    if not ID_SHAPE.fullmatch(msgid):
        raise SystemExit(f"{msgid!r}: an id is dotted words, such as cli.status.title")
    if len(forms) not in (2, 3):
        raise SystemExit('usage: add ID "English" "中文"  or  add ID "one" "many" "中文"')
    plural = len(forms) == 3
    with locked():
        for lang, own in (("en", forms[:-1]), ("zh_Hans", forms[-1:])):
            catalogue.write(lang, catalogue.read(lang) | {msgid: Entry(tuple(own), plural)})


def remove(*msgids: str) -> None:
    with locked():
        for lang in LANGUAGES:
            catalogue.write(lang, {k: v for k, v in catalogue.read(lang).items() if k not in msgids})


def compile_all() -> None:
    with locked():
        for lang in LANGUAGES:
            catalogue.write(lang, catalogue.read(lang))


class Uses(ast.NodeVisitor):
    """Ids that the code asks for: exact ones, prefixes of composed ones, and every string that may be one."""

    def __init__(self) -> None:
        self.asked: dict[str, str] = {}
        self.prefixes: set[str] = set()
        self.asked_prefixes: dict[str, str] = {}
        self.codes: dict[str, str] = {}
        self.strings: set[str] = set()
        self.place = ""

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self.strings.add(node.value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        first = node.values[0] if node.values else None
        if isinstance(first, ast.Constant) and isinstance(first.value, str) and "." in first.value:
            self.strings.add(first.value)
            self.prefixes.add(first.value)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        first = node.args[0] if node.args else None
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            where = f"{self.place}:{node.lineno}"
            if name == "text" and ID_SHAPE.fullmatch(first.value):
                self.asked.setdefault(first.value, where)
            elif name == "HostError":
                self.codes.setdefault(first.value, where)
        elif name == "text" and isinstance(first, ast.JoinedStr) and isinstance(first.values[0], ast.Constant):
            self.asked_prefixes.setdefault(str(first.values[0].value), f"{self.place}:{node.lineno}")
        self.generic_visit(node)

    def read_template(self, source: str, place: str) -> None:
        """A Jinja template: `t('an.id')`, `th('an.id')`, and `'a.prefix.' + value`."""
        found = re.findall(r"['\"]([\w.]+)['\"]", source)
        self.strings.update(found)
        self.prefixes.update(name for name in found if name.endswith("."))
        for msgid in re.findall(r"\bth?\(\s*['\"]([\w.]+)['\"](?!\s*\+)", source):
            if ID_SHAPE.fullmatch(msgid):
                self.asked.setdefault(msgid, place)


def uses_in_source() -> Uses:
    uses = Uses()
    for path in sorted((catalogue.ROOT / "src").rglob("*.py")):
        uses.place = str(path.relative_to(catalogue.ROOT))
        uses.visit(ast.parse(path.read_text(encoding="utf-8")))
    for path in sorted((catalogue.ROOT / "src").rglob("*.html")):
        uses.read_template(path.read_text(encoding="utf-8"), str(path.relative_to(catalogue.ROOT)))
    return uses


def placeholders(form: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(form) if name is not None}


def problems_of_pair(msgid: str, english: Entry, chinese: Entry, same: set[str]) -> Iterator[str]:
    if english.plural != chinese.plural:
        yield f"{msgid}: plural in one language only"
    for lang, entry in (("en", english), ("zh_Hans", chinese)):
        if len(entry.forms) != (catalogue.PLURAL_COUNT[lang] if entry.plural else 1) or not all(entry.forms):
            yield f"{msgid}: {lang} lacks a form"
        for form in entry.forms:
            extra = placeholders(form) ^ placeholders(english.forms[-1])
            if extra - ({"n"} if entry.plural else set()):
                yield f"{msgid}: {lang} has other placeholders: {', '.join(sorted(extra))}"
    letters = re.sub(r"\{[^}]*\}|`[^`]*`", "", " ".join(english.forms))
    if WORD.search(letters) and not CJK.search("".join(chinese.forms)) and msgid not in same:
        yield f"{msgid}: the Chinese text has no Chinese (if it is a name, list the id in {SAME_IN_BOTH.name})"


def problems_of_use(uses: Uses, known: set[str]) -> Iterator[str]:
    for msgid, place in uses.asked.items():
        if msgid not in known:
            yield f"{msgid}: asked for at {place}, not in the catalogue"
    for code, place in uses.codes.items():
        if code not in ERRORS:
            yield f"{code}: raised at {place}, not in errors.ERRORS"
    needed = {msgid for error in ERRORS.values() for msgid in (error.meaning, error.remedy)}
    for msgid in sorted(needed - known):
        yield f"{msgid}: an error code needs it, not in the catalogue"
    for prefix, place in uses.asked_prefixes.items():
        if not any(msgid.startswith(prefix) for msgid in known):
            yield f"{prefix}…: asked for at {place}, no such id in the catalogue"
    prefixes = tuple(uses.prefixes - {"error."})
    for msgid in sorted(known - needed - uses.asked.keys() - uses.strings):
        if not msgid.startswith(prefixes):
            yield f"{msgid}: nothing uses it"


def problems_of_files(texts: dict[str, Entries]) -> Iterator[str]:
    for lang, entries in texts.items():
        if catalogue.po_path(lang).read_text(encoding="utf-8") != catalogue.render_po(lang, entries):
            yield f"{lang}: the .po file is not in the written form; run scripts/i18n.py compile"
        if catalogue.mo_path(lang).read_bytes() != catalogue.render_mo(lang, entries):
            yield f"{lang}: the .mo file is stale; run scripts/i18n.py compile"


def check() -> list[str]:
    """Everything that is wrong with the catalogue, one line each."""
    texts = catalogue.read_all()
    english, chinese = texts["en"], texts["zh_Hans"]
    same = set(SAME_IN_BOTH.read_text(encoding="utf-8").split()) if SAME_IN_BOTH.exists() else set()
    found = list(problems_of_files(texts))
    found += [f"{msgid}: not in both languages" for msgid in sorted(english.keys() ^ chinese.keys())]
    for msgid in sorted(english.keys() & chinese.keys()):
        found += problems_of_pair(msgid, english[msgid], chinese[msgid], same)
    found += problems_of_use(uses_in_source(), set(english))
    return found


def main(arguments: list[str]) -> int:
    match arguments:
        case ["add", msgid, *forms]:
            add(msgid, *forms)
        case ["remove", *msgids] if msgids:
            remove(*msgids)
        case ["compile"]:
            compile_all()
        case ["check"]:
            found = check()
            print("\n".join([*found, f"i18n: {len(catalogue.read('en'))} texts, {len(found)} problems"]))
            return 1 if found else 0
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
