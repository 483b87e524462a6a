"""The list of sessions as `listSessions` and its notifications say it (AHP §4, §5). Pure.

Rules
* A summary is a value; a change makes another one. What a notification names and the list does not have is ignored,
  since the next load has it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

Summary = Mapping[str, Any]


class SessionIndex:
    """Summaries by URI."""

    def __init__(self) -> None:
        self._summaries: dict[str, Summary] = {}
        self._removed: set[str] = set()

    def all(self) -> list[Summary]:
        """All, last changed first."""
        return sorted(self._summaries.values(), key=lambda one: str(one.get("modifiedAt", "")), reverse=True)

    def get(self, uri: str) -> Summary | None:
        return self._summaries.get(uri)

    def was_removed(self, uri: str) -> bool:
        """The session was there and is deleted."""
        return uri in self._removed

    def replace(self, summaries: Iterable[Summary]) -> None:
        """The whole list, as it was read."""
        self._summaries = {str(one["resource"]): one for one in summaries}

    def take(self, method: str, params: Mapping[str, Any]) -> bool:
        """Applies a notification; whether it changed the list."""
        match method:
            case "root/sessionAdded":
                summary = params["summary"]
                self._summaries[str(summary["resource"])] = summary
            case "root/sessionRemoved":
                self._removed.add(str(params["session"]))
                return self._summaries.pop(str(params["session"]), None) is not None
            case "root/sessionSummaryChanged":
                uri = str(params["session"])
                if uri not in self._summaries:
                    return False
                merged = {**self._summaries[uri], **params["changes"]}
                self._summaries[uri] = {name: value for name, value in merged.items() if value is not None}
            case _:
                return False
        return True
