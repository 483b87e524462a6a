"""Adapters of `ports.log`: memory and SQLite, under one contract suite (architecture §7).

`admission` and `window` hold the rules that both keep, and do no I/O; nothing above this package knows SQLite.
"""
