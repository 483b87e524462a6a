"""From the text of a file to its tree, by format (M1.3, M2.1). Never raises anything but FormatError."""

from innkeeper.editing.jsonc.scanner import JsoncError
from innkeeper.editing.jsonc.scanner import parse as parse_jsonc
from innkeeper.editing.tree import Document, FormatError, line_of
from innkeeper.mcp.declarations.model import Format


def parse(text: str, format: Format) -> Document:
    """Raises FormatError. `json` and `jsonc` are read by one scanner; `json` refuses what strict JSON has not."""
    if format == "toml":
        from innkeeper.mcp.declarations.toml import parse as parse_toml

        return parse_toml(text)
    if format == "yaml":
        from innkeeper.mcp.declarations.yaml import parse as parse_yaml

        return parse_yaml(text)
    try:
        document = parse_jsonc(text)
    except JsoncError as error:
        line = 0 if error.code == "FILE_EMPTY" else line_of(text, error.offset)
        hint = _hint(text, error.offset) if error.code == "FILE_SYNTAX" else ""
        raise FormatError(error.code, line, hint) from None
    if format == "json" and not document.plain_json:
        raise FormatError("FILE_SYNTAX", 0, "strictJson")
    return document


def _hint(text: str, offset: int) -> str:
    rest = text[offset : offset + 7]
    if rest.startswith("#"):
        return "hashComment"
    if rest.startswith(("<<<<<<<", "=======", ">>>>>>>")):
        return "mergeConflict"
    return "json5" if rest[:1] == "'" or rest[:1].isalpha() or rest.startswith(("_", "$")) else ""
