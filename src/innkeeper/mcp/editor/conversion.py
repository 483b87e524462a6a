"""An entry in the dialect of another preset, with the same meaning or not at all (M8.8).

Rules
* Canonical fields go to where the target has them. Whatever the target cannot express is named, and nothing is copied:
  a key that neither of the two knows as well, and a server that is off where the target's client knows no switch.
* The transport is no such field: it is left out where the target's other keys tell it, written where they do not.
* Codex's named variables and the placeholders of the others are two spellings of one thing.
"""

import os
from typing import Any, Final

from innkeeper.editing.edits import Put, applied
from innkeeper.editing.tree import Node
from innkeeper.mcp.declarations.files import Refused
from innkeeper.mcp.declarations.model import KeyPath
from innkeeper.mcp.declarations.written import OverrideOnly, Written, read_fields
from innkeeper.mcp.editor.fields import HTTP_URL, address_path, transport_key, transport_word
from innkeeper.mcp.editor.placeholders import Piece, only_variable, pieces, rendered
from innkeeper.mcp.editor.refusals import EditRefused, refused
from innkeeper.mcp.editor.sheets import Target

_CODEX_OWN: Final = frozenset({"required", "startup_timeout_sec", "startup_timeout_ms"})
_BEARER: Final = "Bearer "


def converted(source: Target, entry: Node, target: Target, name: str) -> dict[str, Any]:
    """The entry's data for the target. Raises EditRefused: EDIT_LOSES with the fields, or why the entry is none."""
    try:
        written = read_fields(source.preset, entry)
    except OverrideOnly:
        raise EditRefused("OVERRIDE_ONLY", source.file, server=name) from None
    except Refused as error:
        raise refused(error, source.file, name) from None
    conversion = _Conversion(source, entry, target, written)
    data = conversion.data()
    if conversion.lost:
        raise EditRefused("EDIT_LOSES", target.file, server=name, detail=", ".join(dict.fromkeys(conversion.lost)))
    return data


