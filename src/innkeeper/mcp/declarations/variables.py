"""Placeholders of declarations, dialect `standard` (M2.3-M2.5).

Rules
* Expansion happens once; what comes out is never looked at again.
* A variable that is missing or empty rejects the server; `${VAR:-default}` takes its default for both, which may be
  empty on purpose.
* `${input:id}` reads the operator's `input_values` only. Nothing is ever run to find a value.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_PLAIN = re.compile(_NAME)
_WITH_DEFAULT = re.compile(rf"({_NAME}):-(.*)", re.DOTALL)
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

    def expand(self, text: str) -> str:
        """Raises VariableError."""
        parts: list[str] = []
        at = 0
        while (start := text.find("${", at)) >= 0:
            parts.append(text[at:start])
            end = text.find("}", start)
            body = text[start + 2 : end]
            if end < 0 or not body or "${" in body:
                raise VariableError("VARIABLE_SYNTAX", "")
            parts.append(self._value(body))
            at = end + 1
        parts.append(text[at:])
        return "".join(parts)

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
    workspace: str, config_directory: str, environment: Mapping[str, str], inputs: Mapping[str, str]
) -> Variables:
    """The variables of one file of one workspace; `CLAUDE_PROJECT_DIR` counts as the workspace (M2.6)."""
    built_in = {
        "workspaceFolder": workspace,
        "workspaceFolderBasename": os.path.basename(workspace),
        "userHome": environment.get("HOME") or os.path.expanduser("~"),
        "pathSeparator": os.sep,
        "/": os.sep,
        "configDir": config_directory,
    }
    return Variables(built_in, {**environment, "CLAUDE_PROJECT_DIR": workspace}, inputs)
