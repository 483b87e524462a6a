"""The values of inputs: secrets in a file of their own, in the environment or in the keyring (M2.5, M9.6).

Rules
* `secrets.toml` lies beside the configuration, mode 0600. One that others may read is not used.
* The configuration holds references only: `env:NAME`, `keyring`. A value in the file of secrets stands before them.
* Values leave by `load` alone, which the host calls at its start. Everything else knows names. An empty value is none.
"""

import importlib
import logging
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal

from innkeeper.editing.edits import Delete, Edit, Put
from innkeeper.editing.engine import decoded, edit_bytes
from innkeeper.editing.files import change_file, read_content
from innkeeper.editing.refusals import EditUnsafe
from innkeeper.editing.replacing import Content
from innkeeper.errors import HostError
from innkeeper.settings.tables import INPUT_NAME, KEYRING
from innkeeper.texts import text

log = logging.getLogger(__name__)

FILE_NAME: Final = "secrets.toml"
TABLE: Final = "input_values"
SERVICE: Final = "innkeeper"
"""Under which name the keyring has our entries."""

Reason = Literal["exposed", "owner", "unreadable", "invalid"]


class SecretsUnusable(HostError):
    """The file of secrets cannot be used: SECRETS_UNREADABLE. Neither a value nor a parser's word is told."""

    def __init__(self, path: Path, reason: Reason) -> None:
        super().__init__("SECRETS_UNREADABLE", path=path)
        self.path = path
        self.reason: Reason = reason

    def message(self, lang: str = "en") -> str:
        reason = text(f"settings.secrets.{self.reason}", lang=lang)
        return text(self.error.meaning, lang=lang, path=self.path, reason=reason)


@dataclass(frozen=True, slots=True)
class Input:
    """One input by name. `source` tells where its value is; `available` whether there is one now."""

    name: str
    source: Literal["file", "environment", "keyring"]
    reference: str | None
    """`env:NAME` or `keyring`; None for the file of secrets."""
    available: bool


def secret_variables(references: Mapping[str, str]) -> frozenset[str]:
    """The variables of the host's environment that hold values of inputs."""
    return frozenset(r.removeprefix("env:") for r in references.values() if r.startswith("env:"))


class Inputs:
    """`references` is the configuration's `input_values`."""

    def __init__(self, folder: Path, references: Mapping[str, str], environ: Mapping[str, str]) -> None:
        self.path = folder / FILE_NAME
        self._references = references
        self._environ = environ

    def listed(self) -> tuple[Input, ...]:
        """Every input that is known, by name. Raises `SecretsUnusable`."""
        stored = self._stored()
        found = [Input(name, "file", None, bool(value)) for name, value in stored.items()]
        found += [
            Input(name, KEYRING if reference == KEYRING else "environment", reference, bool(self._referred(name)))
            for name, reference in self._references.items()
            if name not in stored
        ]
        return tuple(sorted(found, key=lambda known: known.name))

    def load(self) -> Mapping[str, str]:
        """Names and values, for the host alone. What has no value is left out and logged by name.

        Raises `SecretsUnusable`.
        """
        values = {name: self._referred(name) for name in self._references}
        values.update(self._stored())
        for name in sorted(name for name, value in values.items() if not value):
            log.warning("the input %s has no value", name)
        return MappingProxyType({name: value for name, value in values.items() if value})

    def store(self, name: str, value: str) -> None:
        """Keep a value in the file of secrets. Raises `SecretsUnusable`, HostError INPUT_NAME, EDIT_UNSAFE,
        EDIT_UNWRITABLE."""
        if not INPUT_NAME.fullmatch(name):
            raise HostError("INPUT_NAME", name=name[:100])
        self._change(Put((TABLE, name), value))

    def remove(self, name: str) -> bool:
        """Forget a stored value; whether there was one. Raises as `store`."""
        known = name in self._stored()
        if known:
            self._change(Delete((TABLE, name)))
        return known

    def _change(self, edit: Edit) -> None:
        from innkeeper.editing.toml.front import TOML

        self._stored()

        def change(known: Content) -> bytes:
            return edit_bytes(TOML, known.data or b"", [edit])

        change_file(self.path, change)

    def _stored(self) -> Mapping[str, str]:
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise SecretsUnusable(self.path, "unreadable") from error
        if stat.S_IMODE(found.st_mode) & 0o077:
            raise SecretsUnusable(self.path, "exposed")
        if found.st_uid not in (os.geteuid(), 0):
            raise SecretsUnusable(self.path, "owner")
        try:
            data = read_content(self.path).data or b""
        except OSError as error:
            raise SecretsUnusable(self.path, "unreadable") from error
        return _table(self.path, data)

    def _referred(self, name: str) -> str:
        reference = self._references[name]
        if reference == KEYRING:
            return _from_keyring(name)
        return self._environ.get(reference.removeprefix("env:"), "")


def _table(path: Path, data: bytes) -> Mapping[str, str]:
    from innkeeper.editing.toml.front import TOML

    try:
        table: Any = TOML.parse(decoded(data))
    except EditUnsafe:
        # From nothing: the parser's words may quote a value.
        raise SecretsUnusable(path, "invalid") from None
    values = table.get(TABLE, {})
    if set(table) - {TABLE} or not isinstance(values, dict):
        raise SecretsUnusable(path, "invalid")
    if not all(isinstance(value, str) and INPUT_NAME.fullmatch(name) for name, value in values.items()):
        raise SecretsUnusable(path, "invalid")
    return values


def _from_keyring(name: str) -> str:
    """The entry of the system's keyring; nothing where there is none, or no keyring (extra `keyring`)."""
    try:
        keyring = importlib.import_module("keyring")
        return str(keyring.get_password(SERVICE, name) or "")
    except ImportError:
        log.warning("the input %s is in the keyring, but the extra `keyring` is not installed", name)
    except Exception as error:  # whatever a keyring's backend raises
        log.warning("the keyring did not answer: %s", type(error).__name__)
    return ""
