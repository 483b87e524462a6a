"""The commands on changesets and on the contents that they refer to (AHP §4)."""

from collections.abc import Mapping
from typing import Any, Final

from innkeeper.errors import HostError
from innkeeper.host.changesets.service import Changesets
from innkeeper.host.commands import Asker, Handler
from innkeeper.protocol.errors import permission_denied

Params = Mapping[str, Any]

CHANGESET_METHODS: Final = frozenset({"invokeChangesetOperation"})
"""What this adds to the host's methods; `resourceRead` is one of the standard ones."""


class ChangesetCommands:
    def __init__(self, changes: Changesets | None) -> None:
        self._changes = changes

    def table(self) -> dict[str, Handler]:
        return {"invokeChangesetOperation": self.invoke, "resourceRead": self.read}

    async def invoke(self, asker: Asker, params: Params) -> object:
        if self._changes is None:
            raise HostError("OPERATION_UNKNOWN", operation=str(params["operationId"])[:100])
        return await self._changes.invoke(params)

    async def read(self, asker: Asker, params: Params) -> object:
        """The content of one side of a change; nothing else of this machine is readable."""
        found = None if self._changes is None else await self._changes.read(params["uri"])
        if found is None:
            raise permission_denied("this host gives no access to files over AHP yet")
        return found
