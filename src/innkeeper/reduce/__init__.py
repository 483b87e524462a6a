"""The pure reducers of AHP: `(kind, state, action) -> state` (AHP §6, §7; architecture §3, principle 3).

Guarantees, for every action that passed the boundary check and whatever the state:

* no clock, no randomness, no input or output; the same arguments give an equal result;
* neither argument is ever changed, and everything an action does not touch keeps its identity;
* "nothing changed" is the very same state object, also for rules that say no-op and for unknown action types;
* it never raises: unknown variants, missing optional lists and parts without ids are passed over;
* `null` in an action reads as absent, and a state this package writes omits what is absent. Payloads (a message,
  a part, a value of a configuration, `_meta`) are stored as they came, unknown fields included.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from innkeeper.protocol.actions import ACTIONS
from innkeeper.protocol.channels import ChannelKind
from innkeeper.reduce.annotations import reduce_annotations
from innkeeper.reduce.automation import reduce_automation, reduce_automation_run
from innkeeper.reduce.canvas import reduce_canvas
from innkeeper.reduce.changeset import reduce_changeset
from innkeeper.reduce.chat import reduce_chat
from innkeeper.reduce.resource_watch import reduce_resource_watch
from innkeeper.reduce.root import reduce_root
from innkeeper.reduce.session import reduce_session
from innkeeper.reduce.terminal import reduce_terminal

__all__ = ["ChannelKind", "reduce"]

_REDUCERS: Mapping[ChannelKind, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        "root": reduce_root,
        "session": reduce_session,
        "chat": reduce_chat,
        "terminal": reduce_terminal,
        "changeset": reduce_changeset,
        "annotations": reduce_annotations,
        "resourceWatch": reduce_resource_watch,
        "canvas": reduce_canvas,
        "automations": reduce_automation,
        "automationRun": reduce_automation_run,
    }
)


def reduce(kind: ChannelKind, state: Mapping[str, Any], action: Mapping[str, Any]) -> Mapping[str, Any]:
    """The state of a channel of `kind` after `action`; the same object when nothing changed.

    An action type that the table of AHP does not have, or has for another kind of channel, changes nothing.
    """
    spec = ACTIONS.get(action["type"])
    if spec is None or spec.channel != kind:
        return state
    after: Mapping[str, Any] = _REDUCERS[kind](state, action)
    return after
