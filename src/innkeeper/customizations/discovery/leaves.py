"""Agents, skills, prompts and rules out of the text of one file (C7.1, C7.2). Pure; never raises.

Rules
* A file that cannot be read as text still gives an item, in error, under the name that its place gives it.
* A field of the wrong form is left out and the item degraded; fields that are not ours are nobody's business here.
* A model is the first of a list; `infer` is the older, inverted form of `disable-model-invocation` and wins over it.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, assert_never

from innkeeper.customizations.discovery import front_matter
from innkeeper.customizations.discovery.faults import failed, loaded_with
from innkeeper.customizations.discovery.front_matter import FrontMatter
from innkeeper.customizations.discovery.items import (
    DiscoveredAgent,
    DiscoveredChild,
    DiscoveredPrompt,
    DiscoveredRule,
    DiscoveredSkill,
)
from innkeeper.customizations.discovery.limits import LIST_ITEMS, NAME_CHARACTERS, TEXT_CHARACTERS, TOML_CHARACTERS
from innkeeper.customizations.discovery.plain_yaml import Value, normalized
from innkeeper.protocol.session.state import CustomizationLoadState

LeafType: TypeAlias = Literal["agent", "skill", "prompt", "rule"]
Syntax: TypeAlias = Literal["markdown", "toml"]

_BOOLEANS: Final = {"true": True, "false": False}
_GLOB_KEYS: Final = ("globs", "applyto", "paths")


@dataclass(frozen=True, slots=True)
class Subject:
    """Which file it is: what it is published as, and the name that its place gives it. `always`: whether a rule at
    this place applies always where its file does not say (None: the place does not decide). `own_name`: whether the
    file may give another name."""

    uri: str
    name: str
    always: bool | None = None
    own_name: bool = True


@dataclass(slots=True)
class _Fields:
    """Typed access to the fields of a file; collects what is wrong with them."""

    values: Mapping[str, Value]
    problems: list[str] = field(default_factory=list)

    def text(self, key: str, limit: int = TEXT_CHARACTERS) -> str | None:
        value = self.values.get(key)
        if isinstance(value, tuple):
            self.problems.append(f"{key} is not a text")
            return None
        cleaned = value.strip() if value else ""
        return cleaned[:limit] or None

    def flag(self, key: str) -> bool | None:
        value = self.values.get(key, "")
        found = _BOOLEANS.get(value.strip().lower()) if isinstance(value, str) else None
        if found is None and value != "":
            self.problems.append(f"{key} is neither true nor false")
        return found

    def items(self, key: str) -> tuple[str, ...] | None:
        """A list, or a text that commas divide; None without the field."""
        value = self.values.get(key)
        if value is None:
            return None
        parts = split_list(value) if isinstance(value, str) else value
        found = tuple(part.strip()[:TEXT_CHARACTERS] for part in parts if part.strip())
        if len(found) > LIST_ITEMS:
            self.problems.append(f"{key} has more than {LIST_ITEMS} entries")
        return found[:LIST_ITEMS]

    def name(self, subject: Subject) -> str:
        value = self.text("name", NAME_CHARACTERS + 1) if subject.own_name else None
        if value is None:
            return subject.name
        if len(value) > NAME_CHARACTERS or not value.isprintable():
            self.problems.append("name is too long or has control characters")
            return subject.name
        return value

    @property
    def load(self) -> CustomizationLoadState:
        return loaded_with(self.problems)


def read_leaf(data: bytes, type: LeafType, syntax: Syntax, subject: Subject) -> DiscoveredChild:
    """The item that a file's bytes describe."""
    text, fault = as_text(data)
    if text is None:
        return unread(type, subject, fault)
    found = front_matter.read(text) if syntax == "markdown" else _read_toml(text)
    if found.problem is not None and syntax == "toml":
        return unread(type, subject, found.problem)
    fields = _Fields(found.fields)
    if found.problem is not None:
        fields.problems.append(found.problem)
    return _MAKERS[type](fields, subject)


