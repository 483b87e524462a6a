"""Notifications of the root channel, to subscribers, never replayed (AHP §5)."""

from innkeeper.protocol.session.state import PartialSessionSummary, SessionSummary
from innkeeper.protocol.types import URI, NotRequired, ReadOnly, TypedDict


class SessionAddedParams(TypedDict):
    """A session exists."""

    channel: ReadOnly[URI]
    summary: ReadOnly[SessionSummary]


class SessionRemovedParams(TypedDict):
    """A session is gone."""

    channel: ReadOnly[URI]
    session: ReadOnly[URI]


class SessionSummaryChangedParams(TypedDict):
    """Members of a summary changed; never `resource`, `provider`, `createdAt`."""

    channel: ReadOnly[URI]
    session: ReadOnly[URI]
    changes: ReadOnly[PartialSessionSummary]


class ProgressParams(TypedDict):
    """How far the work behind a token is; never goes back, ends with `progress` equal to `total`."""

    channel: ReadOnly[URI]
    progressToken: ReadOnly[str]
    progress: ReadOnly[int]
    total: NotRequired[ReadOnly[int]]
    message: NotRequired[ReadOnly[str]]
