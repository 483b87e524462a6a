"""The members that every request's params share (AHP §1). Part of `common.commands`, apart to avoid cycles."""

from collections.abc import Sequence
from typing import Literal

from innkeeper.protocol.types import URI, Meta, NotRequired, ReadOnly, TypedDict


class BaseParams(TypedDict):
    """Params of a request: the channel it is about, and free metadata."""

    channel: ReadOnly[URI]
    _meta: NotRequired[ReadOnly[Meta]]


class RootParams(TypedDict):
    """Params of a request about the connection or the host."""

    channel: ReadOnly[Literal["ahp-root://"]]
    _meta: NotRequired[ReadOnly[Meta]]


class AutomationsParams(TypedDict):
    """Params of a request about the catalogue of automations."""

    channel: ReadOnly[Literal["ahp-automations://"]]
    _meta: NotRequired[ReadOnly[Meta]]


class PaginatedParams(TypedDict):
    """Asks for one page; `cursor` is opaque."""

    limit: NotRequired[ReadOnly[int]]
    cursor: NotRequired[ReadOnly[str]]


class PaginatedResult(TypedDict):
    """`nextCursor` is there while more can be had."""

    nextCursor: NotRequired[ReadOnly[str]]


class GlobList(TypedDict):
    """Glob patterns."""

    items: ReadOnly[Sequence[str]]
