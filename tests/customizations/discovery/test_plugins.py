"""Plugins of every format (C7.1)."""

import json
from collections.abc import Mapping

import pytest

from customizations.discovery.memory import Link, MemoryFiles, Node
from innkeeper.customizations.discovery import (
    DiscoveredHook,
    DiscoveredPlugin,
    DiscoveredServer,
    Discovery,
    Places,
    PluginRoot,
)
from innkeeper.customizations.discovery.formats import COMPONENTS, FORMATS

P = "/w/p"
SCHEMA = "https://agent-plugins.org/schemas/v1/plugin.schema.json"
SKILL = "---\nname: {0}\n---\n"


def discover(tree: Mapping[str, Node | str], path: str = P, published: str | None = None) -> DiscoveredPlugin:
    files = MemoryFiles({path: None, **{f"{path}/{name}": node for name, node in tree.items()}})
    change = Discovery(files).scan(Places(plugins=(PluginRoot(path, published=published),)))
    found = change.containers[0]
    assert isinstance(found, DiscoveredPlugin)
    return found


def names(found: DiscoveredPlugin, type: str | None = None) -> list[str]:
    return [child.name for child in found.children if type in (None, child.type)]


def message(found: DiscoveredPlugin) -> str:
    return str(found.load.get("message", ""))


def manifest(**content: object) -> str:
    return json.dumps(content)


HOOKS = manifest(hooks={"Stop": [{"matcher": "m", "command": "x"}]})
SERVERS = manifest(mcpServers={"srv": {"command": "x"}})
EXTENSION = "com.github.copilot"
EVERYTHING = ["helper", "deploy", "style", "check", "Stop(m)", "srv"]

FULL: dict[str, dict[str, Node | str]] = {
    "agentPlugin": {
        "plugin.json": json.dumps({"$schema": SCHEMA, "name": "full", "version": "1.2"}),
        f"{EXTENSION}/agents/helper.md": "x",
        f"{EXTENSION}/rules/style.mdc": "x",
        f"{EXTENSION}/commands/deploy.md": "x",
        f"{EXTENSION}/hooks/hooks.json": HOOKS,
        "skills/check/SKILL.md": "x",
        "mcp.json": SERVERS,
    },
    "openPlugin": {
        ".plugin/plugin.json": manifest(name="full", version="1.2"),
        "agents/helper.agent.md": "x",
        "rules/style.instructions.md": "x",
        "commands/deploy.md": "x",
        "hooks/hooks.json": HOOKS,
        "skills/check/SKILL.md": "x",
        ".mcp.json": SERVERS,
    },
    "claude": {
        ".claude-plugin/plugin.json": manifest(name="full", version="1.2"),
        "agents/helper.md": "x",
        "rules/style.mdc": "x",
        "commands/deploy.md": "x",
        "hooks/hooks.json": HOOKS,
        "skills/check/SKILL.md": "x",
        ".mcp.json": SERVERS,
    },
    "copilot": {
        "plugin.json": manifest(name="full", version="1.2"),
        "agents/helper.md": "x",
        "rules/style.mdc": "x",
        "commands/deploy.prompt.md": "x",
        "hooks.json": HOOKS,
        "skills/check/SKILL.md": "x",
        ".mcp.json": SERVERS,
    },
}


@pytest.mark.parametrize("format", FULL)
def test_every_format_gives_every_component_from_its_places(format: str) -> None:
    found = discover(FULL[format])

    assert (found.format, found.name, found.version, found.load) == (format, "full", "1.2", {"kind": "loaded"})
    assert {child.type: child.name for child in found.children} == {
        "agent": "helper",
        "prompt": "deploy",
        "rule": "style",
        "skill": "check",
        "hook": "Stop(m)",
        "mcpServer": "srv",
    }
    assert all(child.uri.startswith(f"file://{P}/") for child in found.children)


def test_the_table_of_formats_is_whole() -> None:
    assert [format.name for format in FORMATS] == list(FULL)
    assert all(set(format.defaults) == set(COMPONENTS) for format in FORMATS)


