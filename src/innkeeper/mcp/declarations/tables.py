"""The servers table of a parsed file (M1.1, M1.4)."""

from innkeeper.editing.tree import Document, Member, Node
from innkeeper.mcp.declarations.files import Refused
from innkeeper.mcp.declarations.model import KeyPath, Preset
from innkeeper.mcp.declarations.presets import TABLE_KEYS

TOP_LEVEL = "(top level)"


def servers_table(document: Document, preset: Preset) -> Node | None:
    """The table, or None for a file that need not have one. Raises Refused for the whole file."""
    root = document.root
    if root.kind != "object":
        raise Refused("FILE_NOT_OBJECT")
    present: list[Node] = []
    for path in preset.tables:
        found = _follow(document, root, path)
        if found is not None:
            present.append(found)
    if len(present) > 1:
        raise Refused("BOTH_TABLES", _line(document, present[-1]))
    if not present:
        _look_elsewhere(document, preset)
        return None
    if present[0].kind != "object":
        raise Refused("SERVERS_NOT_TABLE", _line(document, present[0]), _shown(preset.tables))
    return present[0]


def repeated_lines(document: Document, table: Node) -> list[tuple[Member, tuple[int, ...]]]:
    """Each name once, in file order; with the lines of all when it stands there more than once."""
    lines: dict[str, list[int]] = {}
    kept: dict[str, Member] = {}
    for member in table.members:
        lines.setdefault(member.key, []).append(document.position(member.start)[0] + 1)
        kept[member.key] = member
    return [(member, tuple(lines[key]) if len(lines[key]) > 1 else ()) for key, member in kept.items()]


def _follow(document: Document, root: Node, path: KeyPath) -> Node | None:
    node = root
    for depth, key in enumerate(path):
        found = [member for member in node.members if member.key == key]
        if not found:
            return None
        if len(found) > 1:
            raise Refused("DUPLICATE_KEY", document.position(found[-1].start)[0] + 1, ".".join(path[: depth + 1]))
        node = found[0].value
    return node


def _look_elsewhere(document: Document, preset: Preset) -> None:
    """Names the key under which the servers seem to stand instead. A settings file without servers is none of that."""
    expected = _shown(preset.tables)
    for member in document.root.members:
        wrong = member.key in TABLE_KEYS and (preset.table_required or _holds_servers(member.value, preset))
        if wrong and (member.key,) not in preset.tables:
            raise Refused("SERVERS_WRONG_KEY", _line(document, member.value), f"{member.key} → {expected}")
    if any(_is_server(member.value, preset) for member in document.root.members) and () not in preset.tables:
        raise Refused("SERVERS_WRONG_KEY", 1, f"{TOP_LEVEL} → {expected}")
    if preset.table_required:
        raise Refused("SERVERS_MISSING", 0, expected)


def _holds_servers(node: Node, preset: Preset) -> bool:
    return any(_is_server(found, preset) for found in (*(m.value for m in node.members), *node.items))


def _is_server(node: Node, preset: Preset) -> bool:
    paths = [preset.fields[name] for name in ("command", "url") if name in preset.fields]
    return any(node.at(path) is not None for path in paths if path)


def _line(document: Document, node: Node) -> int:
    return document.position(node.start)[0] + 1


def _shown(tables: tuple[KeyPath, ...]) -> str:
    return " | ".join(".".join(path) or TOP_LEVEL for path in tables)
