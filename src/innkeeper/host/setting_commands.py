"""`x-innkeeper/settings/get` and `…/change`: the hot settings for clients (M9.2, M9.3, M9.4).

Rules
* Operator-only settings are not here: the port has none. Of those only names are told, as *after restart*.
* A change names its revision; to let everything start by itself (`trust_mode` `all`) it must be confirmed (M4.5).
* With `web_control = false` neither is served, and the answer names the command line (M9.3).
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from innkeeper.editing.edits import Delete, Edit, Insert, Path, Put
from innkeeper.errors import HostError
from innkeeper.host.commands import Asker, Handler
from innkeeper.host.faults import bad_params
from innkeeper.ports.settings import HotSettings, SettingsConflict, SettingsService, SettingsState
from innkeeper.protocol.errors import CONFLICT, RpcError, permission_denied

Params = Mapping[str, Any]

EDITS_LIMIT = 100


class SettingCommands:
    """`language` gives a client's language; `open_to_clients` is the operator's `web_control`."""

    def __init__(self, service: SettingsService, language: Callable[[str], str], *, open_to_clients: bool) -> None:
        self._service = service
        self._language = language
        self._open = open_to_clients

    def table(self) -> dict[str, Handler]:
        return {"x-innkeeper/settings/get": self.get, "x-innkeeper/settings/change": self.change}

    async def get(self, asker: Asker, params: Params) -> object:
        self._require_open(asker)
        return settings_document(self._service.current(), self._language(asker.client_id))

    async def change(self, asker: Asker, params: Params) -> object:
        self._require_open(asker)
        lang = self._language(asker.client_id)
        revision, edits = params.get("revision"), _edits(params.get("edits"))
        if not isinstance(revision, str):
            raise bad_params("params.revision must be a string")
        if params.get("confirmed") is not True and any(_lets_all_start(edit) for edit in edits):
            raise _refused(HostError("CONFIRMATION_NEEDED"), lang)
        try:
            state = await self._service.change(edits, revision)
        except SettingsConflict as conflict:
            raise _refused(conflict, lang, revision=conflict.current) from conflict
        except HostError as error:
            raise _refused(error, lang) from error
        return settings_document(state, lang)

    def _require_open(self, asker: Asker) -> None:
        if not self._open:
            error = HostError("WEB_CONTROL_OFF")
            said = f"{error.message(self._language(asker.client_id))} {error.remedy(self._language(asker.client_id))}"
            raise RpcError(permission_denied("").code, said, {"code": error.code})


SETTING_METHODS = frozenset({"x-innkeeper/settings/get", "x-innkeeper/settings/change"})


def settings_document(state: SettingsState, lang: str = "en") -> dict[str, Any]:
    """The result of both commands."""
    return {"settings": hot_document(state.hot), **status_document(state, lang)}


def status_document(state: SettingsState, lang: str = "en") -> dict[str, Any]:
    """What `status` tells of the settings."""
    fault = state.fault
    return {
        "revision": state.revision,
        "file": state.file,
        "afterRestart": list(state.after_restart),
        "fault": fault
        and {
            "code": fault.error.code,
            "file": fault.file,
            "line": fault.line,
            "field": fault.field,
            "message": fault.error.message(lang),
            "remedy": fault.error.remedy(lang),
        },
    }


def hot_document(hot: HotSettings) -> dict[str, Any]:
    """The hot settings as JSON has them."""
    return {
        "enabled_builtins": list(hot.enabled_builtins),
        "presets": [dict(preset) for preset in hot.presets],
        "trust_mode": hot.trust_mode,
        "trusted_workspaces": list(hot.trusted_workspaces),
        "workspace_allowances": [asdict(allowance) for allowance in hot.workspace_allowances],
        "conflict_policy": hot.conflict_policy,
    }


def _refused(error: HostError, lang: str, **more: str) -> RpcError:
    return RpcError(CONFLICT, error.message(lang), {"code": error.code, **more})


def _lets_all_start(edit: Edit) -> bool:
    return isinstance(edit, Put) and edit.path == ("trust_mode",) and edit.value == "all"


def _edits(value: Any) -> tuple[Edit, ...]:
    if not isinstance(value, list) or not 0 < len(value) <= EDITS_LIMIT:
        raise bad_params(f"params.edits must be a list of 1 to {EDITS_LIMIT} edits")
    return tuple(_edit(entry) for entry in value)


def _edit(value: Any) -> Edit:
    path = _path(value.get("path")) if isinstance(value, dict) else None
    if path is None:
        raise bad_params("each edit needs op and path, a list of keys and positions")
    match value.get("op"):
        case "delete":
            return Delete(path)
        case "set" if "value" in value:
            return Put(path, value["value"])
        case "insert" if "value" in value:
            return Insert(path, value["value"])
    raise bad_params("op must be set or insert, with a value, or delete")


def _path(value: Any) -> Path | None:
    if not isinstance(value, list) or not value:
        return None
    if not all(isinstance(part, (str, int)) and not isinstance(part, bool) for part in value):
        return None
    return tuple(value)
