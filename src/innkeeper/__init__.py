"""Innkeeper: an agent host that speaks AHP 1.0. Architecture: docs/architecture.md."""
