"""Values, commands and envelopes that no single channel owns (AHP §2–§6)."""
