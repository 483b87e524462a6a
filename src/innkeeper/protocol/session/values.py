"""Small values that chats and automations share with sessions. Part of `session.state`."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, TypeAlias

from innkeeper.protocol.types import URI, Meta, NotRequired, Open, ReadOnly, TypedDict


class ProjectInfo(TypedDict):
    """The project a session belongs to."""

    uri: ReadOnly[URI]
    displayName: ReadOnly[str]


class ChangesSummary(TypedDict):
    """Lines and files changed, in total."""

    additions: NotRequired[ReadOnly[int]]
    deletions: NotRequired[ReadOnly[int]]
    files: NotRequired[ReadOnly[int]]


class AgentSelection(TypedDict):
    """A custom agent, by the `uri` of its customization."""

    uri: ReadOnly[URI]


class ToolAnnotations(TypedDict):
    """MCP's hints about a tool."""

    title: NotRequired[ReadOnly[str]]
    readOnlyHint: NotRequired[ReadOnly[bool]]
    destructiveHint: NotRequired[ReadOnly[bool]]
    idempotentHint: NotRequired[ReadOnly[bool]]
    openWorldHint: NotRequired[ReadOnly[bool]]


class ToolObjectSchema(TypedDict):
    """The JSON Schema of a tool's input or output, always an object's."""

    type: ReadOnly[Literal["object"]]
    properties: NotRequired[ReadOnly[Mapping[str, object]]]
    required: NotRequired[ReadOnly[Sequence[str]]]


class ToolDefinition(TypedDict):
    """A tool that a client or the host offers; all names share one flat space (AHP §9.2)."""

    name: ReadOnly[str]
    title: NotRequired[ReadOnly[str]]
    description: NotRequired[ReadOnly[str]]
    inputSchema: NotRequired[ReadOnly[ToolObjectSchema]]
    outputSchema: NotRequired[ReadOnly[ToolObjectSchema]]
    annotations: NotRequired[ReadOnly[ToolAnnotations]]
    _meta: NotRequired[ReadOnly[Meta]]


ArtifactKind: TypeAlias = Literal["resource"] | str
ArtifactRelationKind: TypeAlias = Literal["created", "referenced", "derivedFrom"] | str


class ArtifactRelation(TypedDict):
    """How a session, or one chat of it, came to an artifact. 1.1-dev."""

    kind: ReadOnly[ArtifactRelationKind]
    chat: NotRequired[ReadOnly[URI]]


class ResourceArtifact(TypedDict):
    """Something a session made or used; `uri` is its key. 1.1-dev (AHP §12.2)."""

    type: ReadOnly[Literal["resource"]]
    uri: ReadOnly[URI]
    label: ReadOnly[str]
    displayKind: NotRequired[ReadOnly[str]]
    contentType: NotRequired[ReadOnly[str]]
    sizeHint: NotRequired[ReadOnly[int]]
    nonce: NotRequired[ReadOnly[str]]
    relations: ReadOnly[Sequence[ArtifactRelation]]
    _meta: NotRequired[ReadOnly[Meta]]


Artifact: TypeAlias = Annotated[ResourceArtifact, Open("type")]
