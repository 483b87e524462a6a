"""Hooks out of a JSON file or an inline definition (C7.1, C7.2). Pure; never raises.

Rules
* One item for each event and matcher of a file; both stand in its name, so that it survives edits of what it runs.
* A hooks file has its events below `hooks` or at the top; a settings file has them below `hooks` only.
* Known events get one spelling; others keep the one they have, since agents know more events than we do.
* `disableAllHooks` gives none. What is no command (a prompt, a request) has an item and nothing to run.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from innkeeper.customizations.discovery.items import DiscoveredHook, HookCommand
from innkeeper.customizations.discovery.limits import CHILDREN, NAME_CHARACTERS
from innkeeper.customizations.discovery.places import key_ranges
from innkeeper.wire.json import JsonError, decode
from innkeeper.wire.limits import Limits

JSON_LIMITS: Final = Limits(max_bytes=4 * 1024 * 1024, max_depth=64)

EVENTS: Final[Mapping[str, str]] = {
    "sessionstart": "SessionStart",
    "sessionend": "SessionEnd",
    "userpromptsubmit": "UserPromptSubmit",
    "userpromptsubmitted": "UserPromptSubmit",
    "pretooluse": "PreToolUse",
    "posttooluse": "PostToolUse",
    "precompact": "PreCompact",
    "subagentstart": "SubagentStart",
    "subagentstop": "SubagentStop",
    "stop": "Stop",
    "agentstop": "Stop",
    "erroroccurred": "ErrorOccurred",
}
"""Event names without case, to the one spelling."""

_PLATFORMS: Final[Mapping[str, str]] = {
    "command": "default",
    "bash": "default",
    "linux": "linux",
    "osx": "osx",
    "windows": "windows",
    "powershell": "windows",
}


@dataclass(frozen=True, slots=True)
class HookSource:
    """Where the hooks stand. `prefix` tells the files of one container apart in names; `flat` accepts events at the
    top; `tokens` are replaced in what is run."""

    uri: str
    prefix: str = ""
    flat: bool = True
    tokens: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class HooksRead:
    hooks: tuple[DiscoveredHook, ...] = ()
    problems: tuple[str, ...] = ()
    fault: str | None = None
    """The whole file could not be read."""


@dataclass(slots=True)
class _Group:
    runs: list[HookCommand] = field(default_factory=list)


def read_hooks_file(data: bytes, source: HookSource) -> HooksRead:
    try:
        value = decode(data.removeprefix(b"\xef\xbb\xbf"), JSON_LIMITS)
    except JsonError as error:
        return HooksRead(fault=str(error))
    return read_hooks(value, source, data.decode("utf-8", "replace"))


def read_hooks(value: object, source: HookSource, text: str = "") -> HooksRead:
    """The hooks of a decoded value; `text` is where it was decoded from, for lines."""
    if not isinstance(value, Mapping):
        return HooksRead(fault="it is not a JSON object")
    if value.get("disableAllHooks") is True:
        return HooksRead()
    events = value.get("hooks")
    if events is None and source.flat:
        events = {key: item for key, item in value.items() if key.lower() in EVENTS}
    if events is None:
        return HooksRead()
    if not isinstance(events, Mapping):
        return HooksRead(fault="hooks is not an object")
    return _read_events(events, source, text)


def _read_events(events: Mapping[str, object], source: HookSource, text: str) -> HooksRead:
    groups: dict[tuple[str, str | None], _Group] = {}
    written: dict[str, str] = {}
    problems: list[str] = []
    for key, entries in events.items():
        event = EVENTS.get(key.lower(), key)[:NAME_CHARACTERS]
        written.setdefault(event, key)
        if not isinstance(entries, list):
            problems.append("an event's value is not a list")
            continue
        for entry in entries[:CHILDREN]:
            if not isinstance(entry, Mapping):
                problems.append("a hook is not an object")
                continue
            matcher = entry.get("matcher")
            known = matcher[:NAME_CHARACTERS] if isinstance(matcher, str) and matcher else None
            groups.setdefault((event, known), _Group()).runs.extend(_commands(entry, source.tokens))
    ranges = key_ranges(text)
    hooks = tuple(
        DiscoveredHook(
            uri=source.uri,
            name=f"{source.prefix}{event}" if matcher is None else f"{source.prefix}{event}({matcher})",
            event=event,
            matcher=matcher,
            runs=tuple(group.runs),
            range=ranges.get(written[event]),
        )
        for (event, matcher), group in groups.items()
    )
    return HooksRead(hooks, tuple(dict.fromkeys(problems)))


def _commands(entry: Mapping[str, object], tokens: Sequence[tuple[str, str]]) -> Iterator[HookCommand]:
    """What an entry runs: itself, or each of its `hooks`."""
    nested = entry.get("hooks")
    for item in nested if isinstance(nested, list) else [entry]:
        if not isinstance(item, Mapping) or item.get("type", "command") != "command":
            continue
        commands: dict[str, str] = {}
        for key, platform in _PLATFORMS.items():
            line = item.get(key)
            if isinstance(line, str) and line:
                commands.setdefault(platform, with_tokens(line, tokens))
        if commands:
            yield _command(item, commands, tokens)


def _command(item: Mapping[str, object], commands: Mapping[str, str], tokens: Sequence[tuple[str, str]]) -> HookCommand:
    timeout = item.get("timeout", item.get("timeoutSec"))
    valid = isinstance(timeout, (int, float)) and not isinstance(timeout, bool) and 0 < timeout < 1e9
    cwd = item.get("cwd")
    env = item.get("env")
    variables = env.items() if isinstance(env, Mapping) else ()
    return HookCommand(
        commands=commands,
        timeout=float(timeout) if valid and isinstance(timeout, (int, float)) else None,
        cwd=with_tokens(cwd, tokens) if isinstance(cwd, str) and cwd else None,
        env={key: with_tokens(value, tokens) for key, value in variables if isinstance(value, str)},
    )


def with_tokens(text: str, tokens: Sequence[tuple[str, str]]) -> str:
    """The text with `${NAME}` of each token replaced, once: what a value brings is not looked at again."""
    if not tokens or "${" not in text:
        return text
    values = dict(tokens)
    return re.sub(r"\$\{(\w+)\}", lambda found: values.get(found[1], found[0]), text)
