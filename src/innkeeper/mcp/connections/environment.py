"""The environment of a declared server (M2.8): an allow-list of the host's own, then the declared values."""

from collections.abc import Mapping

from innkeeper.ports.environment import inherited


def child_environment(host: Mapping[str, str], declared: Mapping[str, str]) -> dict[str, str]:
    """Exactly what the child gets."""
    return {**inherited(host), **declared}
