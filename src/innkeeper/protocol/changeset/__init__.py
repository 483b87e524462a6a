"""A set of changed files with its operations (AHP §7)."""
