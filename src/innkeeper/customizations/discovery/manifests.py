"""What a plugin's manifest says (C7.1). Pure; never raises.

Rules
* A component field is a path, a list of paths, or `{paths, exclusive}`; the default place is read too unless it is
  exclusive. An object without `paths` for hooks or servers defines them inline and replaces files.
* A path that is absolute or leads out of the plugin is dropped, and said.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from innkeeper.customizations.discovery.formats import COMPONENTS, Component, PluginFormat
from innkeeper.customizations.discovery.hooks import JSON_LIMITS, with_tokens
from innkeeper.customizations.discovery.limits import LIST_ITEMS, NAME_CHARACTERS, TEXT_CHARACTERS
from innkeeper.customizations.discovery.places import contained
from innkeeper.wire.json import JsonError, decode


@dataclass(frozen=True, slots=True)
class ComponentField:
    """Where a component is: paths relative to the root, in order, or an inline definition."""

    paths: tuple[str, ...]
    inline: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Manifest:
    """`components` has an entry for each component. `text` is what was read, for lines of inline definitions."""

    components: Mapping[Component, ComponentField]
    name: str | None = None
    version: str | None = None
    description: str | None = None
    text: str = field(default="", repr=False)
    problems: tuple[str, ...] = ()
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class JsonFile:
    """A decoded file, or why it is none."""

    value: object = None
    text: str = field(default="", repr=False)
    fault: str | None = None


def read_json(data: bytes) -> JsonFile:
    try:
        value = decode(data.removeprefix(b"\xef\xbb\xbf"), JSON_LIMITS)
    except JsonError as error:
        return JsonFile(fault=str(error))
    return JsonFile(value, data.decode("utf-8", "replace"))


def without_manifest(format: PluginFormat) -> Manifest:
    """The defaults of a format."""
    return Manifest({component: ComponentField((format.defaults[component],)) for component in COMPONENTS})


def read_manifest(file: JsonFile, format: PluginFormat) -> Manifest:
    """What the manifest says; with a `fault` nothing may be concluded from the defaults it carries."""
    defaults = without_manifest(format)
    content = file.value
    if file.fault is not None or not isinstance(content, Mapping):
        return Manifest(defaults.components, fault=file.fault or "it is not a JSON object")
    fields: object = content
    for step in format.fields:
        fields = fields.get(step) if isinstance(fields, Mapping) else None
    problems: list[str] = []
    if fields is not None and not isinstance(fields, Mapping):
        problems.append(f"{'.'.join(format.fields)} is not an object")
    given: Mapping[str, object] = fields if isinstance(fields, Mapping) else {}
    components = {
        component: _component(component, given[component], format, problems)
        if component in given
        else defaults.components[component]
        for component in COMPONENTS
    }
    return Manifest(
        components,
        name=_text(content, "name", NAME_CHARACTERS, problems),
        version=_text(content, "version", NAME_CHARACTERS, problems),
        description=_text(content, "description", TEXT_CHARACTERS, problems),
        text=file.text,
        problems=tuple(problems),
    )


def _component(component: Component, value: object, format: PluginFormat, problems: list[str]) -> ComponentField:
    exclusive = False
    paths: object = value
    if isinstance(value, Mapping):
        if "paths" not in value:
            if component in ("hooks", "mcpServers"):
                return ComponentField((), value)
            problems.append(f"{component} has no paths")
            paths = []
        else:
            paths, exclusive = value["paths"], value.get("exclusive") is True
    listed: Sequence[object] = [paths] if isinstance(paths, str) else paths if isinstance(paths, list) else []
    if not isinstance(paths, (str, list)):
        problems.append(f"{component} is neither a path nor a list of paths")
    found = [] if exclusive else [format.defaults[component]]
    for item in listed[:LIST_ITEMS]:
        path = _path(item, format)
        if path is None:
            problems.append(f"a path of {component} leads out of the plugin")
        elif path not in found:
            found.append(path)
    return ComponentField(tuple(found))


def _path(item: object, format: PluginFormat) -> str | None:
    if not isinstance(item, str):
        return None
    names = (*format.hook_tokens, *format.server_tokens)
    return contained(with_tokens(item, [(name, ".") for name in names]))


def _text(content: Mapping[object, object], key: str, limit: int, problems: list[str]) -> str | None:
    value = content.get(key)
    if isinstance(value, str) and (key == "description" or value.strip().isprintable()):
        return value.strip()[:limit] or None
    if value is not None:
        problems.append(f"{key} is not a plain text")
    return None
