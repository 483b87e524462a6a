"""Compares our protocol declarations with the published JSON Schemas: names, members, tags, types, what is required.

The schemas are read from `$INNKEEPER_SHARED/ahp` (default `../shared`); without them this says so and exits 0. The
released version and the development version are compared with the same declarations, so what only one of them has is
explained in `EXPLAINED`. A difference that nothing explains, and an explanation that nothing needs, exit 1.
"""

import importlib
import json
import os
import pkgutil
import re
import sys
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from typing_extensions import get_type_hints, is_typeddict  # noqa: E402

import innkeeper.protocol  # noqa: E402
from innkeeper.protocol import errors  # noqa: E402
from innkeeper.protocol.actions import ACTIONS  # noqa: E402
from innkeeper.protocol.compiler import bare, literals, parts  # noqa: E402

SCHEMAS = ("schema-1.0.0", "schema")
FILES = ("state", "actions", "commands", "notifications", "errors")
TOOLS = {"actions", "channels", "check", "compiler", "methods", "types", "uris", "versions"}
ERROR_CODES = ("AhpErrorCode", "JsonRpcErrorCode")
SCALARS: Mapping[str, Set[Any]] = {
    "string": {str},
    "boolean": {bool},
    "number": {int, float},
    "integer": {int},
    "null": {type(None)},
}

NEWER = "1.1-dev; the newer schema has it"
NO_SCHEMA = "1.1-dev, declared from the text of AHP §12; no schema was published"
IN_PLACE = "our name for an object that the schema writes in place"
BASE = "our base for members that several declarations share"
PARTIAL = "our name for Partial<…>, which the schema writes in place"

EXPLAINED: Mapping[str, str] = {
    "schema-1.0.0: action chat/steeringMessage*: only ours": NEWER,
    "schema-1.0.0: ChatSteeringMessage*Action: only ours": NEWER,
    "schema-1.0.0: ChatAction: only ours: ChatSteeringMessageSetAction, ChatSteeringMessageRemovedAction": NEWER,
    "schema-1.0.0: *.steeringMessages: only ours": NEWER,
    "schema-1.0.0: SessionModelInfo.vendor: only ours": NEWER,
    "*: action session/artifact*: only ours": NO_SCHEMA,
    "*: SessionArtifact*Action: only ours": NO_SCHEMA,
    "*: ArtifactRelation: only ours": NO_SCHEMA,
    "*: ResourceArtifact: only ours": NO_SCHEMA,
    "*: Session*.artifacts: only ours": NO_SCHEMA,
    "*: StateAction: only ours: SessionArtifactSetAction, SessionArtifactRemovedAction*": NO_SCHEMA,
    "*: Channel*Params: only ours": NO_SCHEMA,
    "*: FlowControl*: only ours": NO_SCHEMA,
    "*: Subscribe*.flowControl: only ours": NO_SCHEMA,
    "*: ReconnectWindow*: only ours": NO_SCHEMA,
    "*: RecoveredWindow*: only ours": NO_SCHEMA,
    "*: Reconnect*.windows: only ours": NO_SCHEMA,
    "*: Tcp*Params: only ours": NO_SCHEMA,
    "*: CreateTcpConnectionParams: only ours": NO_SCHEMA,
    "*: InitializeResult.tcpConnections: only ours": NO_SCHEMA,
    "*: *ChatOrigin: only ours": IN_PLACE,
    "*: *Enablement: only ours": IN_PLACE,
    "*: Changeset*Target: only ours": IN_PLACE,
    "*: GlobList: only ours": IN_PLACE,
    "*: ListChangedCapability: only ours": IN_PLACE,
    "*: SamplingCapability: only ours": IN_PLACE,
    "*: MarkdownText: only ours": IN_PLACE,
    "*: ResourceChanges: only ours": IN_PLACE,
    "*: ToolCallError: only ours": IN_PLACE,
    "*: ToolObjectSchema: only ours": IN_PLACE,
    "*: Partial*Summary: only ours": PARTIAL,
    "*: RootParams: only ours": BASE,
    "*: AutomationsParams: only ours": BASE,
    "*: ToolCallIdentity: only ours": BASE,
    "*: CanvasAction: only ours": "our union of the channel's actions, which has one member",
    "*: ResourceWatchAction: only ours": "our union of the channel's actions, which has one member",
    "*: AhpErrorDetailsMap: only theirs": "a table of types, not a shape on the wire; `errors` has the three shapes",
    "*: ProtocolNotification: only theirs": "a union of params that nothing tells apart; `methods` has the table",
    "*: SessionOrigin: AutomationSessionOrigin in the schema": "a union of one so far, and open (AHP Appendix A)",
    "*: SessionStatus: values differ: *": "a bit set, for which the schema lists single flags (AHP §16)",
    "*: ToolDefinition.*putSchema.properties{}: an object in the schema": "JSON Schema also has `true` and `false`",
}

