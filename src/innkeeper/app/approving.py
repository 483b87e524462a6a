"""What approvals are composed with: paths of this machine, the operator's own rules, the host's layer (§5.6, §5.11)."""

from collections.abc import Callable, Mapping

from innkeeper.host.approval import Tables
from innkeeper.host.approvals import Approving
from innkeeper.ports.paths import PathFacts
from innkeeper.settings.config import Settings


def approving(
    settings: Settings,
    environment: Mapping[str, str],
    paths: PathFacts,
    attachment_area: str | None,
    folder_of: Callable[[str], str] | None = None,
) -> Approving:
    """Of the operator's settings, where the host runs."""
    own = settings.approvals
    return Approving(
        paths=paths,
        home=environment.get("HOME"),
        attachment_area=attachment_area,
        folder_of=folder_of,
        tables=Tables(own.commands, own.files, own.shell),
        values={"permissions": {"allow": list(own.allow), "deny": list(own.deny)}},
        managed=frozenset(own.ask),
    )
