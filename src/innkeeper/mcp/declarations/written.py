"""The fields of an entry as they are written: types checked, variables unexpanded (M2.1, M2.2, M2.7-M2.9).

Rules
* The first thing that is wrong rejects the entry whole.
* Authentication or isolation that is not implemented rejects: never run without it (M2.2).
* What the dialect says about time-outs, tools and `required` is read here; what a file says about its own trust is not.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from innkeeper.editing.tree import Member, Node
from innkeeper.mcp.declarations import checks
from innkeeper.mcp.declarations.files import Refused
from innkeeper.mcp.declarations.model import (
    EVERY_TOOL,
    NO_TIMEOUTS,
    KeyPath,
    Preset,
    Timeouts,
    ToolFilter,
    Transport,
)
from innkeeper.mcp.oauth.declared import declared_client
from innkeeper.mcp.oauth.values import OAuthClient

LONGEST_SECONDS: Final = 24 * 3600.0

_OVERRIDES: Final = frozenset(
    [
        "enabled",
        "disabled",
        "required",
        "tools",
        "enabled_tools",
        "disabled_tools",
        "omit_tools_from",
        "default_tools_approval_mode",
        "startup_timeout_sec",
        "startup_timeout_ms",
        "tool_timeout_sec",
        "startup_readiness",
        "supports_parallel_tool_calls",
    ]
)
"""What a project's Codex file may change of a server that the user's own file declares."""


@dataclass(frozen=True, slots=True)
class Written:
    """The fields as written. `notes` are codes with their detail and hint."""

    transport: Literal["stdio", "http"]
    command: str | None = None
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    directory: str | None = None
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    environment_file: str | None = None
    forwarded: tuple[str, ...] = ()
    """Names of the host's variables that the child gets (Codex `env_vars`)."""
    header_variables: Mapping[str, str] = field(default_factory=dict)
    bearer_variable: str | None = None
    client: OAuthClient | None = None
    enabled: bool = True
    tools: ToolFilter = EVERY_TOOL
    timeouts: Timeouts = NO_TIMEOUTS
    required: bool = False
    notes: tuple[tuple[str, str, str], ...] = ()


class OverrideOnly(Exception):
    """The entry is no server, only a change of one that another place declares."""


def read_fields(preset: Preset, entry: Node) -> Written:
    """Raises Refused, OverrideOnly."""
    _refuse_unsupported(preset, entry)
    reader = _Reader(preset, entry)
    command, arguments = reader.command()
    url, transport = reader.transport(command)
    client = _client(preset, entry)
    if client is not None and transport != "http":
        raise Refused("UNSUPPORTED_OAUTH", detail="oauth")
    notes: list[tuple[str, str, str]] = []
    written = Written(
        transport=transport,
        command=command,
        arguments=arguments,
        environment=reader.environment(),
        directory=reader.text("cwd"),
        url=url,
        headers=reader.texts_by_name("headers"),
        environment_file=reader.text("envFile"),
        forwarded=reader.forwarded(),
        header_variables=reader.texts_by_name("envHeaders"),
        bearer_variable=reader.text("bearerTokenEnv"),
        client=client,
        enabled=reader.switch("disabled") is not True and reader.switch("enabled") is not False,
        tools=reader.tools(),
        timeouts=reader.timeouts(notes),
        required=reader.required(),
        notes=tuple(notes),
    )
    return written


def guess_transport(preset: Preset, entry: Node) -> Transport:
    """For a rejected entry, as far as it can be told."""
    if entry.kind != "object":
        return "unknown"
    stated = _at(preset, entry, "transport")
    meaning = preset.transports.get(str(stated.value)) if stated is not None and stated.kind == "string" else None
    if meaning == "UNSUPPORTED_SSE":
        return "sse"
    if meaning == "UNSUPPORTED_WS":
        return "ws"
    if (found := _at(preset, entry, "command")) is not None and found.kind != "null":
        return "stdio"
    if entry.get("httpUrl") is not None:
        return "http"
    if _at(preset, entry, "url") is None:
        return "unknown"
    return "sse" if meaning is None and preset.bare_url == "sse" else "http"


def switched_off(preset: Preset, entry: Node) -> bool:
    """Whether an entry is switched off, also when it is rejected for something else."""
    disabled, enabled = _at(preset, entry, "disabled"), _at(preset, entry, "enabled")
    return (disabled is not None and disabled.value is True) or (enabled is not None and enabled.value is False)