Definition = Mapping[str, Any]


def read_schemas(folder: Path) -> dict[str, Definition]:
    """The definitions of all files by name. `StateAction` differs between files; that of the actions counts."""
    found: dict[str, Definition] = {}
    for name in FILES:
        for key, definition in json.loads((folder / f"{name}.schema.json").read_text("utf-8"))["$defs"].items():
            if key not in found or name == "actions":
                found[key] = definition
    return found


def read_declarations() -> dict[str, Any]:
    """Every class and alias of `innkeeper.protocol` that says something about the wire, by name."""
    found: dict[str, Any] = {}
    for info in pkgutil.walk_packages(innkeeper.protocol.__path__, "innkeeper.protocol."):
        if info.name.split(".")[2] not in TOOLS or info.name == "innkeeper.protocol.actions":
            module = importlib.import_module(info.name)
            names = [name for name in vars(module) if (name[0].isupper() and not name.isupper()) or name == "URI"]
            found |= {name: getattr(module, name) for name in names if is_ours(getattr(module, name))}
    return found


def is_ours(value: object) -> bool:
    """Not one of the words that declarations are written with."""
    return is_typeddict(value) or get_origin(value) not in (None, Sequence) or value in (str, int)


class Comparison:
    """Differences between one folder of schemas and our declarations."""

    def __init__(self, definitions: Mapping[str, Definition], declared: Mapping[str, Any]) -> None:
        self.definitions = definitions
        self.declared = declared

    def differences(self) -> Iterator[str]:
        yield from self.action_tags()
        yield from self.error_codes()
        ours = {name for name, value in self.declared.items() if is_typeddict(value)}
        for name in sorted(ours - self.definitions.keys()):
            yield f"{name}: only ours"
        for name, definition in sorted(self.definitions.items()):
            if name in self.declared:
                yield from self.compare(name, definition, self.declared[name])
            elif name not in ERROR_CODES:
                yield f"{name}: only theirs"

    def action_tags(self) -> Iterator[str]:
        actions = [value for name, value in self.definitions.items() if name.endswith("Action")]
        theirs = {value["properties"]["type"]["const"] for value in actions if "type" in value.get("properties", {})}
        for tag in sorted(theirs ^ ACTIONS.keys()):
            yield f"action {tag}: only {'ours' if tag in ACTIONS else 'theirs'}"

    def error_codes(self) -> Iterator[str]:
        theirs = {code for name in ERROR_CODES for code in self.definitions[name]["enum"]}
        ours = {value for name, value in vars(errors).items() if name.isupper() and isinstance(value, int)}
        for code in sorted(theirs ^ ours):
            yield f"error {code}: only {'ours' if code in ours else 'theirs'}"

    def compare(self, path: str, definition: Definition, declared: Any) -> Iterator[str]:
        """Differences between a definition and a declaration, each with the path of the member."""
        if "$ref" in definition:
            yield from self.compare_reference(path, definition["$ref"].removeprefix("#/$defs/"), declared)
        elif values := set(schema_values(definition)):
            if values != set(known_values(declared)):
                yield f"{path}: values differ: {', '.join(sorted(map(str, values ^ set(known_values(declared)))))}"
        elif "oneOf" in definition:
            yield from self.compare_union(path, definition["oneOf"], declared)
        elif definition.get("type") == "object":
            yield from self.compare_object(path, definition, declared)
        elif definition.get("type") == "array":
            if get_origin(declared) is Sequence:
                yield from self.compare(f"{path}[]", definition.get("items", {}), get_args(declared)[0])
            else:
                yield f"{path}: an array in the schema"
        elif "type" in definition and not set(map(scalar_type, parts(declared))) <= SCALARS[definition["type"]]:
            yield f"{path}: {definition['type']} in the schema"

    def compare_reference(self, path: str, name: str, declared: Any) -> Iterator[str]:
        if not name:
            return
        if self.declared.get(name) == declared:
            return
        inside = self.definitions.get(name, {})
        names_a_scalar = inside.get("type") in SCALARS and "enum" not in inside
        if names_a_scalar:
            yield from self.compare(path, inside, declared)
        else:
            yield f"{path}: {name} in the schema"

    def compare_union(self, path: str, branches: Sequence[Definition], declared: Any) -> Iterator[str]:
        ours = list(parts(declared))
        for branch in branches:
            if branch.get("$ref") == "#/$defs/":
                continue
            matching = [part for part in ours if not list(self.compare(path, branch, part))]
            same_tag = [part for part in ours if self.tags(branch) and self.tags(branch) == list(tag_values(part))]
            if matching or same_tag:
                chosen = (matching or same_tag)[0]
                ours.remove(chosen)
                yield from () if matching else self.compare(path, branch, chosen)
            elif not (nested := self.nested(branch, ours)):
                yield f"{path}: no variant like {branch.get('$ref') or json.dumps(branch)[:80]}"
            else:
                ours = [part for part in ours if part not in nested]
        rest: list[Any] = [part for part in ours if get_origin(part) is not Literal and part not in (int, float)]
        if rest:
            yield f"{path}: only ours: {', '.join(part.__name__ for part in rest)}"

    def nested(self, branch: Definition, ours: Sequence[Any]) -> Sequence[Any]:
        """The variants behind a branch that is a union itself."""
        alias = self.declared.get(branch.get("$ref", "").removeprefix("#/$defs/"))
        inside = parts(alias) if alias is not None else []
        return inside if len(inside) > 1 and all(part in ours for part in inside) else []

    def tags(self, branch: Definition) -> list[tuple[str, object]]:
        inside = self.definitions.get(branch.get("$ref", "").removeprefix("#/$defs/"), branch)
        required = inside.get("required", ())
        found = {key: list(schema_values(inside["properties"][key])) for key in required if "properties" in inside}
        return [(key, value) for key in ("type", "kind", "status", "state") for value in found.get(key, ())]

    def compare_object(self, path: str, definition: Definition, declared: Any) -> Iterator[str]:
        if "properties" not in definition and get_origin(declared) is Mapping:
            yield from self.compare(f"{path}{{}}", definition.get("additionalProperties") or {}, get_args(declared)[1])
            return
        if not is_typeddict(declared):
            yield f"{path}: an object in the schema"
            return
        hints = {key: bare(hint) for key, hint in get_type_hints(declared, include_extras=True).items()}
        properties, required = definition.get("properties", {}), set(definition.get("required", ()))
        for key in sorted(hints.keys() ^ properties.keys()):
            yield f"{path}.{key}: only {'ours' if key in hints else 'theirs'}"
        for key in sorted(hints.keys() & properties.keys()):
            if (key in declared.__required_keys__) != (key in required):
                yield f"{path}.{key}: {'required' if key in required else 'optional'} in the schema"
            yield from self.compare(f"{path}.{key}", properties[key], hints[key])


