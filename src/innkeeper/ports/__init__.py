"""What the inside needs from the outside: Protocols and plain values, nothing else (architecture §2).

A module here does no I/O and holds no state beyond values; each Protocol has an in-memory twin and one contract
suite that every adapter passes (architecture §3.11).
"""
