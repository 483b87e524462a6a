"""Commands on files of the other side; both sides may send them (AHP §4). Part of `common.commands`."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from innkeeper.protocol.common.params import RootParams
from innkeeper.protocol.types import URI, NotRequired, ReadOnly, TypedDict

ContentEncoding: TypeAlias = Literal["base64", "utf-8"]
ResourceWriteMode: TypeAlias = Literal["truncate", "append", "insert"]
ResourceType: TypeAlias = Literal["file", "directory", "symlink"] | str
DirectoryEntryType: TypeAlias = Literal["file", "directory"] | str


class ResourceReadParams(RootParams):
    """Reads a file."""

    uri: ReadOnly[str]
    encoding: NotRequired[ReadOnly[ContentEncoding]]


class ResourceReadResult(TypedDict):
    """The content; binary content is base64 whatever was asked for."""

    data: ReadOnly[str]
    encoding: ReadOnly[ContentEncoding]
    contentType: NotRequired[ReadOnly[str]]


class ResourceWriteParams(RootParams):
    """Writes a file.

    `truncate` (default) keeps the bytes before `position`, `append` goes `position` bytes before the end, `insert`
    splices at `position`. `ifMatch` is an etag of `resourceResolve`.
    """

    uri: ReadOnly[URI]
    data: ReadOnly[str]
    encoding: ReadOnly[ContentEncoding]
    contentType: NotRequired[ReadOnly[str]]
    createOnly: NotRequired[ReadOnly[bool]]
    mode: NotRequired[ReadOnly[ResourceWriteMode]]
    position: NotRequired[ReadOnly[int]]
    ifMatch: NotRequired[ReadOnly[str]]


class ResourceWriteResult(TypedDict):
    """Done."""


class ResourceListParams(RootParams):
    """Lists a directory."""

    uri: ReadOnly[URI]


class DirectoryEntry(TypedDict):
    """One name in a directory."""

    name: ReadOnly[str]
    type: ReadOnly[DirectoryEntryType]


class ResourceListResult(TypedDict):
    """The names."""

    entries: ReadOnly[Sequence[DirectoryEntry]]


class ResourceCopyParams(RootParams):
    """Copies, over what is there unless `failIfExists`."""

    source: ReadOnly[URI]
    destination: ReadOnly[URI]
    failIfExists: NotRequired[ReadOnly[bool]]


class ResourceCopyResult(TypedDict):
    """Done."""


class ResourceMoveParams(RootParams):
    """Moves, over what is there unless `failIfExists`."""

    source: ReadOnly[URI]
    destination: ReadOnly[URI]
    failIfExists: NotRequired[ReadOnly[bool]]


class ResourceMoveResult(TypedDict):
    """Done."""


class ResourceDeleteParams(RootParams):
    """Deletes; a directory with entries only when `recursive`."""

    uri: ReadOnly[URI]
    recursive: NotRequired[ReadOnly[bool]]


class ResourceDeleteResult(TypedDict):
    """Done."""


class ResourceRequestParams(RootParams):
    """Asks for access; neither `read` nor `write` means read."""

    uri: ReadOnly[URI]
    read: NotRequired[ReadOnly[bool]]
    write: NotRequired[ReadOnly[bool]]


class ResourceRequestResult(TypedDict):
    """Granted."""


class ResourceResolveParams(RootParams):
    """Asks what a URI names, through links unless `followSymlinks` is false."""

    uri: ReadOnly[URI]
    followSymlinks: NotRequired[ReadOnly[bool]]


class ResourceResolveResult(TypedDict):
    """What is there: size in bytes, times ISO 8601, an etag for `ifMatch`."""

    uri: ReadOnly[URI]
    type: ReadOnly[ResourceType]
    size: NotRequired[ReadOnly[int]]
    mtime: NotRequired[ReadOnly[str]]
    ctime: NotRequired[ReadOnly[str]]
    contentType: NotRequired[ReadOnly[str]]
    etag: NotRequired[ReadOnly[str]]


class ResourceMkdirParams(RootParams):
    """Makes a directory with its parents."""

    uri: ReadOnly[URI]


class ResourceMkdirResult(TypedDict):
    """It is there."""
