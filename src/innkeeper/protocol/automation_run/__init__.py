"""One run of an automation (AHP §11, experimental)."""
