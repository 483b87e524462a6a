"""JSON text to message and back: decoding with limits, JSON-RPC framing, correlation of requests (architecture §2).

Knows nothing of AHP. Pure: no input or output, no clock, no randomness.
"""
