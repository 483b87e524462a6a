"""What may reach the model, in Claude Code's words (C6.1, C6.2, C7.2).

Rules
* The agent is told to find nothing by itself. Everything it has was handed over: as plugin folders that the host makes
  for this one process, and as text at the end of its system prompt. What is withheld is in no folder and in no text.
* A skill is a link to its folder. Single files are copied, because the agent passes over links to files.
* Hooks are handed over from plugins only: what a project's files would run, the host does not run unasked.
* Of the ecosystems, Claude's own and the shared ones are handed over, skills of all of them, since their format is one.
* What a name means is said once: `names` are those by which the model calls skills and agents.
"""

import hashlib
import json
import posixpath
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from innkeeper.ports.customizations import Eligible, EligibleLeaf, EligiblePlugin, HookRun
from innkeeper.providers.files import Rule, local, located, safe

OWN: Final = frozenset({"claude", "shared"})
SHARED_RULES: Final = frozenset({"CLAUDE.md", "CLAUDE.local.md", "AGENTS.md"})
"""Of the files that several agents read, those that Claude reads."""
SKILL_FILE: Final = "SKILL.md"
EVENTS: Final = frozenset(
    {"PreToolUse", "PostToolUse", "Notification", "UserPromptSubmit", "SessionStart", "SessionEnd", "Stop"}
    | {"SubagentStop", "PreCompact"}
)


@dataclass(frozen=True, slots=True)
class HandedPlugin:
    """One folder of the agent's plugin format. `skills`, `agents` and `commands`: name to the local path it comes
    from."""

    name: str
    root: str | None
    skills: Mapping[str, str]
    agents: Mapping[str, str]
    commands: Mapping[str, str]
    hooks: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Handed:
    """Everything that one process of the agent is started with. `names`: skills and agents as the model calls them."""

    plugins: tuple[HandedPlugin, ...] = ()
    rules: tuple[Rule, ...] = ()
    names: frozenset[str] = field(default_factory=frozenset)

    def mark(self, texts: Sequence[str]) -> str:
        """Equal for what is equal to the agent; `texts` are the rules as they read now."""
        parts = [repr(plugin) + repr(_stamps(plugin)) for plugin in self.plugins]
        return hashlib.sha256("\0".join([*parts, repr(self.rules), *texts]).encode(errors="replace")).hexdigest()


def handed(eligible: Eligible, workspace: str | None) -> Handed:
    """What the agent is handed of a session; pure."""
    plugins = [_plugin(plugin, eligible) for plugin in eligible.plugins]
    plugins += _loose(eligible, workspace)
    rules = tuple(_rules(eligible))
    return Handed(tuple(plugins), rules, frozenset(name for plugin in plugins for name in names_of(plugin)))


def names_of(plugin: HandedPlugin) -> set[str]:
    """As the model calls them."""
    return {f"{plugin.name}:{name}" for name in (*plugin.skills, *plugin.agents, *plugin.commands)}


def _plugin(plugin: EligiblePlugin, eligible: Eligible) -> HandedPlugin:
    leaves = [leaf for leaf in eligible.leaves if leaf.plugin == plugin.uri]
    return _filled(safe(plugin.name), plugin.path, leaves, plugin)


def _loose(eligible: Eligible, workspace: str | None) -> list[HandedPlugin]:
    """What lies in directories, one plugin for each ecosystem and place."""
    groups: dict[str, list[EligibleLeaf]] = {}
    for leaf in eligible.leaves:
        if (
            leaf.plugin is None
            and (leaf.ecosystem in OWN or leaf.type == "skill")
            and leaf.type not in ("hook", "rule")
        ):
            path = local(leaf.uri)
            inside = workspace is not None and path is not None and path.startswith(workspace.rstrip("/") + "/")
            groups.setdefault(f"{leaf.ecosystem}{'' if inside else '-user'}", []).append(leaf)
    return [_filled(name, None, leaves, None) for name, leaves in groups.items()]