@pytest.mark.parametrize(
    ("tree", "path", "format"),
    [
        ({"plugin.json": json.dumps({"$schema": SCHEMA}), ".plugin/plugin.json": "{}"}, P, "agentPlugin"),
        ({"plugin.json": json.dumps({"$schema": SCHEMA + "x"}), ".plugin/plugin.json": "{}"}, P, "openPlugin"),
        ({"plugin.json": json.dumps({"$schema": "http://evil/plugin.schema.json"})}, P, "copilot"),
        ({".plugin/plugin.json": "{}", ".claude-plugin/plugin.json": "{}"}, P, "openPlugin"),
        ({".claude-plugin/plugin.json": "{}", "plugin.json": "{}"}, P, "claude"),
        ({}, "/h/.claude/plugins/p", "claude"),
        ({"plugin.json": "{}"}, P, "copilot"),
        ({}, P, "copilot"),
    ],
)
def test_formats_are_told_apart_in_order(tree: dict[str, Node | str], path: str, format: str) -> None:
    assert discover(tree, path).format == format


def test_a_plugin_without_a_manifest_has_the_name_of_its_folder() -> None:
    found = discover({"skills/check/SKILL.md": "x"})
    assert (found.name, names(found)) == ("p", ["check"])


def test_the_manifest_of_an_agent_plugin_has_its_fields_in_its_extension() -> None:
    content = {
        "$schema": SCHEMA,
        "skills": "ignored",
        "extensions": {EXTENSION: {"agents": {"paths": ["a"], "exclusive": True}}},
    }
    found = discover({"plugin.json": json.dumps(content), "a/x.md": "x", f"{EXTENSION}/agents/y.md": "y"})

    assert (names(found), found.load) == (["x"], {"kind": "loaded"})


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("more", ["a", "b"]),
        (["more", "./third/"], ["a", "b", "c"]),
        ({"paths": ["more"]}, ["a", "b"]),
        ({"paths": ["more"], "exclusive": True}, ["b"]),
        ({"paths": [], "exclusive": True}, []),
        ("${CLAUDE_PLUGIN_ROOT}/more", ["a", "b"]),
        ("more/b.md", ["a", "b"]),
    ],
)
def test_listed_paths_add_to_the_default_unless_exclusive(field: object, expected: list[str]) -> None:
    tree = {"agents/a.md": "", "more/b.md": "", "third/c.md": "", ".claude-plugin/plugin.json": manifest(agents=field)}
    found = discover(tree)

    assert (names(found, "agent"), found.load) == (expected, {"kind": "loaded"})


@pytest.mark.parametrize("path", ["../other", "/etc", "a/../../x", "C:/x", "~/x", "\\\\host\\x", "", 5])
def test_a_path_that_leads_out_is_dropped_and_told(path: object) -> None:
    found = discover({"agents/a.md": "", ".plugin/plugin.json": manifest(agents=[path])})

    assert names(found) == ["a"]
    assert "leads out of the plugin" in message(found)


def test_a_listed_path_that_is_not_there_is_told_and_a_default_one_is_not() -> None:
    found = discover({".plugin/plugin.json": manifest(agents="a", skills="b", hooks="c.json")})
    assert message(found) == "; ".join(f"{name}: it does not exist" for name in ("a", "b", "c.json"))

    assert discover({".plugin/plugin.json": "{}"}).load == {"kind": "loaded"}


@pytest.mark.parametrize("field", [5, True, {"exclusive": True}, None])
def test_a_field_of_the_wrong_form_leaves_the_default(field: object) -> None:
    found = discover({"agents/a.md": "", ".plugin/plugin.json": manifest(agents=field)})
    assert (names(found), found.load["kind"]) == (["a"], "degraded")


