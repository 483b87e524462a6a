"""What is broken, hostile or too large is reported and never raised (C7.3, issue 4 item 4); real files."""

import os
from pathlib import Path

import pytest

from customizations.discovery.memory import Link, MemoryFiles
from innkeeper.customizations.discovery import DiscoveredContainer, Discovery, Places, PluginRoot, limits, walking
from innkeeper.ports.files import FileFault, Stat
from innkeeper.workspace.files import LocalFiles


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path.resolve() / "workspace"
    (path / ".claude" / "skills").mkdir(parents=True)
    return path


def scan(root: Path, name: str = ".claude/skills", contents: str = "skill") -> DiscoveredContainer:
    found = Discovery(LocalFiles()).scan(Places(workspaces=(str(root),))).containers
    return next(item for item in found if item.key == (f"file://{root}/{name}".rstrip("/"), contents))


def skill(root: Path, name: str, data: bytes | str = "---\ndescription: d\n---\n") -> Path:
    path = root / ".claude" / "skills" / name / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def states(found: DiscoveredContainer) -> dict[str, str]:
    return {child.name: child.load["kind"] for child in found.children}


def message(found: DiscoveredContainer) -> str:
    return str(found.load.get("message"))


@pytest.mark.parametrize(
    ("data", "kind", "part"),
    [
        ("---\nname: a: b\n---\n", "degraded", "bad: its front matter is not valid YAML (line 2)"),
        ("---\nname: a\n", "degraded", "bad: its front matter does not end"),
        (b"\x00\x01\x02", "error", "bad: it is binary"),
        (b"caf\xe9", "error", "bad: it is not UTF-8"),
        (b"x" * (limits.FILE_BYTES + 1), "error", "bad: it is too large"),
    ],
)
def test_a_broken_file_is_listed_with_its_fault_beside_the_others(
    root: Path, data: bytes | str, kind: str, part: str
) -> None:
    skill(root, "bad", data)
    skill(root, "good")
    found = scan(root)

    assert states(found) == {"bad": kind, "good": "loaded"}
    assert (found.load["kind"], message(found)) == ("degraded", part)


def test_links_in_a_circle_end(root: Path) -> None:
    skill(root, "good")
    skills = root / ".claude" / "skills"
    (skills / "up").symlink_to(skills)
    (skills / "self").symlink_to("self")
    found = scan(root)

    assert states(found) == {"good": "loaded"}
    assert message(found) == f"self: its links lead in a circle; up: {walking.SEEN}"


def test_many_links_to_one_place_do_not_multiply(root: Path) -> None:
    rules = root / ".claude" / "rules"
    for level in range(12):
        (rules / f"d{level}").mkdir(parents=True)
        for link in "ab":
            (rules / f"d{level}" / link).symlink_to(rules / f"d{(level + 1) % 12}")
    (rules / "d0" / "x.md").write_text("x", "utf-8")
    found = scan(root, ".claude/rules", "rule")

    assert states(found) == {"d0/x": "loaded"}


def test_a_link_out_of_the_root_is_listed_in_error_and_not_read(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "SKILL.md").write_text("---\nname: stolen\n---\n", "utf-8")
    skills = root / ".claude" / "skills"
    (skills / "folder").symlink_to(outside)
    (skills / "file").mkdir()
    (skills / "file" / "SKILL.md").symlink_to(outside / "SKILL.md")
    found = scan(root)

    assert states(found) == {"file": "error", "folder": "error"}
    assert "stolen" not in repr(found)
    assert message(found) == f"file: {walking.OUTSIDE}; folder: {walking.OUTSIDE}"


def test_a_link_within_the_root_is_followed(root: Path) -> None:
    shared = root / "shared" / "one"
    shared.mkdir(parents=True)
    (shared / "SKILL.md").write_text("---\ndescription: d\n---\n", "utf-8")
    (root / ".claude" / "skills" / "linked").symlink_to(shared)
    found = scan(root)

    assert states(found) == {"linked": "loaded"}
    assert found.children[0].uri == f"file://{root}/.claude/skills/linked/SKILL.md"


