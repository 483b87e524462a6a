"""Chat contributions: behaviour that crosses a moment of a chat's life, each in a folder of its own (K1, K3)."""
