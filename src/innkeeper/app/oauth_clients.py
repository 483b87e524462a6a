"""The operator's registered OAuth clients, joined with their secrets (M2.5, M9.6).

Rules
* A client stands for the servers at its `url` and below it; of several the longest `url` counts.
* A secret is the value of an input. One that names an input without a value is not used: never with an empty secret.
"""

import logging
from collections.abc import Callable, Mapping

from innkeeper.mcp.oauth.values import OAuthClient, covers
from innkeeper.settings.config import Settings

log = logging.getLogger(__name__)


def registered_clients(settings: Settings, inputs: Mapping[str, str]) -> Callable[[str], OAuthClient | None]:
    """The client for the server at an address; None where none is registered."""
    found: list[tuple[str, OAuthClient]] = []
    for entry in settings.oauth_clients:
        name = entry.get("secret_input")
        secret = None if name is None else inputs.get(name)
        if name is not None and not secret:
            log.warning("the OAuth client %s is not used: its input %s has no value", entry["client_id"], name)
            continue
        scopes = tuple(entry.get("scopes", ()))
        client = OAuthClient(entry["client_id"], secret, entry.get("callback_port") or None, scopes)
        found.append((entry["url"], client))
    found.sort(key=lambda pair: len(pair[0]), reverse=True)
    return lambda url: next((client for place, client in found if covers(place, url)), None)
