"""The texts catalogue as files: read, write, compile. Both outputs are a function of the entries alone.

An entry is an id and its text, one form or one a plural class. The `.po` file has one line a string, sorted by id, so
that two branches which add texts merge; the `.mo` file has no date and no tool version, so that a rebuild is equal.
"""

import struct
import sys
from dataclasses import dataclass
from pathlib import Path

from babel.messages.pofile import read_po

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from innkeeper.texts import DOMAIN, LANGUAGES, LOCALE_FOLDER  # noqa: E402

PLURAL_FORMS = {"en": "nplurals=2; plural=(n != 1);", "zh_Hans": "nplurals=1; plural=0;"}
PLURAL_COUNT = {"en": 2, "zh_Hans": 1}

Forms = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """A text: one form, or (plural) as many forms as the language has plural classes."""

    forms: Forms
    plural: bool = False


Entries = dict[str, Entry]


def po_path(lang: str) -> Path:
    return LOCALE_FOLDER / lang / "LC_MESSAGES" / f"{DOMAIN}.po"


def mo_path(lang: str) -> Path:
    return po_path(lang).with_suffix(".mo")


def read(lang: str) -> Entries:
    """The entries of one language; empty when the file does not exist. Raises `ValueError` on duplicate ids."""
    path = po_path(lang)
    if not path.exists():
        return {}
    entries: Entries = {}
    ids = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("msgid ")]
    if len(ids) != len(set(ids)):
        raise ValueError(f"{path}: an id occurs twice")
    with path.open("rb") as file:
        for message in read_po(file, locale=lang, abort_invalid=True):
            forms = (message.string,) if isinstance(message.string, str) else tuple(message.string or ())
            plural = not isinstance(message.id, str)
            if message.id:
                entries[str(message.id[0]) if plural else str(message.id)] = Entry(forms, plural)
    return entries


def _header(lang: str) -> str:
    return (
        f"Language: {lang}\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n"
        f"Content-Transfer-Encoding: 8bit\nPlural-Forms: {PLURAL_FORMS[lang]}\n"
    )


def _quote(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


def render_po(lang: str, entries: Entries) -> str:
    blocks = [f'msgid ""\nmsgstr {_quote(_header(lang))}\n']
    for msgid, entry in sorted(entries.items()):
        lines = [f"msgid {_quote(msgid)}"]
        if entry.plural:
            lines.append(f"msgid_plural {_quote(msgid)}")
            lines += [f"msgstr[{index}] {_quote(form)}" for index, form in enumerate(entry.forms)]
        else:
            lines.append(f"msgstr {_quote(entry.forms[0])}")
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def render_mo(lang: str, entries: Entries) -> bytes:
    """GNU MO, little endian, revision 0, no hash table."""
    pairs = {b"": _header(lang).encode()}
    for msgid, entry in entries.items():
        stored = f"{msgid}\0{msgid}" if entry.plural else msgid
        pairs[stored.encode()] = "\0".join(entry.forms).encode()
    keys = sorted(pairs)
    start = 28 + 16 * len(keys)
    key_table, value_table, data = b"", b"", b""
    for key in keys:
        key_table += struct.pack("<II", len(key), start + len(data))
        data += key + b"\0"
    for key in keys:
        value_table += struct.pack("<II", len(pairs[key]), start + len(data))
        data += pairs[key] + b"\0"
    head = struct.pack("<IIIIIII", 0x950412DE, 0, len(keys), 28, 28 + 8 * len(keys), 0, start)
    return head + key_table + value_table + data


def write(lang: str, entries: Entries) -> None:
    path = po_path(lang)
    path.parent.mkdir(parents=True, exist_ok=True)
    for target, data in ((path, render_po(lang, entries).encode()), (mo_path(lang), render_mo(lang, entries))):
        temporary = target.with_name(target.name + ".new")
        temporary.write_bytes(data)
        temporary.replace(target)


def read_all() -> dict[str, Entries]:
    return {lang: read(lang) for lang in LANGUAGES}
