"""The form of a declaration: what was typed, what is wrong with it, and what the host is asked to write (M8.2, M8.9).

Rules
* Only the fields of the chosen transport are looked at and sent; the others stay as they were typed, in the page.
* Only what differs from what was opened is sent; an emptied field is sent as null. A row whose value was never shown
  keeps the value under its old key.
* The JSON mode has the same six fields; a masked value in it stands for the one that the entry has.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from innkeeper.web.asking import Ask

MASK: Final = "••••••"
FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "stdio": ("command", "args", "env", "cwd"),
    "http": ("url", "headers"),
}
TABLES: Final = ("env", "headers")
ROWS: Final = 200
"""Rows of a table at most."""


class Row(NamedTuple):
    """One variable or header. `keep` is the key whose value it has, while that was not shown or replaced."""

    id: str
    key: str
    value: str
    keep: str


class Flaw(NamedTuple):
    """Something that blocks saving: the field, the row where it is one, and the id of the words."""

    field: str
    words: str
    row: str = ""
    values: Mapping[str, object] = {}


@dataclass(frozen=True, slots=True)
class Entry:
    """What a declaration says, as the form has it. Values of tables are masked."""

    transport: str = ""
    command: str | None = None
    args: tuple[str, ...] | None = None
    cwd: str | None = None
    url: str | None = None
    env: tuple[Row, ...] = ()
    headers: tuple[Row, ...] = ()


@dataclass(frozen=True, slots=True)
class Draft:
    """The form as it was sent. `server` is empty for a new declaration."""

    server: str
    name: str
    preset: str
    file: str
    token: str
    was: Entry
    entry: Entry
    mode: str = "fields"
    json: str = ""
    flaws: tuple[Flaw, ...] = field(default=())


def entry_of(form: Mapping[str, Any]) -> Entry:
    """From the `form` of `editOpen`."""
    transport = str(form.get("transport") or "")
    return Entry(
        transport=transport if transport in FIELDS else "",
        command=form.get("command"),
        args=None if form.get("args") is None else tuple(form["args"]),
        cwd=form.get("cwd"),
        url=form.get("url"),
        env=_opened(form.get("env")),
        headers=_opened(form.get("headers")),
    )


def _opened(rows: Sequence[Mapping[str, Any]] | None) -> tuple[Row, ...]:
    return tuple(Row(f"r{at}", str(row["key"]), "", str(row["key"])) for at, row in enumerate(rows or ()))


def packed(entry: Entry) -> str:
    """What was opened, as a field of the form; keys of tables, never a value."""
    tables = {name: [row.key for row in getattr(entry, name)] for name in TABLES}
    plain = {name: getattr(entry, name) for name in ("transport", "command", "args", "cwd", "url")}
    return json.dumps({**plain, **tables}, ensure_ascii=False)


def unpacked(text: str) -> Entry:
    """The inverse; an empty entry for anything else."""
    try:
        found = json.loads(text)
        args = found["args"]
        plain = {name: None if found[name] is None else str(found[name]) for name in ("command", "cwd", "url")}
        return Entry(
            str(found["transport"]),
            **plain,
            args=None if args is None else tuple(str(one) for one in args),
            env=_opened([{"key": str(key)} for key in found["env"]]),
            headers=_opened([{"key": str(key)} for key in found["headers"]]),
        )
    except (ValueError, KeyError, TypeError):
        return Entry()


def draft_of(ask: Ask) -> Draft:
    """The form of the request, with everything that is wrong in it."""
    was, mode = unpacked(ask.field("was")), ask.field("mode", "fields")
    place = ask.field("place")
    preset, _, file = place.partition("\n") if place else (ask.field("preset"), "", ask.field("file"))
    flaws: list[Flaw] = []
    if mode == "json":
        entry = _from_json(ask.field("json"), was, flaws)
    else:
        args = ask.field("args")
        lines = tuple(args.removesuffix("\n").split("\n")) if args else ()
        entry = Entry(
            transport=ask.field("transport"),
            command=ask.field("command"),
            args=was.args if args == "\n".join(was.args or ()) else lines,
            cwd=ask.field("cwd"),
            url=ask.field("url"),
            env=_rows(ask, "env"),
            headers=_rows(ask, "headers"),
        )
    name = ask.field("name").strip()
    draft = Draft(
        ask.field("server"), name, preset, file, ask.field("token"), was, entry, mode, ask.field("json"), tuple(flaws)
    )
    found = (*flaws, *(_flaws(draft) if not flaws else ()))
    return Draft(draft.server, name, preset, file, draft.token, was, entry, mode, draft.json, tuple(found))


def _rows(ask: Ask, name: str) -> tuple[Row, ...]:
    columns = [ask.fields(f"{name}_{part}") for part in ("id", "key", "value", "keep")]
    rows = [Row(*(cell[:100_000] for cell in cells)) for cells in zip(*columns, strict=False)]
    return tuple(rows[:ROWS])


def _flaws(draft: Draft) -> list[Flaw]:
    entry = draft.entry
    found = [] if draft.name else [Flaw("name", "web.edit.flaw.name")]
    if entry.transport not in FIELDS:
        return [*found, Flaw("transport", "web.edit.flaw.transport")]
    if entry.transport == "stdio" and not (entry.command or "").strip():
        found.append(Flaw("command", "web.edit.flaw.command"))
    if entry.transport == "http" and not (entry.url or "").strip():
        found.append(Flaw("url", "web.edit.flaw.url"))
    for name in TABLES:
        if name not in FIELDS[entry.transport]:
            continue
        seen: set[str] = set()
        for row in getattr(entry, name):
            key = row.key.lower() if name == "headers" else row.key
            if not row.key.strip():
                found.append(Flaw(name, "web.edit.flaw.key", row.id))
            elif key in seen:
                found.append(Flaw(name, "web.edit.flaw.twice", row.id))
            seen.add(key)
    return found


def changes(draft: Draft) -> dict[str, Any]:
    """The params of `editSave` without the channel: where, what, and only what is different."""
    entry, was = draft.entry, draft.was
    fields: dict[str, Any] = {}
    for name in FIELDS[entry.transport]:
        now, before = getattr(entry, name), getattr(was, name)
        if name in TABLES:
            if [(row.key, row.value, row.keep) for row in now] != [(row.key, "", row.key) for row in before]:
                fields[name] = [_sent(row) for row in now] or (None if before else [])
                if fields[name] == []:
                    del fields[name]
        elif name == "args":
            if (now or ()) != (before or ()):
                fields[name] = list(now) if now else None
        elif (now or "") != (before or ""):
            fields[name] = now or None
    params: dict[str, Any] = {"preset": draft.preset, "file": draft.file, "token": draft.token, "fields": fields}
    if draft.server:
        params["server"] = draft.server
    if draft.name != draft.server:
        params["name"] = draft.name
    if entry.transport != was.transport:
        params["transport"] = entry.transport
    return params


def _sent(row: Row) -> dict[str, Any]:
    if row.keep and not row.value:
        return {"key": row.key, "keep": row.keep}
    return {"key": row.key, "value": row.value}


def as_json(entry: Entry) -> str:
    """The six fields as JSON; values that were not shown are masked."""
    found: dict[str, Any] = {"type": entry.transport}
    for name in FIELDS.get(entry.transport, ()):
        value = getattr(entry, name)
        if name in TABLES:
            value = {row.key: MASK if row.keep and not row.value else row.value for row in value}
        if value:
            found[name] = list(value) if isinstance(value, tuple) else value
    return json.dumps(found, ensure_ascii=False, indent=2)


def _from_json(text: str, was: Entry, flaws: list[Flaw]) -> Entry:
    try:
        found = json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        flaws.append(Flaw("json", "web.edit.flaw.json", values={"line": error.lineno}))
        return was
    except ValueError as error:
        flaws.append(Flaw("json", "web.edit.flaw.json_twice", values={"key": str(error)}))
        return was
    wrong = _wrong(found)
    if wrong:
        flaws.append(Flaw("json", "web.edit.flaw.json_field", values={"field": wrong}))
        return was
    return Entry(
        transport=found.get("type") or was.transport,
        command=found.get("command"),
        args=None if found.get("args") is None else tuple(found["args"]),
        cwd=found.get("cwd"),
        url=found.get("url"),
        env=_json_rows(found.get("env") or {}, was.env),
        headers=_json_rows(found.get("headers") or {}, was.headers),
    )


def _wrong(found: Any) -> str:
    """The first field that is not as it has to be; empty when all are."""
    if not isinstance(found, dict):
        return "{}"
    for key, value in found.items():
        match key:
            case "type":
                right = value in FIELDS
            case "command" | "cwd" | "url":
                right = value is None or isinstance(value, str)
            case "args":
                right = value is None or (isinstance(value, list) and all(isinstance(one, str) for one in value))
            case "env" | "headers":
                right = value is None or (isinstance(value, dict) and all(isinstance(v, str) for v in value.values()))
            case _:
                right = False
        if not right:
            return str(key)
    return ""


def _json_rows(found: Mapping[str, str], was: Sequence[Row]) -> tuple[Row, ...]:
    known = {row.key for row in was}
    return tuple(
        Row(f"r{at}", key, "", key) if value == MASK and key in known else Row(f"r{at}", key, value, "")
        for at, (key, value) in enumerate(found.items())
    )


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(key)
        found[key] = value
    return found


class Line(NamedTuple):
    """One line of a unified diff."""

    kind: str
    number: int | None
    text: str


def diff_lines(diff: str) -> list[Line]:
    """The rows of a unified diff, numbered by the new side, removed ones by the old. Each further file has a row with
    its name."""
    found: list[Line] = []
    lines = diff.splitlines()
    left = old = new = 0
    for at, line in enumerate(lines):
        if left <= 0 and line.startswith("--- ") and lines[at + 1 : at + 2] and lines[at + 1].startswith("+++ "):
            if found:
                found.append(Line("file", None, _file(line, lines[at + 1])))
            continue
        if left <= 0 and line.startswith("+++ "):
            continue
        if line.startswith("@@"):
            spans = [span.lstrip("+-").split(",") for span in line.split()[1:3]]
            (old, new), left = (int(span[0]) for span in spans), sum(int([*span, "1"][1]) for span in spans)
            found.append(Line("gap", None, ""))
            continue
        left -= 2 if line.startswith(" ") else 1 if line.startswith(("+", "-")) else 0
        if line.startswith("\\"):
            continue
        if line.startswith("+"):
            found.append(Line("added", new, line[1:]))
            new += 1
        elif line.startswith("-"):
            found.append(Line("removed", old, line[1:]))
            old += 1
        elif line.startswith(" "):
            found.append(Line("same", new, line[1:]))
            old, new = old + 1, new + 1
    return found[1:] if found and found[0].kind == "gap" else found


def _file(old: str, new: str) -> str:
    """The name in the two head lines; of a new or deleted file, in one."""
    name = new[4:] if new[4:] != "/dev/null" else old[4:]
    return name.removeprefix("a/").removeprefix("b/")
