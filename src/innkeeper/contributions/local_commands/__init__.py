"""Messages that are commands of the host run there, and reach no agent (K13; reference §3.2).

Rules
* Comes before admission, so that `/rename` works in an archived or a read-only conversation. What may not run there is
  refused here: it is no message for an agent, whatever comes after.
"""

from innkeeper.contributions.spi import Context, Contribution, Handled, IncomingRequest, Reject
from innkeeper.ports.local_commands import LocalCommands as Commands
from innkeeper.ports.local_commands import LocalRequest


class LocalCommands(Contribution):
    """`localCommand`."""

    id = "localCommand"
    order = 50

    def __init__(self, context: Context, commands: Commands) -> None:
        self._commands = commands

    def on_incoming_request(self, request: IncomingRequest) -> Handled | Reject | None:
        claim = self._commands.claims(LocalRequest(request.session, request.chat, request.turn_id, request.message))
        if claim is None:
            return None
        return Handled(claim.command) if claim.refused is None else Reject(claim.refused)
