"""Adapters of the machine: processes now; files, watches, git and terminals beside them (architecture §2)."""
