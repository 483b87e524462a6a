"""The AHP engine: channels, order, replay, connections; events in, effects out; no I/O (architecture §2, §3.1)."""
