"""What stands around the composer: pickers, the queue, how much context is used, why a session takes no message. Pure.

Rules
* What was picked is the draft's, since AHP keeps model and agent with the message that is written: every client of the
  person sees it, and it holds after a reload. Without a draft the latest message decides.
* The modes are the session's own configuration: every choice of words that may change while it runs.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from innkeeper.protocol.status import IS_ARCHIVED
from innkeeper.texts import Lang, text

State = Mapping[str, Any]
HOST_MODES: Final = ("autoApprove", "mode")
"""Properties of the host, whose words are in the catalogue."""


class Choice(NamedTuple):
    value: str
    label: str
    hint: str
    chosen: bool


class Group(NamedTuple):
    name: str
    """`agent`, `model`, or `config.NAME`."""
    title: str
    options: tuple[Choice, ...]


class Picker(NamedTuple):
    """A button with its list; without groups it only says what is so."""

    name: str
    label: str
    groups: tuple[Group, ...]


class Waiting(NamedTuple):
    """A message that waits."""

    id: str
    text: str
    steering: bool


def agent_of(root: State, session: State) -> State:
    """The agent of a session, as the root channel lists it."""
    agents: Sequence[State] = root.get("agents") or ()
    return next((one for one in agents if one["provider"] == session.get("provider")), {})


def spoken(chat: State) -> State:
    """The message that says what was picked: the draft, else the latest."""
    draft: State | None = chat.get("draft")
    if draft and (draft.get("model") or draft.get("agent")):
        return draft
    active = chat.get("activeTurn")
    turns: Sequence[State] = chat.get("turns") or ()
    latest = active or (turns[-1] if turns else None)
    found: State = (latest or {}).get("message") or {}
    return found


def agent_picker(agent: State, session: State, chat: State) -> Picker:
    """The agent, and the custom agents that the session has."""
    name = str(agent.get("displayName") or session.get("provider") or "")
    chosen = str((spoken(chat).get("agent") or {}).get("uri") or "")
    found = [one for top in session.get("customizations") or () for one in (top, *(top.get("children") or ()))]
    custom = [one for one in found if one.get("type") == "agent" and one.get("enabled") is not False]
    if not custom:
        return Picker("agent", name, ())
    options = [Choice("", name, "", not chosen)]
    options += [
        Choice(str(one["uri"]), str(one["name"]), str(one.get("description") or ""), one["uri"] == chosen)
        for one in custom
    ]
    label = next((option.label for option in options if option.chosen), name)
    return Picker("agent", label, (Group("agent", "", tuple(options)),))


def offered_models(agent: State) -> Sequence[State]:
    """The agent's models that policy does not rule out."""
    return [one for one in agent.get("models") or () if one.get("policyState") != "disabled"]


def model_picker(agent: State, chat: State, lang: Lang) -> Picker:
    """The models of the agent."""
    chosen = str((spoken(chat).get("model") or {}).get("id") or "")
    offered = offered_models(agent)
    label = next((str(one["name"]) for one in offered if one["id"] == chosen), "")
    if len(offered) < 2:
        return Picker("model", label or (str(offered[0]["name"]) if offered else ""), ())
    options = [Choice("", text("web.pick.default", lang=lang), "", not label)]
    options += [Choice(str(one["id"]), str(one["name"]), "", one["id"] == chosen) for one in offered]
    return Picker("model", label or text("web.pick.default_model", lang=lang), (Group("model", "", tuple(options)),))


def mode_picker(session: State, lang: Lang) -> Picker:
    """Every choice of the configuration that may change in a running session."""
    config = session.get("config") or {}
    properties: Mapping[str, State] = (config.get("schema") or {}).get("properties") or {}
    values: State = config.get("values") or {}
    groups = [
        _group(name, rule, values, lang)
        for name, rule in properties.items()
        if rule.get("enum") and rule.get("sessionMutable") and not rule.get("readOnly")
    ]
    own = [group for group in groups if group.name.removeprefix("config.") not in HOST_MODES]
    changed = [group for group in groups if _is_changed(group, properties)]
    first = (changed or own or groups)[:1]
    label = next((option.label for group in first for option in group.options if option.chosen), "")
    ordered = (*own, *(group for group in groups if group not in own))
    return Picker("mode", label or text("web.pick.mode", lang=lang), ordered)


def _group(name: str, rule: State, values: State, lang: Lang) -> Group:
    chosen = values.get(name, rule.get("default"))
    labels = list(rule.get("enumLabels") or ())
    hints = list(rule.get("enumDescriptions") or ())
    options = []
    for at, value in enumerate(rule["enum"]):
        label = str(labels[at]) if at < len(labels) else str(value)
        if name in HOST_MODES:
            label = text(f"config.{name}.{value}", lang=lang)
        options.append(Choice(str(value), label, str(hints[at]) if at < len(hints) else "", value == chosen))
    title = text(f"config.{name}.title", lang=lang) if name in HOST_MODES else str(rule.get("title") or name)
    return Group(f"config.{name}", title, tuple(options))


def _is_changed(group: Group, properties: Mapping[str, State]) -> bool:
    default = properties[group.name.removeprefix("config.")].get("default")
    return any(option.chosen and option.value != str(default) for option in group.options)


def context_used(agent: State, chat: State) -> int | None:
    """The share of the model's window that the latest request filled, in percent; None where nobody says."""
    active = chat.get("activeTurn")
    turns: Sequence[State] = chat.get("turns") or ()
    usage: State = (active or {}).get("usage") or (turns[-1].get("usage") if turns else None) or {}
    tokens = usage.get("inputTokens")
    models: Sequence[State] = agent.get("models") or ()
    named = usage.get("model") or (spoken(chat).get("model") or {}).get("id")
    model = next((one for one in models if one["id"] == named), models[0] if models else {})
    window = model.get("maxContextWindow") or model.get("maxPromptTokens")
    if not isinstance(tokens, int) or not window:
        return None
    return min(100, round(100 * tokens / int(window)))


def waiting(chat: State) -> list[Waiting]:
    """Messages that steer, then those of the queue."""
    slot = chat.get("steeringMessage")
    steering = [*([slot] if slot else []), *(chat.get("steeringMessages") or ())]
    rows = [Waiting(str(one["id"]), str(one["message"].get("text") or ""), True) for one in steering]
    queued: Sequence[State] = chat.get("queuedMessages") or ()
    return rows + [Waiting(str(one["id"]), str(one["message"].get("text") or ""), False) for one in queued]


def closed(session: State, chat: State) -> str:
    """Why no message can be sent: `archived`, `readOnly`, `failed`; empty when one can."""
    if int(session.get("status") or 0) & IS_ARCHIVED:
        return "archived"
    if chat.get("interactivity", "full") != "full":
        return "readOnly"
    return "failed" if session.get("lifecycle") == "failed" else ""
