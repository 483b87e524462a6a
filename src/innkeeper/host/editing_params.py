"""What a form sends, taken from the params of a request (M8.9). Pure.

Rules
* Only the fields that were sent are in the draft; null clears one. Hidden fields are not sent, and nothing is guessed.
* `env` and `headers` come as rows or as an object. A row has `key` and `value`, or `keep`: true for the value under its
  own key, or the name of the key that has it. A key that is missing or stands twice is refused.
"""

from collections.abc import Mapping
from typing import Any

from innkeeper.host.faults import bad_params
from innkeeper.ports.mcp_editing import DeclarationDraft, DeclarationPlace, FieldValue, Keep, RowValue

Params = Mapping[str, Any]

ROWS = ("env", "headers")
ROWS_LIMIT = 1_000


def text_of(params: Params, name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str) or not value:
        raise bad_params(f"params.{name} must be a non-empty string")
    return value


def optional_text(params: Params, name: str) -> str | None:
    return None if params.get(name) is None else text_of(params, name)


def flag_of(params: Params, name: str) -> bool:
    return params.get(name) is True


def place_of(params: Params, prefix: str = "") -> DeclarationPlace:
    """`preset` and `file`, or with a prefix `fromPreset` and `fromFile`."""
    preset, file = ("preset", "file") if not prefix else (f"{prefix}Preset", f"{prefix}File")
    return DeclarationPlace(text_of(params, preset), optional_text(params, file) or "")


def tokens_of(params: Params) -> Mapping[str, str]:
    tokens = params.get("tokens")
    if not isinstance(tokens, dict) or not all(isinstance(token, str) for token in tokens.values()) or not tokens:
        raise bad_params("params.tokens must be an object of version tokens by file")
    return tokens


def draft_of(params: Params) -> DeclarationDraft:
    fields = params.get("fields", {})
    if not isinstance(fields, dict):
        raise bad_params("params.fields must be an object")
    return DeclarationDraft(
        optional_text(params, "transport"), {name: _field(name, value) for name, value in fields.items()}
    )


def _field(name: str, value: Any) -> FieldValue:
    if name not in ROWS:
        strings = isinstance(value, list) and all(isinstance(item, str) for item in value)
        if value is None or isinstance(value, str) or strings:
            return value  # type: ignore[no-any-return]  # checked in the line above
        raise bad_params(f"params.fields.{name} must be a string, a list of strings or null")
    if value is None:
        return None
    if isinstance(value, dict):
        value = [{"key": key, "value": row} for key, row in value.items()]
    if not isinstance(value, list) or len(value) > ROWS_LIMIT:
        raise bad_params(f"params.fields.{name} must be rows, an object or null")
    rows: dict[str, RowValue] = {}
    for row in value:
        key, found = _row(name, row)
        if key in rows:
            raise bad_params(f"params.fields.{name} has a key twice")
        rows[key] = found
    return rows


def _row(name: str, row: Any) -> tuple[str, RowValue]:
    key = row.get("key") if isinstance(row, dict) else None
    if not isinstance(key, str) or not key:
        raise bad_params(f"each row of params.fields.{name} needs a key")
    keep, value = row.get("keep"), row.get("value")
    if keep is True or isinstance(keep, str):
        return key, Keep(key if keep is True else str(keep))
    if not isinstance(value, str):
        raise bad_params(f"each row of params.fields.{name} needs a value that is a string, or keep")
    return key, value
