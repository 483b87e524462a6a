"""Comments on files, one channel a session (AHP §3)."""