def schema_values(definition: Definition) -> Iterator[object]:
    """The values of an enumeration; nothing for anything else."""
    yield from definition.get("enum", ())
    if "const" in definition:
        yield definition["const"]
    branches = definition.get("oneOf", ())
    if branches and all("const" in branch for branch in branches):
        yield from (branch["const"] for branch in branches)


def known_values(declared: Any) -> Iterator[object]:
    for part in parts(declared):
        if get_origin(part) is Literal:
            yield from get_args(part)


def scalar_type(part: Any) -> Any:
    return type(get_args(part)[0]) if get_origin(part) is Literal else part


def tag_values(part: Any) -> Iterator[tuple[str, object]]:
    tags = literals(part)
    for key in ("type", "kind", "status", "state"):
        yield from ((key, value) for value in tags.get(key, ()) if isinstance(value, str))


def unexplained(found: Sequence[str], explained: Mapping[str, str]) -> Iterator[str]:
    """The differences that no explanation covers, then the explanations that cover nothing."""
    patterns = {pattern: re.compile(re.escape(pattern).replace(r"\*", ".*")) for pattern in explained}
    yield from (line for line in found if not any(regex.fullmatch(line) for regex in patterns.values()))
    for pattern, regex in patterns.items():
        if not any(regex.fullmatch(line) for line in found):
            yield f"explained, but no such difference: {pattern}"


def main(arguments: Sequence[str] = ()) -> int:
    """`drift_protocol.py [SHARED]`; 0 when every difference is explained."""
    shared = Path(arguments[0] if arguments else os.environ.get("INNKEEPER_SHARED") or ROOT.parent / "shared")
    if not (shared / "ahp").is_dir():
        print(f"drift: protocol not compared, no schemas in {shared}")
        return 0
    declared = read_declarations()
    found = [
        f"{name}: {line}"
        for name in SCHEMAS
        for line in Comparison(read_schemas(shared / "ahp" / name), declared).differences()
    ]
    left = list(unexplained(found, EXPLAINED))
    for line in left:
        print(line)
    print(f"drift: protocol compared, {len(found)} differences, {len(left)} of them unexplained")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