def _filled(name: str, root: str | None, leaves: Sequence[EligibleLeaf], plugin: EligiblePlugin | None) -> HandedPlugin:
    found: dict[str, dict[str, str]] = {"skill": {}, "agent": {}, "prompt": {}}
    for leaf in leaves:
        path = local(leaf.uri, plugin)
        if path is not None and leaf.type in found:
            if leaf.type == "skill" and posixpath.basename(path) == SKILL_FILE:
                path = posixpath.dirname(path)
            found[leaf.type].setdefault(safe(leaf.name), path)
    runs = [run for leaf in leaves if leaf.type == "hook" for run in leaf.runs] if plugin is not None else []
    return HandedPlugin(name, root, found["skill"], found["agent"], found["prompt"], _hooks(runs, root))


def _hooks(runs: Sequence[HookRun], root: str | None) -> dict[str, Any]:
    hooks: dict[str, list[Any]] = {}
    for run in runs:
        command = run.commands.get("linux") or run.commands.get("default")
        if run.event not in EVENTS or command is None:
            continue
        given = {**({"CLAUDE_PLUGIN_ROOT": root} if root is not None else {}), **run.env}
        exported = "".join(f"export {name}={shlex.quote(value)}; " for name, value in given.items())
        entered = "" if run.cwd is None else f"cd {shlex.quote(run.cwd)} && "
        hook: dict[str, Any] = {"type": "command", "command": f"{exported}{entered}{command}"}
        if run.timeout is not None:
            hook["timeout"] = run.timeout
        matched = {} if run.matcher is None else {"matcher": run.matcher}
        hooks.setdefault(run.event, []).append({**matched, "hooks": [hook]})
    return hooks


def _rules(eligible: Eligible) -> list[Rule]:
    rules: dict[str, Rule] = {}
    for leaf, path in located(eligible, "rule"):
        if leaf.plugin is not None or _is_ours(leaf, path):
            rules.setdefault(path, Rule.of(leaf, path))
    return list(rules.values())


def _is_ours(leaf: EligibleLeaf, path: str) -> bool:
    if leaf.ecosystem == "shared":
        return posixpath.basename(path) in SHARED_RULES
    return leaf.ecosystem == "claude"


def _stamps(plugin: HandedPlugin) -> list[tuple[str, int]]:
    """When the files were changed: a changed definition needs a new process."""
    stamps = []
    for path in (
        *plugin.agents.values(),
        *plugin.commands.values(),
        *(f"{s}/{SKILL_FILE}" for s in plugin.skills.values()),
    ):
        try:
            stamps.append((path, Path(path).stat().st_mtime_ns))
        except OSError:
            stamps.append((path, 0))
    return stamps


# -- on disk, off the event loop ------------------------------------------------------------------------------------


def read_rules(given: Handed) -> list[str]:
    """The rules as text for the system prompt, in order; one that cannot be read is left out."""
    return [words for rule in given.rules if (words := rule.words()) is not None]


def lay_out(given: Handed, texts: Sequence[str], folder: Path) -> tuple[list[str], str | None]:
    """Write the plugin folders and the text below `folder`, which is made anew. The paths of the plugins, and of the
    file with the text."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, mode=0o700)
    paths = [
        str(_laid_out(plugin, folder / "plugins" / f"{number}-{plugin.name}"))
        for number, plugin in enumerate(given.plugins)
    ]
    if not texts:
        return paths, None
    file = folder / "instructions.md"
    file.write_text("\n\n".join(texts))
    return paths, str(file)


def _laid_out(plugin: HandedPlugin, at: Path) -> Path:
    (at / ".claude-plugin").mkdir(parents=True)
    manifest = {"name": plugin.name, "version": "0.0.0", "description": "Handed over by Innkeeper."}
    (at / ".claude-plugin" / "plugin.json").write_text(json.dumps(manifest))
    for kind, found in (("skills", plugin.skills), ("agents", plugin.agents), ("commands", plugin.commands)):
        for name, source in found.items():
            target = at / kind / (name if kind == "skills" else f"{name}.md")
            target.parent.mkdir(exist_ok=True)
            if kind == "skills":
                target.symlink_to(source, target_is_directory=True)
            elif Path(source).is_file():
                shutil.copyfile(source, target)
    if plugin.hooks:
        (at / "hooks").mkdir()
        (at / "hooks" / "hooks.json").write_text(json.dumps({"hooks": plugin.hooks}))
    return at
