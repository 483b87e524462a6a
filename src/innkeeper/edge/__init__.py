"""How clients reach the host: WebSocket on TCP and on a Unix socket, stdio, in memory (AHP §1; architecture §2).

Everything here implements the host's `Peer` and calls its `Link`; nothing here knows what a message means.
"""