def test_inline_definitions_replace_the_files() -> None:
    content = manifest(mcpServers={"inner": {"command": "x"}}, hooks={"Stop": [{"command": "${PLUGIN_ROOT}/x"}]})
    found = discover({".plugin/plugin.json": content, ".mcp.json": SERVERS, "hooks/hooks.json": HOOKS})

    server, hook = found.children[1], found.children[0]
    assert isinstance(server, DiscoveredServer)
    assert isinstance(hook, DiscoveredHook)
    assert names(found) == ["Stop", "inner"]
    assert (server.uri, server.pointer) == (f"file://{P}/.plugin/plugin.json", ("mcpServers", "inner"))
    assert hook.runs[0].commands == {"default": f"{P}/x"}


def test_servers_come_from_all_files_the_first_of_a_name_wins() -> None:
    tree = {
        ".plugin/plugin.json": manifest(mcpServers=["more.json"]),
        ".mcp.json": SERVERS,
        "more.json": manifest(srv={"url": "http://x"}, other={"url": "http://x"}, bad=5),
    }
    found = discover(tree)

    assert names(found, "mcpServer") == ["other", "srv"]
    assert [child.uri.rsplit("/", 1)[1] for child in found.children] == ["more.json", ".mcp.json"]
    assert "another mcpServer has its name" in message(found)
    assert "a server's value is not an object" in message(found)


def test_a_server_has_its_place_in_the_file() -> None:
    found = discover({".mcp.json": json.dumps({"mcpServers": {"srv": {}}}, indent=1)})
    server = found.children[0]

    assert isinstance(server, DiscoveredServer)
    assert server.pointer == ("mcpServers", "srv")
    assert server.range == {"start": {"line": 2, "character": 2}, "end": {"line": 2, "character": 7}}


def test_of_several_hooks_files_the_first_readable_counts() -> None:
    tree = {
        ".plugin/plugin.json": manifest(hooks=["bad.json", "good.json", "late.json"]),
        "bad.json": "{",
        "good.json": HOOKS,
        "late.json": manifest(hooks={"PreCompact": [{"command": "x"}]}),
    }
    found = discover(tree)

    assert names(found) == ["Stop(m)", "bad.json"]
    assert "bad.json: not valid JSON" in message(found)


def test_nested_skill_folders_are_found_and_a_skills_own_folders_are_not() -> None:
    """C7.1; vscode#328927."""
    tree = {
        "skills/top/SKILL.md": "",
        "skills/top/examples/inner/SKILL.md": "",
        "skills/group/one/SKILL.md": "",
        "skills/group/deep/two/SKILL.md": "",
        "skills/empty/README.md": "",
    }
    found = discover(tree)

    assert names(found) == ["one", "top", "two"]
    assert found.children[2].uri == f"file://{P}/skills/group/deep/two/SKILL.md"


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        ({"SKILL.md": SKILL.format("root")}, ["root"]),
        ({"SKILL.md": "no name"}, ["p"]),
        ({"SKILL.md": "", "skills/a/SKILL.md": ""}, ["a"]),
        ({"my/SKILL.md": "", ".plugin/plugin.json": manifest(skills="my")}, ["my"]),
        ({"my/x/SKILL.md": "", ".plugin/plugin.json": manifest(skills="my")}, ["x"]),
        ({"plugin.json": json.dumps({"$schema": SCHEMA}), "SKILL.md": ""}, []),
    ],
)
def test_a_root_or_a_listed_folder_may_be_a_skill_itself(tree: dict[str, Node | str], expected: list[str]) -> None:
    assert names(discover(tree), "skill") == expected


def test_of_two_skills_of_one_name_the_first_stands() -> None:
    found = discover({"skills/a/SKILL.md": SKILL.format("same"), "skills/b/SKILL.md": SKILL.format("same")})

    assert [child.uri for child in found.children] == [f"file://{P}/skills/a/SKILL.md"]
    assert "skills/b: another skill has its name" in message(found)


def test_readme_files_are_no_agents_and_hidden_folders_are_not_entered() -> None:
    found = discover(
        {"agents/README.md": "", "agents/a.md": "", "commands/.git/x.md": "", "commands/node_modules/y.md": ""}
    )
    assert names(found) == ["a"]