def unread(type: LeafType, subject: Subject, message: str) -> DiscoveredChild:
    """The item of a file that nothing could be learnt from."""
    load = failed(message)
    match type:
        case "agent":
            return DiscoveredAgent(uri=subject.uri, name=subject.name, load=load)
        case "skill":
            return DiscoveredSkill(uri=subject.uri, name=subject.name, load=load)
        case "prompt":
            return DiscoveredPrompt(uri=subject.uri, name=subject.name, load=load)
        case "rule":
            return DiscoveredRule(uri=subject.uri, name=subject.name, load=load, always_apply=subject.always)
        case _:
            assert_never(type)


def as_text(data: bytes) -> tuple[str | None, str]:
    """The text of UTF-8 with or without a mark, or None and why it is none."""
    if b"\0" in data:
        return None, "it is binary"
    try:
        return data.decode("utf-8-sig"), ""
    except UnicodeDecodeError:
        return None, "it is not UTF-8"


def split_list(text: str) -> Sequence[str]:
    """Divide at commas that are not inside of braces or parentheses, as in `src/*.{ts,tsx}`."""
    parts = [""]
    depth = 0
    for character in text:
        depth += (character in "{(") - (character in "})")
        if character == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _agent(fields: _Fields, subject: Subject) -> DiscoveredAgent:
    models = fields.items("model") or ()
    infer = fields.flag("infer")
    disable = fields.flag("disablemodelinvocation")
    return DiscoveredAgent(
        uri=subject.uri,
        name=fields.name(subject),
        description=fields.text("description"),
        model=models[0] if models else None,
        tools=fields.items("tools"),
        disable_model_invocation=disable if infer is None else not infer,
        disable_user_invocation=_inverted(fields.flag("userinvocable")),
        load=fields.load,
    )


def _skill(fields: _Fields, subject: Subject) -> DiscoveredSkill:
    return DiscoveredSkill(
        uri=subject.uri,
        name=fields.name(subject),
        description=fields.text("description"),
        disable_model_invocation=fields.flag("disablemodelinvocation"),
        disable_user_invocation=_inverted(fields.flag("userinvocable")),
        load=fields.load,
    )


def _prompt(fields: _Fields, subject: Subject) -> DiscoveredPrompt:
    return DiscoveredPrompt(
        uri=subject.uri, name=fields.name(subject), description=fields.text("description"), load=fields.load
    )


def _rule(fields: _Fields, subject: Subject) -> DiscoveredRule:
    key = next((key for key in _GLOB_KEYS if key in fields.values), "globs")
    globs = fields.items(key) or None
    always = fields.flag("alwaysapply")
    if always is None:
        always = False if globs and subject.always else subject.always
    return DiscoveredRule(
        uri=subject.uri,
        name=fields.name(subject),
        description=fields.text("description"),
        always_apply=always,
        globs=globs,
        load=fields.load,
    )


_MAKERS: Final[Mapping[LeafType, Callable[[_Fields, Subject], DiscoveredChild]]] = {
    "agent": _agent,
    "skill": _skill,
    "prompt": _prompt,
    "rule": _rule,
}


def _inverted(value: bool | None) -> bool | None:
    return None if value is None else not value


def _read_toml(text: str) -> FrontMatter:
    if len(text) > TOML_CHARACTERS:
        return FrontMatter(problem="it is too large")
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError, OverflowError):
        return FrontMatter(problem="it is not valid TOML")
    fields: dict[str, Value] = {}
    for key, value in table.items():
        if isinstance(value, bool):
            fields[normalized(key)] = str(value).lower()
        elif isinstance(value, str):
            fields[normalized(key)] = value
        elif isinstance(value, list):
            fields[normalized(key)] = tuple(item for item in value if isinstance(item, str))
    return FrontMatter(fields)
