"""JSON with comments: the scanner that loader and editor share, and the front end of the engine (M2.1, M8.1)."""