def test_a_directory_that_leads_out_is_an_error_without_children(root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (root / ".claude" / "agents").symlink_to(tmp_path / "outside")
    found = scan(root, ".claude/agents", "agent")

    assert (found.load, found.children) == ({"kind": "error", "message": walking.OUTSIDE}, ())
    assert found.type == "directory"
    assert not found.writable


def test_a_workspace_that_is_itself_a_link_is_fine(root: Path, tmp_path: Path) -> None:
    skill(root, "good")
    (tmp_path / "alias").symlink_to(root)
    assert states(scan(tmp_path / "alias")) == {"good": "loaded"}


@pytest.mark.timeout(10)
def test_a_pipe_is_no_file_and_hangs_nobody(root: Path) -> None:
    (root / ".claude" / "agents").mkdir()
    os.mkfifo(root / ".claude" / "agents" / "pipe.md")
    os.mkfifo(root / "CLAUDE.md")

    assert states(scan(root, ".claude/agents", "agent")) == {"pipe": "error"}
    assert scan(root, "", "rule").children[0].load == {"kind": "error", "message": "it is not a regular file"}


def test_a_directory_in_the_place_of_a_file_is_no_item(root: Path) -> None:
    (root / ".claude" / "agents" / "x.md").mkdir(parents=True)
    (root / "AGENTS.md").mkdir()
    (root / ".claude" / "skills" / "s" / "SKILL.md").mkdir(parents=True)

    assert states(scan(root, ".claude/agents", "agent")) == {}
    assert states(scan(root)) == {"s": "error"}
    assert states(scan(root, "", "rule")) == {"AGENTS.md": "error"}


def test_a_link_to_nowhere_is_told(root: Path) -> None:
    (root / ".claude" / "agents").mkdir()
    (root / ".claude" / "agents" / "x.md").symlink_to("gone")
    (root / ".claude" / "skills" / "y").symlink_to("gone")

    assert states(scan(root, ".claude/agents", "agent")) == {"x": "error"}
    assert message(scan(root)) == "y: it does not exist"


def test_a_name_that_is_not_utf_8_is_shown_as_far_as_it_goes(root: Path) -> None:
    (root / ".claude" / "agents").mkdir()
    os.close(os.open(os.fsencode(root / ".claude" / "agents") + b"/a\xff.md", os.O_CREAT | os.O_WRONLY, 0o600))
    child = scan(root, ".claude/agents", "agent").children[0]

    assert (child.name, child.uri.rsplit("/", 1)[1]) == ("a\ufffd", "a%FF.md")


def test_what_may_not_be_read_is_an_error_and_read_again_when_it_may() -> None:
    files = MemoryFiles({"/w/.claude/agents/a.md": "", "/w/.github/agents/b.md": ""})
    files.denied |= {"/w/.claude/agents/a.md", "/w/.github/agents"}
    discovery, places = Discovery(files), Places(workspaces=("/w",))
    found = {item.key[0]: item for item in discovery.scan(places).containers}

    assert states(found["file:///w/.claude/agents"]) == {"a": "error"}
    assert found["file:///w/.github/agents"].load == {"kind": "error", "message": "it may not be read"}
    files.denied.clear()
    found = {item.key[0]: item for item in discovery.scan(places).containers}
    assert states(found["file:///w/.claude/agents"]) == {"a": "loaded"}
    assert states(found["file:///w/.github/agents"]) == {"b": "loaded"}


def test_too_many_names_and_items_are_cut_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("innkeeper.customizations.discovery.reading.CHILDREN", 5)
    monkeypatch.setattr("innkeeper.customizations.discovery.walking.ENTRIES", 8)
    files = MemoryFiles({f"/w/.claude/agents/{n:02}.md": "" for n in range(12)})
    found = next(item for item in Discovery(files).scan(Places(workspaces=("/w",))).containers if item.children)

    assert len(found.children) == 5
    assert "there are more than 5" in message(found)
    assert walking.TOO_MANY in message(found)


def test_a_directory_with_too_many_names_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("innkeeper.customizations.discovery.cache.ENTRIES", 3)
    files = MemoryFiles({f"/w/.claude/agents/{n}.md": "" for n in range(4)})
    found = Discovery(files).scan(Places(workspaces=("/w",))).containers[0]

    assert (found.load, found.children) == ({"kind": "error", "message": "it is too large"}, ())


def test_a_message_names_the_first_faults_and_is_short() -> None:
    files = MemoryFiles({f"/w/.claude/agents/{'n' * 180}{n}.md": b"\0" for n in range(9)})
    found = Discovery(files).scan(Places(workspaces=("/w",))).containers[0]

    assert len(message(found)) <= limits.MESSAGE_CHARACTERS
    files = MemoryFiles({f"/w/.claude/agents/{n}.md": b"\0" for n in range(9)})
    found = Discovery(files).scan(Places(workspaces=("/w",))).containers[0]
    assert message(found) == "0.md: it is binary; 1.md: it is binary; 2.md: it is binary; and 6 more"


def test_a_message_repeats_nothing_of_a_file() -> None:
    secret = "hunter2"
    files = MemoryFiles(
        {
            "/w/.claude/agents/a.md": f"---\n{secret}: {secret}: {secret}\n---\n",
            "/w/.claude/settings.json": f'{{"hooks": {secret}',
            "/w/.codex/agents/a.toml": f"{secret}",
            "/p/.plugin/plugin.json": f'{{"agents": "../{secret}", "hooks": {{"Stop": "{secret}"}}}}',
        }
    )
    found = Discovery(files).scan(Places(workspaces=("/w",), plugins=(PluginRoot("/p"),))).containers

    assert sum(item.load["kind"] == "degraded" for item in found) == 4
    assert secret not in repr(found)


def test_a_broken_hooks_file_stands_for_itself() -> None:
    files = MemoryFiles({"/w/.github/hooks/a.json": "{", "/w/.claude/settings.json": Link("/etc/x"), "/etc/x": "{}"})
    found = [item for item in Discovery(files).scan(Places(workspaces=("/w",))).containers if item.children]

    assert [states(item) for item in found] == [{"a": "error"}, {"settings": "error"}]


def test_a_location_that_may_not_be_looked_at_is_an_error() -> None:
    class Closed(MemoryFiles):
        def stat(self, path: str) -> Stat:
            if path.startswith("/w/.claude/agents"):
                raise FileFault("denied")
            return super().stat(path)

    files = Closed({"/w/.claude/agents/a.md": ""})
    found = Discovery(files).scan(Places(workspaces=("/w",))).containers[0]

    assert (found.load, found.children) == ({"kind": "error", "message": "it may not be read"}, ())
