"""A plugin's folder becomes a container (C7.1).

Rules
* The format decides what is read; everything stays within the plugin by real path, for every format.
* A manifest that cannot be read is an error, and nothing is read by defaults that it may have excluded.
* Of several hooks files the first readable one counts; of several servers of one name the first.
* URIs of children are below the plugin's URI, also where that is a client's.
"""

import posixpath
from collections.abc import Iterable, Iterator
from typing import Final

from innkeeper.customizations.discovery.cache import Cache
from innkeeper.customizations.discovery.faults import failed
from innkeeper.customizations.discovery.formats import (
    AGENT_PLUGIN,
    CLAUDE,
    OPEN_PLUGIN,
    Component,
    PluginFormat,
    detect,
    root_values,
)
from innkeeper.customizations.discovery.hooks import HookSource, HooksRead, read_hooks
from innkeeper.customizations.discovery.items import DiscoveredPlugin
from innkeeper.customizations.discovery.leaves import LeafType
from innkeeper.customizations.discovery.limits import DEPTH, SKILL_DEPTH
from innkeeper.customizations.discovery.manifests import (
    JsonFile,
    Manifest,
    read_json,
    read_manifest,
    without_manifest,
)
from innkeeper.customizations.discovery.places import child_uri, shown
from innkeeper.customizations.discovery.reading import Children, Leaves, read_hooks_at, stem, unread_hook
from innkeeper.customizations.discovery.roots import PluginRoot
from innkeeper.customizations.discovery.servers import ServersRead, read_servers, read_servers_file
from innkeeper.customizations.discovery.walking import SKILL_FILE, Found, Unreachable, Walk, Wanted
from innkeeper.ports.files import FileFault

_FILES: Final[tuple[tuple[Component, LeafType, tuple[str, ...], int], ...]] = (
    ("agents", "agent", (".agent.md", ".md"), 1),
    ("rules", "rule", (".instructions.md", ".mdc"), DEPTH),
    ("commands", "prompt", (".prompt.md", ".md"), DEPTH),
)
"""Components of single Markdown files: the type, the ends of names, how deep."""

_EXCLUDED: Final = frozenset({"README.md"})


def discover_plugin(cache: Cache, plugin: PluginRoot) -> DiscoveredPlugin:
    """The container of a plugin; with a fault of its own it is in error and has no children."""
    return _Reading(cache, plugin).read()


