"""The pull request of a session's branch, looked up after a turn; only where the setting is on.

Rules
* Only through the local `gh` program, which has its own login; the host holds no token and asks nobody itself.
* Told as the session's `_meta[PULL_REQUEST]`, when it is another one than before. No answer changes nothing.
* One look-up a session at a time.
"""

from typing import Final

from innkeeper.contributions.spi import Context, Contribution, TurnEnd
from innkeeper.ports.contributed import Channels, Configuration
from innkeeper.ports.pull_requests import PullRequests

SETTING: Final = "github_references"
PULL_REQUEST: Final = "x-innkeeper/pullRequest"
ENDS: Final = frozenset({"success", "cancelled", "error"})


class GithubReferences(Contribution):
    """`githubReferences`."""

    id = "githubReferences"
    order = 300

    def __init__(
        self, context: Context, channels: Channels, configuration: Configuration, requests: PullRequests
    ) -> None:
        self._channels = channels
        self._configuration = configuration
        self._requests = requests
        self._looking: set[str] = set()

    def on_turn_end(self, end: TurnEnd) -> None:
        if end.reason.kind not in ENDS or end.subagent or end.session in self._looking:
            return
        if self._configuration.setting(SETTING) is True:
            self._looking.add(end.session)
            self._channels.spawn(self._look(end.session), f"pull request of {end.session}")

    async def _look(self, session: str) -> None:
        try:
            state = self._channels.head(session) or {}
            directory = next(iter(state.get("workingDirectories") or ()), None)
            found = await self._requests.of_branch(directory) if directory is not None else None
            state = self._channels.head(session) or {}
            meta = state.get("_meta") or {}
            if found is not None and meta.get(PULL_REQUEST) != found._asdict():
                told = {**meta, PULL_REQUEST: found._asdict()}
                self._channels.dispatch(session, {"type": "session/metaChanged", "_meta": told})
        finally:
            self._looking.discard(session)
