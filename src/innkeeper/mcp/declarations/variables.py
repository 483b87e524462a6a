"""Placeholders of declarations: `standard`, `shell` and `none` (M2.3-M2.5).

Rules
* `standard` knows `${…}`; `shell` also `$VAR` and `%VAR%`; `none` is literal. Two hexadecimal digits between percent
  signs are a character of an address, not a variable.
* Expansion happens once; what comes out is never looked at again.
* A variable that is missing or empty rejects the server; `${VAR:-default}` takes its default for both, which may be
  empty on purpose.
* `${input:id}` reads the operator's `input_values` only. Nothing is ever run to find a value.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from innkeeper.mcp.declarations.model import Interpolation

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_PLAIN = re.compile(_NAME)
_WITH_DEFAULT = re.compile(rf"({_NAME}):-(.*)", re.DOTALL)
_SHELL = re.compile(rf"\$\{{|\$({_NAME})|%({_NAME})%")
_STANDARD = re.compile(r"\$\{")
_ENCODED = re.compile(r"[0-9A-Fa-f]{2}")
_PREFIXED = re.compile(r"([A-Za-z][A-Za-z0-9_]*):(.*)", re.DOTALL)


class VariableError(Exception):
    """A placeholder cannot be expanded. `name` is the variable's name, for the diagnostic."""

    def __init__(self, code: str, name: str) -> None:
        super().__init__(code)
        self.code = code
        self.name = name


@dataclass(frozen=True, slots=True)
class Variables:
    """What placeholders stand for: built-in names, the host's environment, the operator's inputs."""

    built_in: Mapping[str, str]
    environment: Mapping[str, str] = field(repr=False)
    inputs: Mapping[str, str] = field(repr=False)
    interpolation: Interpolation = "standard"

    def expand(self, text: str) -> str:
        """Raises VariableError."""
        if self.interpolation == "none":
            return text
        pattern = _SHELL if self.interpolation == "shell" else _STANDARD
        parts: list[str] = []
        at = 0
        while (found := pattern.search(text, at)) is not None:
            parts.append(text[at : found.start()])
            if found.group() == "${":
                end = text.find("}", found.end())
                body = text[found.end() : end]
                if end < 0 or not body or "${" in body:
                    raise VariableError("VARIABLE_SYNTAX", "")
                parts.append(self._value(body))
                at = end + 1
            else:
                piece, at = self._bare(found[1], found[2], found.group(), found.start())
                parts.append(piece)
        parts.append(text[at:])
        return "".join(parts)

    def _bare(self, dollar: str | None, percent: str | None, written: str, start: int) -> tuple[str, int]:
        """`$VAR` or `%VAR%`: its value and where to go on."""
        if percent is not None and _ENCODED.fullmatch(percent):
            return written[:-1], start + len(written) - 1
        return self._variable(dollar or percent or ""), start + len(written)

    def _value(self, body: str) -> str:
        if body in self.built_in:
            return self.built_in[body]
        if _PLAIN.fullmatch(body):
            return self._variable(body)
        if match := _WITH_DEFAULT.fullmatch(body):
            return self.environment.get(match[1]) or match[2]
        if match := _PREFIXED.fullmatch(body):
            kind, name = match[1], match[2]
            if kind == "env" and _PLAIN.fullmatch(name):
                return self._variable(name)
            if kind == "input":
                return self._input(name)
            raise VariableError("VARIABLE_UNSUPPORTED", f"{kind}:")
        raise VariableError("VARIABLE_SYNTAX", "")

    def _variable(self, name: str) -> str:
        value = self.environment.get(name)
        if not value:
            raise VariableError("VARIABLE_MISSING", name)
        return value

    def _input(self, name: str) -> str:
        value = self.inputs.get(name)
        if not value:
            raise VariableError("INPUT_MISSING", name)
        return value


def workspace_variables(
    workspace: str,
    config_directory: str,
    environment: Mapping[str, str],
    inputs: Mapping[str, str],
    interpolation: Interpolation = "standard",
) -> Variables:
    """The variables of one file of one workspace. `environment` is taken as it is."""
    built_in = {
        "workspaceFolder": workspace,
        "workspaceFolderBasename": os.path.basename(workspace),
        "userHome": environment.get("HOME") or os.path.expanduser("~"),
        "pathSeparator": os.sep,
        "/": os.sep,
        "configDir": config_directory,
    }
    return Variables(built_in, environment, inputs, interpolation)
