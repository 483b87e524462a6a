"""Where telemetry can be subscribed to (AHP Appendix A, `channels-otlp/state`)."""

from innkeeper.protocol.types import URI, NotRequired, ReadOnly, TypedDict


class TelemetryCapabilities(TypedDict):
    """The channels; `logs` may be a template with `{level}`."""

    logs: NotRequired[ReadOnly[URI]]
    traces: NotRequired[ReadOnly[URI]]
    metrics: NotRequired[ReadOnly[URI]]
