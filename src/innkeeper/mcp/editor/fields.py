"""The six fields that are edited, and where a preset has them in an entry (M8.2, M8.3).

Rules
* http has url and headers, stdio has command, args, env and cwd. Other keys are nobody's business here.
* Gemini and Codex never get a transport key: the command or the address key says it. Where a bare `url` is the old SSE
  to the dialect, an address goes to `httpUrl`.
* A preset whose command is a list has its arguments in it.
"""

from typing import Final, Literal

from innkeeper.editing.tree import Node
from innkeeper.mcp.declarations.model import KeyPath, Preset
from innkeeper.mcp.declarations.written import guess_transport
from innkeeper.ports.mcp_editing import DeclarationForm, FormRow, FormTransport

Transport = Literal["stdio", "http"]

FIELDS_OF: Final[dict[Transport, tuple[str, ...]]] = {
    "stdio": ("command", "args", "env", "cwd"),
    "http": ("url", "headers"),
}
ALL: Final = (*FIELDS_OF["stdio"], *FIELDS_OF["http"])
TABLES: Final = frozenset({"env", "headers"})
HTTP_URL: Final = ("httpUrl",)


def transport_key(preset: Preset) -> KeyPath | None:
    """Where the transport is written; None where the other keys tell it (M8.3)."""
    return None if preset.dialect in ("codex", "gemini") else preset.fields.get("transport")


def transport_word(preset: Preset, transport: str) -> str | None:
    """How the preset writes a transport; None when it cannot."""
    return next((word for word, meaning in preset.transports.items() if meaning == transport), None)


def address_path(preset: Preset, entry: Node | None) -> KeyPath | None:
    """Where an address goes: where it is, unless that would be read as SSE."""
    if preset.dialect != "gemini":
        return preset.fields.get("url")
    if entry is not None and entry.get("httpUrl") is not None:
        return HTTP_URL
    stated = entry is not None and _stated(preset, entry) == "http"
    return preset.fields.get("url") if stated or preset.bare_url == "http" else HTTP_URL


def field_path(preset: Preset, name: str, entry: Node | None) -> KeyPath | None:
    if name == "url":
        return address_path(preset, entry)
    if name == "args" and preset.command_list:
        return preset.fields.get("command")
    return preset.fields.get(name)


def paths_of(preset: Preset, name: str) -> tuple[KeyPath, ...]:
    """Every place at which an entry may have the field."""
    path = preset.fields.get(name)
    found = () if path is None else (path,)
    return (*found, HTTP_URL) if name == "url" and preset.dialect == "gemini" else found


def form_of(preset: Preset, entry: Node, *, reveal: bool) -> DeclarationForm:
    """What the entry says of the six fields. `reveal` gives the values of env and headers."""
    unreadable: list[str] = []
    command, args = _command(preset, entry, unreadable)
    known = {path[0] for name in ALL for path in paths_of(preset, name)} | {(transport_path(preset) or ("",))[0]}
    return DeclarationForm(
        transport=transport_of(preset, entry),
        command=command,
        args=args,
        cwd=_text(preset, entry, "cwd", unreadable),
        url=_text(preset, entry, "url", unreadable),
        env=_rows(preset, entry, "env", unreadable, reveal=reveal),
        headers=_rows(preset, entry, "headers", unreadable, reveal=reveal),
        others=tuple(member.key for member in entry.members if member.key not in known),
        unreadable=tuple(unreadable),
    )


def transport_of(preset: Preset, entry: Node) -> FormTransport:
    return guess_transport(preset, entry)


def transport_path(preset: Preset) -> KeyPath | None:
    """Where an entry may state its transport, whether it is ever written or not."""
    return preset.fields.get("transport")


def _stated(preset: Preset, entry: Node) -> str | None:
    path = transport_path(preset)
    node = None if path is None else entry.at(path)
    return None if node is None else preset.transports.get(str(node.value))


def _command(preset: Preset, entry: Node, unreadable: list[str]) -> tuple[str | None, tuple[str, ...] | None]:
    if not preset.command_list:
        return _text(preset, entry, "command", unreadable), _texts(preset, entry, "args", unreadable)
    words = _texts(preset, entry, "command", unreadable)
    return (words[0], words[1:]) if words else (None, None)


def _text(preset: Preset, entry: Node, name: str, unreadable: list[str]) -> str | None:
    path = field_path(preset, name, entry)
    node = None if path is None else entry.at(path)
    if name == "url" and node is None:
        node = next((found for path in paths_of(preset, name) if (found := entry.at(path)) is not None), None)
    if node is None:
        return None
    if node.kind != "string":
        unreadable.append(name)
        return None
    return str(node.value)


def _texts(preset: Preset, entry: Node, name: str, unreadable: list[str]) -> tuple[str, ...] | None:
    path = preset.fields.get(name)
    node = None if path is None else entry.at(path)
    if node is None:
        return None
    if node.kind != "array" or any(item.kind != "string" for item in node.items):
        unreadable.append(name)
        return None
    return tuple(str(item.value) for item in node.items)


def _rows(preset: Preset, entry: Node, name: str, unreadable: list[str], *, reveal: bool) -> tuple[FormRow, ...] | None:
    path = preset.fields.get(name)
    node = None if path is None else entry.at(path)
    if node is None:
        return None
    if node.kind != "object" or any(member.value.kind not in ("string", "number") for member in node.members):
        unreadable.append(name)
        return None
    return tuple(FormRow(member.key, str(member.value.value) if reveal else None) for member in node.members)
