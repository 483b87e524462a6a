"""Envelopes and notifications as bytes, made once (AHP §5, architecture §3.5)."""

from innkeeper.engine.effects import Delta, Frame, JsonObject, Origin
from innkeeper.wire.json import encode

_HEAD = b'{"jsonrpc":"2.0","method":"action","params":'


def encode_envelope(
    channel: str, action: JsonObject, seq: int, origin: Origin | None, rejection: str | None = None
) -> bytes:
    """The `ActionEnvelope` object; `origin` is left out for an action of the host."""
    envelope: dict[str, object] = {"channel": channel, "action": action, "serverSeq": seq}
    if origin is not None:
        envelope["origin"] = {"clientId": origin.client_id, "clientSeq": origin.client_seq}
    if rejection is not None:
        envelope["rejectionReason"] = rejection
    return encode(envelope)


def action_frame(body: bytes, delta: Delta | None = None) -> Frame:
    """The `action` notification around an encoded envelope."""
    return Frame(_HEAD + body + b"}", delta)
