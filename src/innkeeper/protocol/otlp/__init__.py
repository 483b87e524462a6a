"""Telemetry of the host, a stateless channel (AHP §5)."""
