"""Joining a host, and serving it (architecture §3.9). `compose` constructs, `serve` runs; import what is needed, when
it is needed: starting the command line must not pay for a host.
"""
