"""The model and the agent that a message names: a stage of the send path (reference §4.1, AHP §9.7).

Rules
* A model that the provider does not have fails the turn with `modelSelectionFailed`. What it has is asked when its
  session is open: it may have said so only then. A provider that has said nothing is not judged.
* An agent that the session does not have is only told in the log, and the turn goes on without it.
"""

import logging
from collections.abc import Mapping
from typing import Any

from innkeeper.host.views import State
from innkeeper.providers.spi import Choosing, Provider, ProviderError
from innkeeper.texts import text

log = logging.getLogger(__name__)


def check_model(provider: Provider | None, message: Mapping[str, Any]) -> None:
    """Raises ProviderError `modelSelectionFailed`."""
    chosen = message.get("model")
    if not chosen or provider is None:
        return
    id = str(chosen.get("id") or "")
    listed = [str(one["id"]) for one in provider.info["models"]]
    asked: object = provider
    known = asked.takes_model(id) if isinstance(asked, Choosing) else not listed
    if id in listed or known:
        return
    name = str(provider.info["displayName"])
    why = text("error.modelSelectionFailed.meaning", provider=name, model=id[:100], known=", ".join(listed)[:500])
    raise ProviderError("modelSelectionFailed", why)


def note_agent(session: State, message: Mapping[str, Any]) -> None:
    """Tell of an agent that the session does not have."""
    uri = (message.get("agent") or {}).get("uri")
    if uri is None:
        return
    entries = session.get("customizations") or ()
    there = [*entries, *(child for entry in entries for child in entry.get("children") or ())]
    if not any(one.get("type") == "agent" and uri in (one.get("uri"), one.get("id")) for one in there):
        log.warning("a message names an agent that its session does not have: %s", str(uri)[:200])
