"""Commands on terminals (AHP §4); both answer `null`."""

from innkeeper.protocol.common.params import BaseParams
from innkeeper.protocol.terminal.state import TerminalClaim
from innkeeper.protocol.types import URI, NotRequired, ReadOnly


class CreateTerminalParams(BaseParams):
    """`channel` is the URI the new terminal gets."""

    claim: ReadOnly[TerminalClaim]
    name: NotRequired[ReadOnly[str]]
    cwd: NotRequired[ReadOnly[URI]]
    cols: NotRequired[ReadOnly[int]]
    rows: NotRequired[ReadOnly[int]]


class DisposeTerminalParams(BaseParams):
    """Kills the process of the terminal `channel`."""