class _Reading:
    """One reading of one plugin."""

    def __init__(self, cache: Cache, plugin: PluginRoot) -> None:
        self._cache = cache
        self._plugin = plugin
        self._children = Children()
        self._boundary = ""

    def read(self) -> DiscoveredPlugin:
        plugin = self._plugin
        try:
            self._boundary = self._cache.source.real(plugin.path)
            self._cache.listing(plugin.path)
        except FileFault as fault:
            return self._result(OPEN_PLUGIN, None, str(fault))
        format, manifest = self._manifest()
        if manifest.fault is not None:
            return self._result(format, manifest, f"{format.manifest}: {manifest.fault}")
        for problem in manifest.problems:
            self._children.tell(f"{format.manifest}: {problem}")
        for component, type, suffixes, depth in _FILES:
            for path in manifest.components[component].paths:
                self._read_files(path, type, Wanted(suffixes, _EXCLUDED, depth), path != format.defaults[component])
        self._read_skills(format, manifest)
        self._read_hooks(format, manifest)
        self._read_servers(format, manifest)
        return self._result(format, manifest, None)

    def _result(self, format: PluginFormat, manifest: Manifest | None, fault: str | None) -> DiscoveredPlugin:
        return DiscoveredPlugin(
            uri=self._plugin.uri,
            name=(manifest and manifest.name) or shown(posixpath.basename(self._plugin.path.rstrip("/"))) or "plugin",
            path=self._plugin.path,
            format=format.name,
            source=self._plugin.source,
            load=self._children.load if fault is None else failed(fault),
            children=self._children.items if fault is None else (),
            version=manifest.version if manifest else None,
            description=manifest.description if manifest else None,
        )

    def _path(self, relative: str) -> str:
        return self._plugin.path if relative == "." else posixpath.join(self._plugin.path, relative)

    def _uri(self, relative: str) -> str:
        return child_uri(self._plugin.uri, "" if relative == "." else relative)

    def _manifest(self) -> tuple[PluginFormat, Manifest]:
        files = {format.manifest: self._json(format.manifest) for format in (OPEN_PLUGIN, CLAUDE, AGENT_PLUGIN)}
        root = files[AGENT_PLUGIN.manifest]
        format = detect(
            self._plugin.path,
            root.value if root else None,
            files[OPEN_PLUGIN.manifest] is not None,
            files[CLAUDE.manifest] is not None,
        )
        file = files[format.manifest]
        return format, without_manifest(format) if file is None else read_manifest(file, format)

    def _json(self, relative: str) -> JsonFile | None:
        """A manifest; None when it is not there."""
        try:
            found = Walk(self._cache, self._boundary).file(self._path(relative), relative)
            if found.fault is not None:
                return JsonFile(fault=found.fault)
            return self._cache.value(found.path, "json", read_json)
        except Unreachable:
            return None
        except FileFault as fault:
            return JsonFile(fault=str(fault))

    def _read_files(self, relative: str, type: LeafType, wanted: Wanted, listed: bool) -> None:
        leaves = Leaves(self._cache, self._uri(relative), type)
        for found in self._found(relative, wanted, listed):
            name = stem(posixpath.basename(found.relative or relative), wanted.suffixes)
            self._children.add(leaves.read(found, name), shown(found.relative or relative))

    def _found(self, relative: str, wanted: Wanted, listed: bool) -> Iterator[Found]:
        """Files in a folder of the plugin, or the one file that is listed."""
        walk = Walk(self._cache, self._boundary)
        path = self._path(relative)
        try:
            if listed and self._is_file(path):
                yield walk.file(path, "")
            else:
                yield from walk.files(path, wanted)
        except Unreachable as unreachable:
            self._missing(relative, unreachable, listed)
        for problem in walk.problems:
            self._children.tell(f"{shown(relative)}/{problem}")

    def _read_skills(self, format: PluginFormat, manifest: Manifest) -> None:
        default = format.defaults["skills"]
        for relative in manifest.components["skills"].paths:
            walk = Walk(self._cache, self._boundary)
            try:
                own = format.root_skill and relative != default
                for found in walk.skills(self._path(relative), SKILL_DEPTH, own=own):
                    self._add_skill(relative, found)
            except Unreachable as unreachable:
                self._missing(relative, unreachable, relative != default)
            for problem in walk.problems:
                self._children.tell(f"{shown(relative)}/{problem}")
        has_skill = any(child.type == "skill" for child in self._children.items)
        if format.root_skill and not has_skill and SKILL_FILE in self._cache.listing(self._plugin.path).entries:
            self._add_skill(".", Walk(self._cache, self._boundary).file(self._path(SKILL_FILE), ""))

    def _add_skill(self, relative: str, found: Found) -> None:
        """A skill in the folder `found.relative` below `relative`; the folder gives its name."""
        folder = posixpath.normpath(posixpath.join(relative, found.relative))
        name = posixpath.basename(self._plugin.path.rstrip("/") if folder == "." else folder)
        leaves = Leaves(self._cache, self._plugin.uri, "skill")
        within = SKILL_FILE if folder == "." else f"{folder}/{SKILL_FILE}"
        self._children.add(leaves.read(found, name, within), shown(folder))

    def _read_hooks(self, format: PluginFormat, manifest: Manifest) -> None:
        component = manifest.components["hooks"]
        tokens = root_values(format.hook_tokens, self._plugin.path)
        if component.inline is not None:
            source = HookSource(self._uri(format.manifest), tokens=tokens)
            self._add_hooks(format.manifest, read_hooks(component.inline, source, manifest.text))
            return
        unreadable: list[tuple[str, str]] = []
        for relative in component.paths:
            found = self._file(relative, relative != format.defaults["hooks"])
            if found is None:
                continue
            read = read_hooks_at(self._cache, found, HookSource(self._uri(relative), tokens=tokens))
            if read.fault is None:
                self._add_hooks(relative, read)
                break
            unreadable.append((relative, read.fault))
        for relative, fault in unreadable:
            hook = unread_hook(HookSource(self._uri(relative)), shown(relative), fault)
            self._children.add(hook, shown(relative))

    def _add_hooks(self, relative: str, read: HooksRead) -> None:
        self._tell(relative, (*read.problems, *([read.fault] if read.fault else [])))
        for hook in read.hooks:
            self._children.add(hook, shown(relative))

    def _read_servers(self, format: PluginFormat, manifest: Manifest) -> None:
        component = manifest.components["mcpServers"]
        if component.inline is not None:
            file = JsonFile(text=manifest.text)
            pointer = (*format.fields, "mcpServers")
            read = read_servers(file, component.inline, self._uri(format.manifest), pointer)
            self._add_servers(format.manifest, read)
        for relative in component.paths:
            found = self._file(relative, relative != format.defaults["mcpServers"])
            if found is not None:
                self._add_servers(relative, self._servers(found, self._uri(relative)))

    def _servers(self, found: Found, uri: str) -> ServersRead:
        if found.fault is not None:
            return ServersRead(fault=found.fault)
        try:
            return self._cache.value(found.path, ("servers", uri), lambda data: read_servers_file(data, uri))
        except FileFault as fault:
            return ServersRead(fault=str(fault))

    def _add_servers(self, relative: str, read: ServersRead) -> None:
        self._tell(relative, (*read.problems, *([read.fault] if read.fault else [])))
        for server in read.servers:
            self._children.add(server, shown(relative))

    def _file(self, relative: str, listed: bool) -> Found | None:
        try:
            return Walk(self._cache, self._boundary).file(self._path(relative), relative)
        except Unreachable as unreachable:
            self._missing(relative, unreachable, listed)
            return None

    def _is_file(self, path: str) -> bool:
        try:
            return self._cache.source.stat(path).kind == "file"
        except FileFault:
            return False

    def _missing(self, relative: str, unreachable: Unreachable, listed: bool) -> None:
        """A default place need not be there, unless it cannot be looked into."""
        if listed or str(unreachable) != str(FileFault("missing")):
            self._tell(relative, (str(unreachable),))

    def _tell(self, relative: str, problems: Iterable[str]) -> None:
        for problem in problems:
            self._children.tell(f"{shown(relative)}: {problem}")