def is_required(preset: Preset, entry: Node) -> bool:
    """Whether a request needs it (Codex), also when it is rejected (M5.5)."""
    found = entry.get("required")
    return preset.dialect == "codex" and found is not None and found.value is True


def _refuse_unsupported(preset: Preset, entry: Node) -> None:
    for member in entry.members:
        key, asked = member.key, member.value
        code = preset.unsupported.get(key)
        if code is None or asked.kind == "null" or asked.value is False:
            continue
        if key == "oauth" and declared_client(asked.plain()) is not None:
            continue
        switched = entry.get("sandboxEnabled") if key == "sandbox" else asked.get("enabled")
        if switched is None or switched.value is not False:
            raise Refused(code, detail=key)


def _client(preset: Preset, entry: Node) -> OAuthClient | None:
    """Presets that know no `oauth` leave it to the note about unknown fields."""
    asked = entry.get("oauth") if "oauth" in preset.unsupported else None
    return None if asked is None else declared_client(asked.plain())


def _at(preset: Preset, entry: Node, name: str) -> Node | None:
    path = preset.fields.get(name)
    return None if path is None else entry.at(path)


class _Reader:
    def __init__(self, preset: Preset, entry: Node) -> None:
        self.preset = preset
        self.entry = entry
        self._present = {member.key: member.value for member in entry.members}

    def at(self, name: str) -> Node | None:
        path = self.preset.fields.get(name)
        if path is None:
            return None
        return self._present.get(path[0]) if len(path) == 1 else self.entry.at(path)

    def key(self, name: str) -> str:
        return ".".join(self.preset.fields.get(name, (name,)))

    def text(self, name: str) -> str | None:
        return self._text(self.at(name), self.key(name))

    def _text(self, node: Node | None, key: str) -> str | None:
        if node is None:
            return None
        if node.kind != "string":
            raise Refused("FIELD_TYPE", detail=key)
        return str(node.value)

    def switch(self, name: str) -> bool | None:
        return self.boolean(self.preset.fields.get(name, ()))

    def required(self) -> bool:
        return self.preset.dialect == "codex" and self.boolean(("required",)) is True

    def boolean(self, path: KeyPath) -> bool | None:
        node = self.entry.at(path) if path else None
        if node is None:
            return None
        if node.kind != "boolean":
            raise Refused("FIELD_TYPE", detail=".".join(path))
        return node.value is True

    def command(self) -> tuple[str | None, tuple[str, ...]]:
        node = self.at("command")
        if not self.preset.command_list:
            if node is not None and node.kind == "array":
                raise Refused("FIELD_TYPE", detail=self.key("command"), hint="commandList")
            return self.text("command"), self._texts(self.at("args"), self.key("args"))
        if node is None:
            return None, ()
        words = self._texts(node, self.key("command"))
        if not words:
            raise Refused("FIELD_VALUE", detail=self.key("command"))
        return words[0], words[1:]

    def transport(self, command: str | None) -> tuple[str | None, Literal["stdio", "http"]]:
        """The address and the transport (M2.1)."""
        stated = self.text("transport")
        meaning = None if stated is None else self.preset.transports.get(stated, "TRANSPORT_UNKNOWN")
        if meaning is not None and meaning not in ("stdio", "http"):
            lower = meaning == "TRANSPORT_UNKNOWN" and str(stated).lower() in self.preset.transports
            raise Refused(meaning, detail=self.key("transport"), hint="lowerCase" if lower else "")
        streamable = self._text(self.entry.get("httpUrl"), "httpUrl") if self.preset.dialect == "gemini" else None
        plain = self.text("url")
        url = streamable if streamable is not None else plain
        if command is not None and url is not None:
            raise Refused("TRANSPORT_CONFLICT")
        if meaning is None:
            if command is None and url is None:
                raise self._no_transport()
            if command is None and streamable is None and self.preset.bare_url == "sse":
                raise Refused("UNSUPPORTED_SSE", detail=self.key("url"), hint="bareUrl")
            return url, "stdio" if command is not None else "http"
        if (command if meaning == "stdio" else url) is None:
            raise Refused("TRANSPORT_MISSING", detail=self.key("command" if meaning == "stdio" else "url"))
        return url, "stdio" if meaning == "stdio" else "http"

    def _no_transport(self) -> Exception:
        keys = {member.key for member in self.entry.members}
        if self.preset.dialect == "codex" and keys and keys <= _OVERRIDES:
            return OverrideOnly()
        return Refused("TRANSPORT_MISSING")

    def environment(self) -> Mapping[str, str]:
        key = self.key("env")
        values: dict[str, str] = {}
        kinds = ("string",) if self.preset.dialect == "codex" else ("string", "number")
        wrong = [f"{key}.{member.key}" for member in self._table("env") if member.value.kind not in kinds]
        if wrong:
            raise Refused("ENV_VALUE_TYPE", detail=", ".join(wrong))
        for member in self._table("env"):
            if code := checks.check_environment_name(member.key):
                raise Refused(code, detail=key)
            values[member.key] = str(member.value.value)
        return values

    def texts_by_name(self, name: str) -> Mapping[str, str]:
        for member in self._table(name):
            if member.value.kind != "string":
                raise Refused("FIELD_TYPE", detail=f"{self.key(name)}.{member.key}")
        return {member.key: str(member.value.value) for member in self._table(name)}

    def forwarded(self) -> tuple[str, ...]:
        """Names, or tables with a name and a source; a remote source is a command on another machine."""
        node = self.at("envVars")
        key = self.key("envVars")
        if node is None:
            return ()
        if node.kind != "array":
            raise Refused("FIELD_TYPE", detail=key)
        names: list[str] = []
        for index, item in enumerate(node.items):
            if item.kind == "object":
                source = item.get("source")
                if source is not None and source.value != "local":
                    raise Refused("UNSUPPORTED_REMOTE_STDIO", detail=f"{key}[{index}]")
                item = item.get("name") or item
            if item.kind != "string":
                raise Refused("FIELD_TYPE", detail=f"{key}[{index}]")
            if code := checks.check_environment_name(str(item.value)):
                raise Refused(code, detail=f"{key}[{index}]")
            names.append(str(item.value))
        return tuple(names)

    def tools(self) -> ToolFilter:
        included, excluded = self.preset.filters
        kept = None if not included or self.entry.get(included) is None else self._names(included)
        if kept is not None and self.preset.dialect == "standard" and "*" in kept:
            kept = None
        return ToolFilter(kept, self._names(excluded) if excluded else frozenset())

    def _names(self, key: str) -> frozenset[str]:
        names = self._texts(self.entry.get(key), key)
        if self.preset.dialect == "gemini":
            # Gemini writes `tool(arguments)` for a part of a tool's calls; the gate has whole tools only.
            return frozenset(name.partition("(")[0].strip() for name in names)
        return frozenset(names)

    def timeouts(self, notes: list[tuple[str, str, str]]) -> Timeouts:
        """Seconds, by dialect (M2.8b); for Codex the start-up time-out too."""
        call = self._seconds(self.at("timeoutMs"), self.key("timeoutMs"), 0.001, notes)
        if call is None:
            call = self._seconds(self.at("timeoutSeconds"), self.key("timeoutSeconds"), 1.0, notes)
        if self.preset.dialect != "codex":
            return Timeouts(None, call)
        start = self._seconds(self.entry.get("startup_timeout_ms"), "startup_timeout_ms", 0.001, notes)
        seconds = self._seconds(self.entry.get("startup_timeout_sec"), "startup_timeout_sec", 1.0, notes)
        return Timeouts(start if seconds is None else seconds, call)

    def _seconds(self, node: Node | None, key: str, unit: float, notes: list[tuple[str, str, str]]) -> float | None:
        if node is None:
            return None
        if node.kind != "number":
            raise Refused("FIELD_VALUE", detail=key)
        try:
            value = float(str(node.value))
        except ValueError:
            raise Refused("FIELD_VALUE", detail=key) from None
        if not value > 0:
            raise Refused("FIELD_VALUE", detail=key)
        whole = unit == 1.0 or value.is_integer()
        seconds = min(value * unit if whole else max(1.0, value // 1) * unit, LONGEST_SECONDS)
        if not whole or value * unit > LONGEST_SECONDS:
            notes.append(("CLIENT_DIFFERS", key, "timeoutClamped"))
        return seconds

    def _texts(self, node: Node | None, key: str) -> tuple[str, ...]:
        if node is None:
            return ()
        if node.kind != "array":
            raise Refused("FIELD_TYPE", detail=key)
        for index, item in enumerate(node.items):
            if item.kind != "string":
                raise Refused("FIELD_TYPE", detail=f"{key}[{index}]")
        return tuple(str(item.value) for item in node.items)

    def _table(self, name: str) -> tuple[Member, ...]:
        node = self.at(name)
        if node is None:
            return ()
        if node.kind != "object":
            raise Refused("FIELD_TYPE", detail=self.key(name))
        return node.members
