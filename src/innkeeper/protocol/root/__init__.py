"""The root channel, `ahp-root://`: agents, terminals, host configuration, the list of sessions (AHP §3)."""
