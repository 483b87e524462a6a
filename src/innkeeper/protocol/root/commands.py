"""Commands of the root channel (AHP §4)."""

from collections.abc import Sequence

from innkeeper.protocol.common.params import PaginatedParams, PaginatedResult, RootParams
from innkeeper.protocol.session.state import SessionConfigSchema, SessionSummary
from innkeeper.protocol.types import URI, JsonObject, NotRequired, ReadOnly, TypedDict


class ListSessionsParams(RootParams, PaginatedParams):
    """A page of the sessions, latest change first."""


class ListSessionsResult(PaginatedResult):
    """The page."""

    items: ReadOnly[Sequence[SessionSummary]]


class ResolveSessionConfigParams(RootParams):
    """What can be configured for such a session, given the values so far."""

    provider: NotRequired[ReadOnly[str]]
    workingDirectory: NotRequired[ReadOnly[URI]]
    config: NotRequired[ReadOnly[JsonObject]]


class ResolveSessionConfigResult(TypedDict):
    """The whole schema, and the values with defaults filled in."""

    schema: ReadOnly[SessionConfigSchema]
    values: ReadOnly[JsonObject]


class SessionConfigValueItem(TypedDict):
    """A value to choose."""

    value: ReadOnly[str]
    label: ReadOnly[str]
    description: NotRequired[ReadOnly[str]]


class SessionConfigCompletionsParams(RootParams):
    """Values for an `enumDynamic` property that match `query`."""

    provider: NotRequired[ReadOnly[str]]
    workingDirectory: NotRequired[ReadOnly[URI]]
    config: NotRequired[ReadOnly[JsonObject]]
    property: ReadOnly[str]
    query: NotRequired[ReadOnly[str]]


class SessionConfigCompletionsResult(TypedDict):
    """The values, best first."""

    items: ReadOnly[Sequence[SessionConfigValueItem]]
