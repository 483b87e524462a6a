"""The registered client that a declaration names, as far as this host can be that client (M2.2).

Rules
* Only what is run: a public client by its id, a fixed redirect port, scopes. Everything else that such a table may ask
  for (a secret in a project file, endpoints by hand, another flow) refuses the entry: nothing is passed over.
* Values are literal: a placeholder in them is not expanded, and refuses the entry.
"""

import re
from typing import Any, Final

from innkeeper.mcp.oauth.values import OAuthClient

_ID: Final = re.compile(r"[\x21-\x7e]{1,512}")
_SCOPE: Final = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,128}")
_NAMES: Final = {
    "clientId": "id",
    "client_id": "id",
    "callbackPort": "port",
    "callback_port": "port",
    "scopes": "scopes",
    "enabled": "enabled",
}
_NOT_LITERAL: Final = re.compile(r"[$%]")


def declared_client(table: object) -> OAuthClient | None:
    """None for what is not, or asks for more than, a client that this host can be."""
    if not isinstance(table, dict):
        return None
    found: dict[str, Any] = {}
    for key, value in table.items():
        name = _NAMES.get(key)
        if name is None or name in found:
            return None
        found[name] = value
    client_id, port, scopes = found.get("id"), found.get("port"), _scopes(found.get("scopes", []))
    if not isinstance(client_id, str) or not _ID.fullmatch(client_id) or _NOT_LITERAL.search(client_id):
        return None
    if port is not None and (not isinstance(port, int) or isinstance(port, bool) or not 0 < port < 65_536):
        return None
    if scopes is None or found.get("enabled", True) is not True:
        return None
    return OAuthClient(client_id, callback_port=port, scopes=scopes)


def _scopes(value: object) -> tuple[str, ...] | None:
    """A list, or a text with spaces as in OAuth itself."""
    items = value.split() if isinstance(value, str) else value
    if not isinstance(items, list):
        return None
    found = tuple(item for item in items if isinstance(item, str) and _SCOPE.fullmatch(item))
    return found if len(found) == len(items) and not any(_NOT_LITERAL.search(scope) for scope in found) else None
