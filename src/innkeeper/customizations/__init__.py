"""What a session exposes to a model, and who decides whether it is on. Pure: no I/O, no clock."""
