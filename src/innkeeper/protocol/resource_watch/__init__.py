"""A watch on files; either side can own one (AHP §4)."""
