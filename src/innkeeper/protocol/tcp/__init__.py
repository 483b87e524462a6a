"""TCP connections through the host, `ahp-tcp:` channels without state. 1.1-dev (AHP §12.4)."""
