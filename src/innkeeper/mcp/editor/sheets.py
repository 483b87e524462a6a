"""One declaration file as the editor sees it: content, places, the servers table (M8.1).

Rules
* Read like the loader reads: the same steps below the workspace, the same scanner, the same limit.
* A file that is not there, or has nothing but comments, is a sheet without a document: a first server can be put there.
* What the loader refuses as a whole is refused here too, with its code and line; a table that is missing is none of it.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from innkeeper.editing.engine import Format
from innkeeper.editing.jsonc.front import JSONC
from innkeeper.editing.replacing import Content
from innkeeper.editing.toml.front import TOML
from innkeeper.editing.tree import Document, FormatError, Member, Node
from innkeeper.editing.yaml.front import YAML
from innkeeper.mcp.declarations import files
from innkeeper.mcp.declarations.files import Refused, inside
from innkeeper.mcp.declarations.formats import parse
from innkeeper.mcp.declarations.model import Format as FormatName
from innkeeper.mcp.declarations.model import KeyPath, Preset
from innkeeper.mcp.editor.refusals import EditRefused, refused

SYNTAXES: Final[dict[FormatName, Format]] = {"json": JSONC, "jsonc": JSONC, "toml": TOML, "yaml": YAML}


@dataclass(frozen=True, slots=True)
class Target:
    """A file of a preset, relative to the workspace."""

    preset: Preset
    file: str


@dataclass(frozen=True, slots=True)
class Sheet:
    """`table` is where servers stand, or would; `servers` the table, if there is one."""

    target: Target
    content: Content
    document: Document | None
    table: KeyPath
    servers: Node | None

    @property
    def file(self) -> str:
        return self.target.file

    def member(self, name: str) -> Member | None:
        """The entry of that name. Raises EditRefused DUPLICATE_KEY when there are several."""
        found = [member for member in (self.servers.members if self.servers else ()) if member.key == name]
        if len(found) > 1:
            raise EditRefused("DUPLICATE_KEY", self.file, line=self.line(found[-1]), server=name, detail=name)
        return found[0] if found else None

    def require(self, name: str) -> Member:
        """Raises EditRefused EDIT_NO_SERVER."""
        found = self.member(name)
        if found is None:
            raise EditRefused("EDIT_NO_SERVER", self.file, server=name)
        return found

    def line(self, member: Member) -> int:
        """From 1."""
        assert self.document is not None
        return self.document.position(member.start)[0] + 1


def read_sheet(workspace: str, target: Target, limit: int) -> Sheet:
    """Raises EditRefused."""
    try:
        found = files.read(workspace, inside(workspace, target.file), limit)
        content = Content(None if found is None else found.content)
        return sheet_of(target, content)
    except Refused as error:
        raise refused(error, target.file) from None


def sheet_of(target: Target, content: Content) -> Sheet:
    """The sheet of a content. Raises EditRefused."""
    empty = Sheet(target, content, None, target.preset.tables[0], None)
    if content.data is None:
        return empty
    try:
        document = _parsed(content.data, target.preset.format)
    except FormatError as error:
        if error.code == "FILE_EMPTY":
            return empty
        raise EditRefused(error.code, target.file, line=error.line, hint=error.hint) from None
    except Refused as error:
        raise refused(error, target.file) from None
    table, servers = _servers(target, document)
    return Sheet(target, content, document, table, servers)


@lru_cache(maxsize=2)
def _parsed(data: bytes, format: FormatName) -> Document:
    """One edit looks at the old and the new content several times."""
    return parse(files.decode(data), format)


def forget_large() -> None:
    """What was parsed is let go, so that no large file stays in memory after its edit."""
    _parsed.cache_clear()


def _servers(target: Target, document: Document) -> tuple[KeyPath, Node | None]:
    def fail(code: str, node: Node, detail: str = "") -> EditRefused:
        return EditRefused(code, target.file, line=document.position(node.start)[0] + 1, detail=detail)

    if document.root.kind != "object":
        raise fail("FILE_NOT_OBJECT", document.root)
    present = [(path, node) for path in target.preset.tables if (node := document.root.at(path)) is not None]
    if len(present) > 1:
        raise fail("BOTH_TABLES", present[1][1])
    if not present:
        return target.preset.tables[0], None
    path, node = present[0]
    if node.kind != "object":
        raise fail("SERVERS_NOT_TABLE", node, ".".join(path))
    return path, node
