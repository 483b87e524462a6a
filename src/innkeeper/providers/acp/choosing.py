"""What an agent offers to choose in one of its sessions, and what is chosen there: its mode and model. Pure.

Rules
* What the agent does not offer is not set. Of two ways to set a mode, the newer one of the protocol is gone.
* The session's mode `plan` is the agent's own plan mode, whose id some write as an address.
* Nothing wanted is what the session began with. One that is taken up in its plan mode began with the first other one.
* What the agent changes by itself counts.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

MODE: Final = "mode"
PLAN: Final = "plan"

Options = Mapping[str, Any]
"""The answer to a new or loaded session."""


class Step(NamedTuple):
    """What to set: an option of the session, or its mode where `option` is None."""

    option: str | None
    value: str


class Offered:
    """Of one session of the agent. `first_mode` is the mode to begin with, where the agent's own is not wanted."""

    def __init__(self, options: Options, first_mode: str | None = None) -> None:
        found = [one for one in options.get("configOptions") or () if one.get("category")]
        self._options = {str(one["category"]): str(one.get("id")) for one in reversed(found)}
        self._values = {str(one["category"]): [id for id, _ in entries(one)] for one in reversed(found)}
        self._now = {str(one["category"]): str(one.get("currentValue")) for one in reversed(found)}
        modes = options.get("modes") or {}
        if MODE not in self._values and modes:
            self._values[MODE] = [id for id, _ in modes_of(options)]
            self._now[MODE] = str(modes.get("currentModeId"))
        self._first = dict(self._now)
        offered = self._values.get(MODE, [])
        if first_mode in offered:
            self._first[MODE] = str(first_mode)
        elif self.plan is not None and self._first[MODE] == self.plan:
            self._first[MODE] = next((id for id in offered if id != self.plan), self.plan)

    @property
    def plan(self) -> str | None:
        """The agent's plan mode."""
        return next((id for id in self._values.get(MODE, ()) if id == PLAN or id.endswith(f"#{PLAN}")), None)

    def step(self, category: str, wanted: str | None) -> Step | None:
        """None where nothing has to be set, or can be."""
        value = self._first.get(category) if wanted is None else wanted
        if category == MODE and wanted == PLAN:
            value = self.plan
        if value is None or value == self._now.get(category) or value not in self._values.get(category, ()):
            return None
        return Step(self._options.get(category), value)

    def was_set(self, category: str, value: str) -> None:
        self._now[category] = value

    def heard(self, update: Mapping[str, Any]) -> None:
        """News of the session: the agent may change its mode by itself."""
        match update:
            case {"sessionUpdate": "current_mode_update", "currentModeId": mode}:
                self._now[MODE] = str(mode)
            case {"sessionUpdate": "config_option_update", "configOptions": options}:
                self._now |= {str(one.get("category")): str(one.get("currentValue")) for one in options}


def entries(option: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Ids and names of the values of an option, grouped or not."""
    choices: Sequence[Mapping[str, Any]] = option.get("options") or ()
    for one in choices:
        if "value" in one:
            yield str(one["value"]), str(one.get("name") or one["value"])
        else:
            yield from entries(one)


def modes_of(options: Options) -> Iterator[tuple[str, str]]:
    for mode in (options.get("modes") or {}).get("availableModes") or ():
        yield str(mode.get("id")), str(mode.get("name") or mode.get("id"))
