"""Terminals of this machine: the person's shell on a pseudo-terminal, instructed to mark what it does."""

from innkeeper.workspace.terminals.terminals import LocalTerminals

__all__ = ["LocalTerminals"]
