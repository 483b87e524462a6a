"""Values that several channels share (AHP Appendix A, `common/state`).

`Snapshot` needs the states of all channels and is therefore in `common.snapshot`.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from innkeeper.protocol.types import URI, JsonPrimitive, Meta, NotRequired, ReadOnly, TypedDict


class MarkdownText(TypedDict):
    """Text to be shown as Markdown."""

    markdown: ReadOnly[str]


StringOrMarkdown: TypeAlias = str | MarkdownText
"""Plain text, or Markdown when wrapped."""


class Icon(TypedDict):
    """An image by reference; `sizes` are `48x48` or `any`."""

    src: ReadOnly[URI]
    contentType: NotRequired[ReadOnly[str]]
    sizes: NotRequired[ReadOnly[Sequence[str]]]
    theme: NotRequired[ReadOnly[Literal["light", "dark"] | str]]


class ProtectedResourceMetadata(TypedDict):
    """RFC 9728 metadata of something that wants a token; `required` absent means true (AHP §8)."""

    resource: ReadOnly[str]
    resource_name: NotRequired[ReadOnly[str]]
    authorization_servers: NotRequired[ReadOnly[Sequence[str]]]
    jwks_uri: NotRequired[ReadOnly[str]]
    scopes_supported: NotRequired[ReadOnly[Sequence[str]]]
    bearer_methods_supported: NotRequired[ReadOnly[Sequence[str]]]
    resource_signing_alg_values_supported: NotRequired[ReadOnly[Sequence[str]]]
    resource_documentation: NotRequired[ReadOnly[str]]
    resource_policy_uri: NotRequired[ReadOnly[str]]
    resource_tos_uri: NotRequired[ReadOnly[str]]
    required: NotRequired[ReadOnly[bool]]


class ConfigPropertySchema(TypedDict):
    """One configurable property, a small part of JSON Schema; `enumLabels` and `enumDescriptions` go with `enum`."""

    type: ReadOnly[Literal["string", "number", "boolean", "array", "object"] | str]
    title: ReadOnly[str]
    description: NotRequired[ReadOnly[str]]
    default: NotRequired[ReadOnly[object]]
    enum: NotRequired[ReadOnly[Sequence[JsonPrimitive]]]
    enumLabels: NotRequired[ReadOnly[Sequence[str]]]
    enumDescriptions: NotRequired[ReadOnly[Sequence[str]]]
    readOnly: NotRequired[ReadOnly[bool]]
    items: NotRequired[ReadOnly["ConfigPropertySchema"]]
    minItems: NotRequired[ReadOnly[int]]
    maxItems: NotRequired[ReadOnly[int]]
    properties: NotRequired[ReadOnly[Mapping[str, "ConfigPropertySchema"]]]
    required: NotRequired[ReadOnly[Sequence[str]]]
    additionalProperties: NotRequired[ReadOnly["ConfigPropertySchema"]]


class ConfigSchema(TypedDict):
    """The properties that a configuration may hold."""

    type: ReadOnly[Literal["object"]]
    properties: ReadOnly[Mapping[str, ConfigPropertySchema]]
    required: NotRequired[ReadOnly[Sequence[str]]]


class TextPosition(TypedDict):
    """A zero-based line and a character in UTF-16 code units."""

    line: ReadOnly[int]
    character: ReadOnly[int]


class TextRange(TypedDict):
    """From `start` up to, not including, `end`."""

    start: ReadOnly[TextPosition]
    end: ReadOnly[TextPosition]


class TextSelection(TypedDict):
    """The part of a text that a person selected."""

    range: ReadOnly[TextRange]


class ContentRef(TypedDict):
    """Content by reference, to be fetched with `resourceRead`; another `nonce` means other content."""

    uri: ReadOnly[URI]
    sizeHint: NotRequired[ReadOnly[int]]
    contentType: NotRequired[ReadOnly[str]]
    nonce: NotRequired[ReadOnly[str]]


class FileEditSide(TypedDict):
    """A file before or after an edit: where it is, and where its content can be read."""

    uri: ReadOnly[URI]
    content: ReadOnly[ContentRef]


class FileEditDiffStats(TypedDict):
    """Lines added and removed."""

    added: NotRequired[ReadOnly[int]]
    removed: NotRequired[ReadOnly[int]]


class FileEdit(TypedDict):
    """One file's change: no `before` is a creation, no `after` a deletion, two URIs a rename."""

    before: NotRequired[ReadOnly[FileEditSide]]
    after: NotRequired[ReadOnly[FileEditSide]]
    diff: NotRequired[ReadOnly[FileEditDiffStats]]


class FileEditCollection(TypedDict):
    """Edits of one step."""

    items: ReadOnly[Sequence[FileEdit]]


class UsageInfo(TypedDict):
    """Tokens of a turn or run."""

    inputTokens: NotRequired[ReadOnly[int]]
    outputTokens: NotRequired[ReadOnly[int]]
    model: NotRequired[ReadOnly[str]]
    cacheReadTokens: NotRequired[ReadOnly[int]]
    _meta: NotRequired[ReadOnly[Meta]]


class ErrorInfo(TypedDict):
    """What went wrong: a stable `errorType` for programs, a `message` for people."""

    errorType: ReadOnly[str]
    message: ReadOnly[str]
    stack: NotRequired[ReadOnly[str]]
    _meta: NotRequired[ReadOnly[Meta]]
