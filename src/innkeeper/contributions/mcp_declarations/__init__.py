"""MCP declarations at the edges of a turn (K19, M5.5, M5.7); reading and starting them is a stage of the host's.

Rules
* A turn is refused at once when a selected, required server is known to be down and its declaration is unchanged: no
  waiting for what cannot come. What is not known for sure is left to the stage, which may start it.
* What the connected servers say about their use goes to the agent with each turn.
"""

from innkeeper.contributions.spi import Addition, Context, Contribution, IncomingRequest, OutgoingTurn, Reject
from innkeeper.ports.declarations import Declarations
from innkeeper.texts import text


class McpDeclarations(Contribution):
    """`mcpDeclarations`."""

    id = "mcpDeclarations"
    order = 120

    def __init__(self, context: Context, declarations: Declarations) -> None:
        self._declarations = declarations

    def on_incoming_request(self, request: IncomingRequest) -> Reject | None:
        down = self._declarations.known_down(request.session)
        if not down:
            return None
        servers = ", ".join(f"{name} ({code})" for name, code in down)
        message = text("error.requiredServerUnavailable.meaning", servers=servers)
        return Reject({"errorType": "requiredServerUnavailable", "message": message})

    def on_outgoing_turn(self, turn: OutgoingTurn) -> Addition:
        said = self._declarations.instructions(turn.session)
        return Addition([f"The MCP server {server} says about its use:\n{words}" for server, words in said.items()])
