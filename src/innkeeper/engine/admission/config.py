"""Configuration values against their schema (AHP §9.1): unknown keys, fixed properties, types and enumerations."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from innkeeper.engine.effects import JsonObject

_TYPES: MappingProxyType[str, tuple[type, ...]] = MappingProxyType(
    {"string": (str,), "number": (int, float), "boolean": (bool,), "array": (list, tuple), "object": (Mapping,)}
)


def refuse_value(name: str, schema: JsonObject, value: Any) -> str | None:
    """The reason why `value` is not one of the property; values themselves are not repeated."""
    kind = schema.get("type", "")
    expected = _TYPES.get(kind)
    if expected is not None and (not isinstance(value, expected) or (kind == "number" and isinstance(value, bool))):
        return f"configuration property {name} takes a {kind}"
    allowed = schema.get("enum")
    if allowed and not schema.get("enumDynamic") and value not in allowed:
        return f"configuration property {name} takes one of {', '.join(map(str, allowed))}"
    items = schema.get("items")
    if isinstance(items, Mapping) and isinstance(value, (list, tuple)):
        return next((why for v in value if (why := refuse_value(f"{name}[]", items, v)) is not None), None)
    return None


def refuse_config(config: JsonObject, values: JsonObject, *, replace: bool) -> str | None:
    """The reason why a running session's configuration cannot be changed so (`sessionMutable` properties only).

    A replacement must leave fixed properties as they are."""
    properties: JsonObject = config["schema"].get("properties") or {}
    present: JsonObject = config.get("values") or {}
    for name, value in values.items():
        schema = properties.get(name)
        if schema is None:
            return f"there is no configuration property {name}"
        fixed = schema.get("readOnly") or not schema.get("sessionMutable", False)
        if fixed and present.get(name) != value:
            return f"configuration property {name} cannot be changed in a running session"
        if (why := refuse_value(name, schema, value)) is not None:
            return why
    if replace:
        for name in present.keys() - values.keys():
            schema = properties.get(name) or {}
            if not schema.get("sessionMutable", False):
                return f"configuration property {name} cannot be removed in a running session"
    return None
