"""Configuration of a session: the host's own properties, defaults, and checking values (AHP §9.1).

Rules
* The host's properties come first and cannot be redefined by an agent: where the session works (`isolation` and what
  goes with it), then `autoApprove`, `permissions`, `mode`.
* A read-only property has its default, whatever is given.
* A value that does not fit its property is refused with the dotted path. A property that the schema does not have is
  left out at creation, because real clients send what another host once offered; in a running session it is refused.
* Values that are returned are complete: defaults are filled in.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from innkeeper.host.approval.layers import migrated
from innkeeper.host.faults import bad_params
from innkeeper.host.worktrees.options import NAMES
from innkeeper.texts import text

Schema = Mapping[str, Any]
Values = Mapping[str, Any]

HOST_PROPERTIES = ("autoApprove", "permissions", "mode")
TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (Mapping,),
}


@cache
def host_properties() -> Mapping[str, Schema]:
    """The properties that every session has, whatever its agent."""
    return {
        "autoApprove": _choice("autoApprove", "default", ("default", "assisted", "autoApprove")),
        "permissions": {
            "type": "object",
            "title": text("config.permissions.title"),
            "description": text("config.permissions.description"),
            "properties": {"allow": _tools("allow"), "deny": _tools("deny")},
            "default": {"allow": [], "deny": []},
            "sessionMutable": True,
        },
        "mode": _choice("mode", "interactive", ("interactive", "plan", "autopilot")),
    }


def _choice(name: str, default: str, values: tuple[str, ...]) -> Schema:
    return {
        "type": "string",
        "title": text(f"config.{name}.title"),
        "description": text(f"config.{name}.description"),
        "enum": list(values),
        "enumLabels": [text(f"config.{name}.{value}") for value in values],
        "default": default,
        "sessionMutable": True,
    }


def _tools(name: str) -> Schema:
    item = {"type": "string", "title": text("config.permissions.tool")}
    return {"type": "array", "title": text(f"config.permissions.{name}"), "items": item}


def whole_schema(of_provider: Schema, placing: Mapping[str, Schema] | None = None) -> dict[str, Any]:
    """The host's properties, first of all `placing`: where the session works; then the agent's."""
    own = {**(placing or {}), **host_properties()}
    taken = _owned(placing)
    agents = (of_provider.get("properties") or {}).items()
    others = {name: prop for name, prop in agents if name not in taken}
    schema: dict[str, Any] = {"type": "object", "properties": {**own, **others}}
    if required := [name for name in of_provider.get("required") or () if name in others]:
        schema["required"] = required
    return schema


def complete_values(schema: Schema, given: Values) -> dict[str, Any]:
    """The given values that the schema knows, with defaults. Raises RpcError (-32602) naming the path of a bad one."""
    properties: Mapping[str, Schema] = schema["properties"]
    given, values = migrated(given), {}
    for name, prop in properties.items():
        if name in given and given[name] is not None and not prop.get("readOnly"):
            if (why := problem(f"config.{name}", prop, given[name])) is not None:
                raise bad_params(why)
            values[name] = given[name]
        elif "default" in prop:
            values[name] = prop["default"]
    return values


def provider_values(values: Values, placing: Mapping[str, Schema] | None = None) -> dict[str, Any]:
    """The values without the host's own: what an agent sees when it is asked for its schema."""
    taken = _owned(placing)
    return {name: value for name, value in values.items() if name not in taken}


def _owned(placing: Mapping[str, Schema] | None) -> tuple[str, ...]:
    """The names that no agent can have. A host that places no session leaves `branch` and its like to the agents."""
    return (*NAMES, *HOST_PROPERTIES) if placing else HOST_PROPERTIES


def problem(path: str, schema: Schema, value: Any) -> str | None:
    """Why `value` does not fit, with its dotted path; the value itself is not repeated."""
    kind = str(schema.get("type", ""))
    expected = TYPES.get(kind)
    if expected is not None and (not isinstance(value, expected) or (kind == "number" and isinstance(value, bool))):
        return f"{path} takes a {kind}"
    allowed = schema.get("enum")
    if allowed and not schema.get("enumDynamic") and value not in allowed:
        return f"{path} takes one of {', '.join(map(str, allowed))}"
    if kind == "array":
        return _problem_of_items(path, schema, value)
    if kind == "object":
        return _problem_of_members(path, schema, value)
    return None


def _problem_of_items(path: str, schema: Schema, value: Any) -> str | None:
    low, high, items = schema.get("minItems"), schema.get("maxItems"), schema.get("items")
    if isinstance(low, int) and len(value) < low:
        return f"{path} takes at least {low} items"
    if isinstance(high, int) and len(value) > high:
        return f"{path} takes at most {high} items"
    if not isinstance(items, Mapping):
        return None
    found = (problem(f"{path}[{index}]", items, item) for index, item in enumerate(value))
    return next((why for why in found if why is not None), None)


def _problem_of_members(path: str, schema: Schema, value: Values) -> str | None:
    known: Mapping[str, Schema] = schema.get("properties") or {}
    for name in schema.get("required") or ():
        if name not in value:
            return f"{path}.{name} is missing"
    for name, member in value.items():
        rule = known.get(name) or schema.get("additionalProperties")
        if isinstance(rule, Mapping) and (why := problem(f"{path}.{name}", rule, member)) is not None:
            return why
    return None