class _Conversion:
    def __init__(self, source: Target, entry: Node, target: Target, written: Written) -> None:
        self._source = source.preset
        self._target = target.preset
        self._same_folder = os.path.dirname(source.file) == os.path.dirname(target.file)
        self._entry = entry
        self._written = written
        self._data: Any = {}
        self.lost: list[str] = []
        """What the target cannot express, by the names of the source."""

    def data(self) -> dict[str, Any]:
        self._environment: dict[str, str] = {}
        self._forwarded: list[str] = []
        self._headers: dict[str, str] = {}
        self._header_variables: dict[str, str] = {}
        self._bearer: str | None = None
        self._transport()
        if self._written.transport == "stdio":
            self._stdio()
        else:
            self._http()
        self._switch()
        self._timeouts()
        self._filters()
        self._others()
        return dict(self._data)

    def _put(self, path: KeyPath | None, value: Any, lost_as: str) -> None:
        if path:
            self._data = applied(self._data, Put(path, value))
        else:
            self.lost.append(lost_as)

    def _transport(self) -> None:
        transport, key = self._written.transport, transport_key(self._target)
        if key is not None:
            word = transport_word(self._target, transport)
            self._put(key if word is not None else None, word, "transport")
        elif transport == "http" and self._target.dialect != "gemini" and self._target.bare_url == "sse":
            self.lost.append("url")

    def _stdio(self) -> None:
        written, target = self._written, self._target
        command = self._text(written.command or "", "command")
        args = [self._text(value, f"args[{place}]") for place, value in enumerate(written.arguments)]
        if target.command_list:
            self._put(target.fields.get("command"), [command, *args], "command")
        else:
            self._put(target.fields.get("command"), command, "command")
            if args:
                self._put(target.fields.get("args"), args, "args")
        self._split_environment()
        if self._environment:
            self._put(target.fields.get("env"), self._environment, "env")
        if self._forwarded:
            self._put(target.fields.get("envVars"), self._forwarded, "env_vars")
        if written.directory is not None:
            self._put(target.fields.get("cwd"), self._text(written.directory, "cwd"), "cwd")
        if written.environment_file is not None:
            self._put(target.fields.get("envFile"), self._text(written.environment_file, "envFile"), "envFile")

    def _http(self) -> None:
        target = self._target
        self._put(address_path(target, None), self._text(self._written.url or "", "url"), "url")
        self._split_headers()
        if self._headers:
            self._put(target.fields.get("headers"), self._headers, "headers")
        if self._header_variables:
            self._put(target.fields.get("envHeaders"), self._header_variables, "env_http_headers")
        if self._bearer is not None:
            self._put(target.fields.get("bearerTokenEnv"), self._bearer, "bearer_token_env_var")
        if self._written.environment_file is not None:
            self.lost.append("envFile")

    def _split_environment(self) -> None:
        """Values to `env`, the host's own variables to where the target forwards them."""
        for name, value in self._written.environment.items():
            found = pieces(value, self._source)
            if self._cannot_expand and only_variable(found) == name and "envVars" in self._target.fields:
                self._forwarded.append(name)
            else:
                self._environment[name] = self._rendered(found, f"env.{name}")
        for name in self._written.forwarded:
            if "envVars" in self._target.fields:
                self._forwarded.append(name)
            elif name not in self._environment:
                self._environment[name] = self._rendered([Piece("variable", name)], "env_vars")

    def _split_headers(self) -> None:
        for name, value in self._written.headers.items():
            found = pieces(value, self._source)
            variable = only_variable(found)
            bearer = only_variable(found[1:]) if found and found[0] == Piece("text", _BEARER) else None
            if self._cannot_expand and variable is not None and "envHeaders" in self._target.fields:
                self._header_variables[name] = variable
            elif self._cannot_expand and bearer and name.lower() == "authorization" and self._takes_bearer:
                self._bearer = bearer
            else:
                self._headers[name] = self._rendered(found, f"headers.{name}")
        for name, variable in self._written.header_variables.items():
            if "envHeaders" in self._target.fields:
                self._header_variables[name] = variable
            else:
                self._headers[name] = self._rendered([Piece("variable", variable)], "env_http_headers")
        if self._written.bearer_variable is not None:
            if self._takes_bearer:
                self._bearer = self._written.bearer_variable
            else:
                found = [Piece("text", _BEARER), Piece("variable", self._written.bearer_variable)]
                self._headers["Authorization"] = self._rendered(found, "bearer_token_env_var")

    @property
    def _cannot_expand(self) -> bool:
        return self._target.interpolation == "none"

    @property
    def _takes_bearer(self) -> bool:
        return "bearerTokenEnv" in self._target.fields

    def _switch(self) -> None:
        if self._written.enabled:
            return
        for field, value in (("enabled", False), ("disabled", True)):
            if field in self._target.fields and field not in self._target.foreign:
                self._put(self._target.fields[field], value, field)
                return
        self.lost.append("enabled")

    def _timeouts(self) -> None:
        call, start = self._written.timeouts.call, self._written.timeouts.start
        if call is not None:
            milliseconds = self._target.fields.get("timeoutMs")
            seconds = self._target.fields.get("timeoutSeconds")
            if milliseconds:
                self._put(milliseconds, round(call * 1000), "timeout")
            else:
                self._put(seconds, int(call) if call == int(call) else call, "timeout")
        if start is not None:
            path = ("startup_timeout_sec",) if self._target.dialect == "codex" else None
            self._put(path, int(start) if start == int(start) else start, "startup_timeout_sec")
        if self._written.required:
            self._put(("required",) if self._target.dialect == "codex" else None, True, "required")

    def _filters(self) -> None:
        held = (self._written.tools.included is not None, bool(self._written.tools.excluded))
        for there, key, to in zip(held, self._source.filters, self._target.filters, strict=True):
            if not there:
                continue
            node = self._entry.get(key)
            names = [str(item.value) for item in node.items] if node is not None else []
            whole_tools_only = self._source.dialect == "gemini" and self._target.dialect != "gemini"
            partly = whole_tools_only and any("(" in name for name in names)
            self._put((to,) if to and not partly else None, names, key)

    def _others(self) -> None:
        known = {path[0] for path in self._source.fields.values() if path} | {*self._source.filters}
        known |= set(HTTP_URL) if self._source.dialect == "gemini" else set()
        known |= _CODEX_OWN if self._source.dialect == "codex" else set()
        for member in self._entry.members:
            key = member.key
            if key in known or member.value.kind == "null":
                continue
            both = key in self._source.ignored and key in self._target.ignored
            signs_in = key == "oauth" and self._written.client is not None and key in self._target.unsupported
            signs_in = signs_in and self._target.dialect == self._source.dialect == "standard"
            off = key in self._source.unsupported and member.value.value is False
            if both or signs_in:
                self._put((key,), member.value.plain(), key)
            elif not off:
                self.lost.append(key)

    def _text(self, value: str, lost_as: str) -> str:
        return self._rendered(pieces(value, self._source), lost_as)

    def _rendered(self, found: list[Piece], lost_as: str) -> str:
        value = rendered(found, self._target, same_folder=self._same_folder)
        if value is None or any(mark in value for mark in self._target.refused_marks):
            self.lost.append(lost_as)
            return ""
        return value
