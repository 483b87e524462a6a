"""TOML 1.1 for the editing engine: reading, where things stand, writing a value, and the front end (M8.1, M2.1)."""
