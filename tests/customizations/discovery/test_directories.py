"""The directories of every ecosystem, in a workspace and in a home (C7.2)."""

from collections.abc import Mapping, Sequence

import pytest

from customizations.discovery.memory import MemoryFiles, Node
from innkeeper.customizations.discovery import (
    DiscoveredDirectory,
    DiscoveredHook,
    DiscoveredPrompt,
    DiscoveredRule,
    Discovery,
    Places,
)
from innkeeper.customizations.discovery.locations import USER, WORKSPACE, FixedFiles, Location

W, H = "/w", "/home/me"
BOTH = Places(workspaces=(W,), home=H)
HOOKS = '{"hooks": {"Stop": [{"matcher": "m", "command": "x"}]}}'


def discover(
    tree: Mapping[str, Node | str], places: Places = BOTH, files: MemoryFiles | None = None
) -> Sequence[DiscoveredDirectory]:
    files = files or MemoryFiles({W: None, H: None})
    for path, node in tree.items():
        files.put(path, node)
    found = Discovery(files).scan(places).containers
    return [item for item in found if isinstance(item, DiscoveredDirectory)]


def only(tree: Mapping[str, Node | str], name: str, contents: str) -> DiscoveredDirectory:
    return next(item for item in discover(tree) if (item.name, item.contents) == (name or ".", contents))


PLACES = [
    (".github/agents", "a.agent.md", "agent", "a", "copilot"),
    (".github/agents", "a.md", "agent", "a", "copilot"),
    (".github/skills", "a/SKILL.md", "skill", "a", "copilot"),
    (".github/instructions", "a.instructions.md", "rule", "a", "copilot"),
    (".github/instructions", "x/A.Instructions.md", "rule", "x/A", "copilot"),
    (".github/prompts", "a.prompt.md", "prompt", "a", "copilot"),
    (".github/hooks", "a.json", "hook", "a:Stop(m)", "copilot"),
    (".github/hooks", "x/a.json", "hook", "x/a:Stop(m)", "copilot"),
    (".claude/agents", "a.md", "agent", "a", "claude"),
    (".claude/skills", "a/SKILL.md", "skill", "a", "claude"),
    (".claude/skills", "group/a/SKILL.md", "skill", "a", "claude"),
    (".claude/commands", "x/a.md", "prompt", "a", "claude"),
    (".claude/rules", "x/a.md", "rule", "x/a", "claude"),
    (".agents/agents", "a.md", "agent", "a", "shared"),
    (".agents/skills", "a/SKILL.md", "skill", "a", "shared"),
    (".codex/agents", "a.toml", "agent", "a", "codex"),
    (".codex/skills", "a/SKILL.md", "skill", "a", "codex"),
    (".codex/prompts", "a.md", "prompt", "a", "codex"),
    (".cursor/rules", "x/a.mdc", "rule", "x/a", "cursor"),
    (".gemini/agents", "a.md", "agent", "a", "gemini"),
    (".gemini/skills", "a/SKILL.md", "skill", "a", "gemini"),
    (".gemini/commands", "git/commit.toml", "prompt", "git:commit", "gemini"),
]


@pytest.mark.parametrize(("folder", "file", "contents", "name", "ecosystem"), PLACES)
def test_each_directory_is_a_container_with_contents_and_writable(
    folder: str, file: str, contents: str, name: str, ecosystem: str
) -> None:
    text = HOOKS if contents == "hook" else "" if file.endswith(".toml") else "Do it."
    found = only({f"{W}/{folder}/{file}": text}, folder, contents)

    assert [child.name for child in found.children] == [name]
    assert (found.uri, found.writable, found.source, found.ecosystem) == (
        f"file://{W}/{folder}",
        True,
        "workspace",
        ecosystem,
    )
    assert found.load == {"kind": "loaded"}
    assert found.children[0].uri == f"file://{W}/{folder}/{file}"


def test_the_cases_above_name_every_directory_of_a_workspace() -> None:
    tested = {(folder, contents) for folder, _, contents, _, _ in PLACES}
    assert tested == {(place.path, place.contents) for place in WORKSPACE if isinstance(place, Location)}


@pytest.mark.parametrize(
    "place", [place for place in USER if isinstance(place, Location)], ids=lambda place: place.path
)
def test_each_directory_of_a_home_is_a_container_of_the_user(place: Location) -> None:
    file = "a/SKILL.md" if place.contents == "skill" else f"a{place.suffixes[-1]}"
    text = HOOKS if place.contents == "hook" else ""
    found = only({f"{H}/{place.path}/{file}": text}, place.path, place.contents)

    assert (found.source, found.uri, len(found.children)) == ("user", f"file://{H}/{place.path}", 1)


@pytest.mark.parametrize(
    ("place", "file"),
    [(place, file) for place in WORKSPACE if isinstance(place, FixedFiles) for file in place.files],
    ids=lambda value: value if isinstance(value, str) else value.path or "root",
)
def test_each_single_file_is_found_and_nothing_is_written_beside_it(place: FixedFiles, file: str) -> None:
    path = f"{W}/{place.path}/{file}" if place.path else f"{W}/{file}"
    found = only({path: HOOKS if place.contents == "hook" else "Be kind."}, place.path, place.contents)

    child = found.children[0]
    assert (found.writable, child.uri) == (False, f"file://{path}")
    if isinstance(child, DiscoveredRule):
        assert (child.name, child.always_apply) == (file, True)
    else:
        assert isinstance(child, DiscoveredHook)
        assert child.name == f"{file.removesuffix('.json')}:Stop(m)"


