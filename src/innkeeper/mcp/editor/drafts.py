"""From a draft to edits of one entry (M8.2, M8.3, M8.9). Pure.

Rules
* A field that is None or empty is cleared: its key goes. What was not sent stays.
* Switching the transport takes the other one's fields away, and writes the transport where the preset has a key for it.
* A row whose value was masked keeps the one that it has; a number stays a number as long as it is spelled the same.
* `sse` and `ws` are refused before anything is written; so is a field of the other transport.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from innkeeper.editing.edits import Delete, Edit, Path, Put, applied
from innkeeper.editing.tree import Node
from innkeeper.mcp.declarations import checks
from innkeeper.mcp.declarations.model import KeyPath, Preset
from innkeeper.mcp.editor.fields import (
    ALL,
    FIELDS_OF,
    TABLES,
    Transport,
    field_path,
    form_of,
    paths_of,
    transport_key,
    transport_of,
    transport_path,
    transport_word,
)
from innkeeper.mcp.editor.refusals import EditRefused
from innkeeper.ports.mcp_editing import DeclarationDraft, FieldValue, Keep


def check_name(name: str, file: str) -> None:
    """Raises EditRefused NAME_INVALID for what the loader takes for no name."""
    if not name or checks.check_text(name) is not None:
        raise EditRefused("NAME_INVALID", file)


def new_entry(preset: Preset, draft: DeclarationDraft, file: str, name: str) -> dict[str, Any]:
    """The data of an entry that is not there yet. Raises EditRefused."""
    data: Any = {}
    for edit in _Planner(preset, None, draft, file, name).edits():
        data = applied(data, edit)
    return dict(data)


def entry_edits(preset: Preset, entry: Node, draft: DeclarationDraft, base: Path, file: str, name: str) -> list[Edit]:
    """The edits that make an entry what the draft says; `base` leads to it. Raises EditRefused."""
    found: list[Edit] = []
    for edit in _Planner(preset, entry, draft, file, name).edits():
        path = (*base, *edit.path)
        found.append(Put(path, edit.value) if isinstance(edit, Put) else Delete(path))
    return found


class _Planner:
    def __init__(self, preset: Preset, entry: Node | None, draft: DeclarationDraft, file: str, name: str) -> None:
        self._preset = preset
        self._entry = entry
        self._fields = draft.fields
        self._file = file
        self._name = name
        for field in self._fields:
            if field not in ALL:
                raise self._refused("EDIT_FIELD", field)
        self._known = None if entry is None else transport_of(preset, entry)
        self._wanted = self._transport(draft.transport)
        if entry is not None and self._known == "sse" and self._wanted == "http" and "url" not in self._fields:
            self._fields = {**self._fields, "url": form_of(preset, entry, reveal=True).url}

    def edits(self) -> list[Put | Delete]:
        foreign = [field for field in self._fields if field not in FIELDS_OF[self._wanted]]
        for field in foreign:
            if self._fields[field] not in (None, "", [], (), {}):
                raise self._refused("EDIT_FIELD", field)
        edits = self._switch()
        if self._preset.command_list and self._wanted == "stdio":
            edits += self._command_list()
        for field in FIELDS_OF[self._wanted]:
            if field in self._fields and not (self._preset.command_list and field in ("command", "args")):
                edits += self._field(field, self._fields[field])
        return edits

    def _transport(self, stated: str | None) -> Transport:
        """The transport that the entry is to have. Raises EditRefused."""
        wanted = stated or self._known
        if stated is None and wanted in (None, "unknown"):
            wanted = "stdio" if self._fields.get("command") else "http" if self._fields.get("url") else wanted
        match wanted:
            case "stdio" | "http":
                return wanted
            case "sse":
                raise self._refused("UNSUPPORTED_SSE", "")
            case "ws":
                raise self._refused("UNSUPPORTED_WS", "")
            case None | "unknown":
                raise self._refused("TRANSPORT_MISSING", "")
        raise self._refused("TRANSPORT_UNKNOWN", "")

    def _switch(self) -> list[Put | Delete]:
        if self._known == self._wanted:
            return []
        edits: list[Put | Delete] = []
        key, stated = transport_key(self._preset), transport_path(self._preset)
        if key is not None:
            word = transport_word(self._preset, self._wanted)
            if word is None:
                raise self._refused("TRANSPORT_UNKNOWN", ".".join(key))
            edits.append(Put(key, word))
        elif self._wanted == "http" and self._preset.bare_url == "sse" and self._preset.dialect != "gemini":
            raise self._refused("UNSUPPORTED_SSE", "url")
        elif stated is not None and self._has(stated):
            edits.append(Delete(stated))
        stays = {field_path(self._preset, field, self._entry) for field in FIELDS_OF[self._wanted]}
        gone = [field for field in ALL if field not in FIELDS_OF[self._wanted]]
        gone += ["url"] if self._wanted == "http" else []
        paths = [path for field in gone for path in paths_of(self._preset, field)]
        edits += [Delete(path) for path in dict.fromkeys(paths) if path not in stays and self._has(path)]
        return edits

    def _field(self, field: str, value: FieldValue) -> list[Put | Delete]:
        path = self._path(field)
        if field in TABLES:
            return self._rows(field, path, value)
        if field == "args":
            items = self._words(field, value)
            return [Put(path, items)] if items else self._cleared(path)
        if value is None or value == "":
            return self._cleared(path)
        if not isinstance(value, str) or "\n" in value or "\r" in value:
            raise self._refused("EDIT_FIELD" if not isinstance(value, str) else "FIELD_VALUE", field)
        return [Put(path, value)]

    def _command_list(self) -> list[Put | Delete]:
        if "command" not in self._fields and "args" not in self._fields:
            return []
        path = self._path("command")
        node = None if self._entry is None else self._entry.at(path)
        known = [str(item.value) for item in node.items] if node is not None else []
        command = self._fields["command"] if "command" in self._fields else (known[0] if known else None)
        if not isinstance(command, str) or not command:
            return self._cleared(path)
        args = self._words("args", self._fields["args"]) if "args" in self._fields else known[1:]
        return [Put(path, [command, *args])]

    def _rows(self, field: str, path: KeyPath, value: FieldValue) -> list[Put | Delete]:
        if value is not None and not isinstance(value, Mapping):
            raise self._refused("EDIT_FIELD", field)
        node = None if self._entry is None else self._entry.at(path)
        known = {} if node is None else {member.key: member.value for member in node.members}
        rows = {key: self._row(field, key, row, known) for key, row in (value or {}).items()}
        if not rows:
            return self._cleared(path)
        if node is None or node.kind != "object":
            return [Put(path, rows)]
        edits: list[Put | Delete] = []
        for key, row in rows.items():
            if key not in known or not _spelled_alike(known[key], row):
                edits.append(Put((*path, key), row))
        return [*edits, *(Delete((*path, key)) for key in known if key not in rows)]

    def _row(self, field: str, key: str, value: "str | Keep", known: Mapping[str, Node]) -> Any:
        if not key or checks.check_text(key) is not None or (field == "env" and "=" in key):
            raise self._refused("EDIT_FIELD", field)
        if isinstance(value, Keep):
            if value.key not in known:
                raise self._refused("EDIT_FIELD", f"{field}.{value.key}")
            return known[value.key].plain()
        if not isinstance(value, str):
            raise self._refused("EDIT_FIELD", f"{field}.{key}")
        return value

    def _words(self, field: str, value: FieldValue) -> list[str]:
        if value is None or value == "":
            return []
        if isinstance(value, (str, Mapping)) or not isinstance(value, Sequence):
            raise self._refused("EDIT_FIELD", field)
        if not all(isinstance(item, str) for item in value):
            raise self._refused("EDIT_FIELD", field)
        return list(value)

    def _path(self, field: str) -> KeyPath:
        path = field_path(self._preset, field, self._entry)
        if not path:
            raise self._refused("EDIT_FIELD", field)
        return path

    def _cleared(self, path: KeyPath) -> list[Put | Delete]:
        return [Delete(path)] if self._has(path) else []

    def _has(self, path: KeyPath) -> bool:
        return self._entry is not None and self._entry.at(path) is not None

    def _refused(self, code: str, detail: str) -> EditRefused:
        return EditRefused(code, self._file, server=self._name, detail=detail)


def _spelled_alike(node: Node, value: Any) -> bool:
    return node.kind in ("string", "number") and (str(node.value) == value or node.plain() == value)
