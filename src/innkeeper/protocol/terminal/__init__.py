"""A terminal and its output (AHP §7)."""