@pytest.mark.parametrize("text", ["{", "[]", "\0", '"x"'])
def test_a_broken_manifest_is_an_error_and_nothing_is_read_by_default(text: str) -> None:
    found = discover({".plugin/plugin.json": text, "agents/a.md": ""})

    assert (found.load["kind"], found.children) == ("error", ())
    assert message(found).startswith(".plugin/plugin.json: ")


def test_a_manifest_outside_of_the_plugin_is_an_error() -> None:
    files = MemoryFiles(
        {f"{P}/agents/a.md": "", f"{P}/.plugin/plugin.json": Link("/w/other.json"), "/w/other.json": "{}"}
    )
    found = Discovery(files).scan(Places(plugins=(PluginRoot(P),))).containers[0]
    assert (found.load["kind"], found.children) == ("error", ())


def test_a_plugin_that_is_not_there_is_an_error() -> None:
    found = Discovery(MemoryFiles()).scan(Places(plugins=(PluginRoot("/gone"),))).containers[0]
    assert (found.name, found.load) == ("gone", {"kind": "error", "message": "it does not exist"})


@pytest.mark.parametrize("format", FULL)
def test_real_paths_stay_within_the_plugin_in_every_format(format: str) -> None:
    """C7.1: containment for every format, not for one."""
    outside = MemoryFiles({f"{P}/{name}": node for name, node in FULL[format].items()})
    outside.put("/secret/agent.md", "---\ndescription: secret\n---\n")
    outside.put("/secret/skills/x/SKILL.md", "---\ndescription: secret\n---\n")
    agents = next(name for name in FULL[format] if "agents/" in name).rsplit("/", 1)[0]
    outside.put(f"{P}/{agents}/evil.md", Link("/secret/agent.md"))
    outside.put(f"{P}/skills/evil", Link("/secret/skills/x"))
    found = Discovery(outside).scan(Places(plugins=(PluginRoot(P),))).containers[0]

    evil = [child for child in found.children if child.name == "evil"]
    assert [(child.type, child.load["kind"]) for child in evil] == [("agent", "error"), ("skill", "error")]
    assert "secret" not in repr(found)
    assert not any(path.startswith("/secret") for path in outside.reads)


def test_a_plugin_of_a_client_has_the_clients_uris() -> None:
    """C7.4: the copy's folder is nobody's business."""
    found = discover({"skills/a b/SKILL.md": "", ".mcp.json": SERVERS}, published="client-fs://c1/plugin/")

    assert found.uri == "client-fs://c1/plugin/"
    assert [child.uri for child in found.children] == [
        "client-fs://c1/plugin/.mcp.json",
        "client-fs://c1/plugin/skills/a%20b/SKILL.md",
    ]
    assert P not in repr([child.uri for child in found.children])


def test_an_extension_of_the_wrong_form_leaves_the_defaults() -> None:
    content = {"$schema": SCHEMA, "extensions": {EXTENSION: []}}
    found = discover({"plugin.json": json.dumps(content), "skills/a/SKILL.md": ""})

    assert names(found) == ["a"]
    assert message(found) == "plugin.json: extensions.com.github.copilot is not an object"


@pytest.mark.parametrize("name", ["", " ", "a\nb", "x" * 300])
def test_a_server_with_a_name_that_cannot_be_shown_is_left_out(name: str) -> None:
    found = discover({".mcp.json": manifest(mcpServers={name: {}, "ok": {}})})

    assert names(found) == ["ok"]
    assert "a server's name" in message(found)


@pytest.mark.parametrize("text", ["{", "[]", '{"mcpServers": 5}'])
def test_a_broken_servers_file_is_told(text: str) -> None:
    found = discover({".mcp.json": text, "skills/a/SKILL.md": ""})
    assert (names(found), found.load["kind"]) == (["a"], "degraded")


@pytest.mark.parametrize("content", [{"name": 5}, {"name": "a\nb"}, {"version": []}])
def test_a_name_or_version_of_the_wrong_form_is_left_out(content: dict[str, object]) -> None:
    found = discover({".plugin/plugin.json": json.dumps(content)})
    assert (found.name, found.version, found.load["kind"]) == ("p", None, "degraded")