@pytest.mark.parametrize(
    "file", [".claude/CLAUDE.md", ".codex/AGENTS.md", ".gemini/GEMINI.md", ".copilot/copilot-instructions.md"]
)
def test_instructions_of_the_user_apply_always(file: str) -> None:
    folder, _, name = file.rpartition("/")
    found = only({f"{H}/{file}": "x"}, folder, "rule")
    assert [(child.name, child.type) for child in found.children] == [(name, "rule")]


def test_a_settings_file_without_hooks_is_no_container() -> None:
    found = discover({f"{W}/.claude/settings.json": '{"permissions": {"Stop": []}}'})
    assert not any(item.contents == "hook" for item in found)


def test_a_missing_directory_is_offered_when_the_folder_above_is_there() -> None:
    found = discover({f"{W}/.claude/x": "", f"{W}/.github": None})

    assert {item.name for item in found} == {
        *(f".claude/{name}" for name in ("agents", "skills", "commands", "rules")),
        *(f".github/{name}" for name in ("agents", "skills", "instructions", "prompts", "hooks")),
    }
    assert all(item.writable and item.children == () for item in found)


def test_an_empty_workspace_has_no_containers() -> None:
    assert discover({}) == []
    assert discover({}, Places(workspaces=("/gone",), home="/gone")) == []


def test_a_file_where_a_directory_should_be_is_no_container() -> None:
    found = discover({f"{W}/.claude": "a file", f"{W}/.github/agents": "a file"})
    assert {item.name for item in found} == {f".github/{x}" for x in ("skills", "instructions", "prompts", "hooks")}


def test_a_directory_that_may_not_be_written_says_so() -> None:
    files = MemoryFiles({W: None})
    files.read_only.add(f"{W}/.claude/agents")
    found = discover({f"{W}/.claude/agents/a.md": ""}, files=files, places=Places(workspaces=(W,)))

    assert {item.name: item.writable for item in found}[".claude/agents"] is False


def test_files_of_other_kinds_are_not_taken() -> None:
    tree = {
        f"{W}/.github/agents/README.md": "",
        f"{W}/.github/agents/x/deep.md": "",
        f"{W}/.github/instructions/a.md": "",
        f"{W}/.github/skills/SKILL.md": "",
        f"{W}/.github/skills/file.md": "",
        f"{W}/.claude/skills/plugin/SKILL.md": "",
        f"{W}/.claude/skills/plugin/.claude-plugin/plugin.json": "{}",
    }
    assert [child for item in discover(tree) for child in item.children] == []


def test_depth_is_limited() -> None:
    deep = "/".join("abcdef")
    tree = {f"{W}/.github/instructions/{deep}/x.instructions.md": "", f"{W}/.github/skills/{deep}/x/SKILL.md": ""}
    assert [child for item in discover(tree) for child in item.children] == []
    tree = {f"{W}/.github/instructions/a/b/c/d/x.instructions.md": "", f"{W}/.github/skills/a/b/c/d/SKILL.md": ""}
    assert [child.name for item in discover(tree) for child in item.children] == ["d", "a/b/c/d/x"]


def test_a_rule_of_claude_with_paths_is_not_always_on() -> None:
    tree = {f"{W}/.claude/rules/a.md": "---\npaths: src/**\n---\n", f"{W}/.claude/rules/b.md": "x"}
    found = only(tree, ".claude/rules", "rule")

    assert [(rule.globs, rule.always_apply) for rule in found.children if isinstance(rule, DiscoveredRule)] == [
        (("src/**",), False),
        (None, True),
    ]


def test_a_rule_of_cursor_as_cursor_writes_it() -> None:
    text = "---\ndescription: Types\nglobs: *.py,*.pyi\nalwaysApply: false\n---\nx"
    rule = only({f"{W}/.cursor/rules/types.mdc": text}, ".cursor/rules", "rule").children[0]

    assert isinstance(rule, DiscoveredRule)
    assert (rule.globs, rule.always_apply, rule.description) == (("*.py", "*.pyi"), False, "Types")


def test_a_command_of_gemini_has_its_description() -> None:
    prompt = only(
        {f"{W}/.gemini/commands/a.toml": 'description = "d"\nprompt = "p"'}, ".gemini/commands", "prompt"
    ).children[0]
    assert isinstance(prompt, DiscoveredPrompt)
    assert prompt.description == "d"


def test_order_is_workspaces_as_given_then_home_and_children_by_name() -> None:
    tree = {f"{root}/.claude/agents/{name}.md": "" for root in (W, "/v", H) for name in "ba"}
    found = [item for item in discover(tree, Places(("/v", W), H)) if item.children]

    assert [item.uri for item in found] == [f"file://{root}/.claude/agents" for root in ("/v", W, H)]
    assert all([child.name for child in item.children] == ["a", "b"] for item in found)


def test_a_home_that_is_the_workspace_counts_once() -> None:
    found = discover({f"{H}/.claude/agents/a.md": ""}, Places((H,), H))

    assert len([item for item in found if item.name == ".claude/agents"]) == 1
    assert next(item for item in found if item.name == ".claude/agents").source == "workspace"


def test_names_with_blanks_and_other_letters_are_encoded_in_uris() -> None:
    tree = {f"{W}/.claude/agents/ä b%.md": ""}
    child = only(tree, ".claude/agents", "agent").children[0]
    assert (child.name, child.uri) == ("ä b%", f"file://{W}/.claude/agents/%C3%A4%20b%25.md")
