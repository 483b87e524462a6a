"""Notifications with telemetry, to subscribers only (AHP §5); `payload` is the body of an OTLP/JSON request."""

from innkeeper.protocol.types import URI, JsonObject, ReadOnly, TypedDict


class OtlpExportLogsParams(TypedDict):
    """Log records."""

    channel: ReadOnly[URI]
    payload: ReadOnly[JsonObject]


class OtlpExportTracesParams(TypedDict):
    """Spans."""

    channel: ReadOnly[URI]
    payload: ReadOnly[JsonObject]


class OtlpExportMetricsParams(TypedDict):
    """Measurements."""

    channel: ReadOnly[URI]
    payload: ReadOnly[JsonObject]
