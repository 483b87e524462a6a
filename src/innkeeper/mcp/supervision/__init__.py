"""Keeping connections of project servers: when to try again, when to pause, how to tell that one is gone (M7)."""
