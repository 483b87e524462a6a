"""Command lines of a shell: read by a grammar, judged command by command (K16)."""
