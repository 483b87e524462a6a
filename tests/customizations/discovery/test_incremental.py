"""Only what changed is read again, and only what is different is told (C7.3, issue 4 item 4)."""

import os
from pathlib import Path

import pytest

from customizations.discovery.memory import MemoryFiles
from innkeeper.customizations.discovery import ChangeSet, Discovery, Places, PluginRoot, compare
from innkeeper.workspace.files import LocalFiles

PLACES = Places(workspaces=("/w",))
SKILLS = "/w/.claude/skills"


def text(description: str) -> str:
    return f"---\ndescription: {description}\n---\n"


@pytest.fixture
def files() -> MemoryFiles:
    return MemoryFiles({f"{SKILLS}/s{n:03}/SKILL.md": text("old") for n in range(1_000)})


def test_one_changed_skill_of_a_thousand_is_one_child_and_one_read(files: MemoryFiles) -> None:
    discovery = Discovery(files)
    discovery.scan(PLACES)
    files.put(f"{SKILLS}/s007/SKILL.md", text("new"))
    files.reads.clear()
    change = discovery.scan(PLACES)

    assert files.reads == [f"{SKILLS}/s007/SKILL.md"]
    assert [(item.container.key, item.itself, item.removed) for item in change.changes] == [
        ((f"file://{SKILLS}", "skill"), False, ())
    ]
    assert [child.name for child in change.changes[0].changed] == ["s007"]
    assert (change.removed, change.reordered) == ((), False)


def test_an_unchanged_place_is_not_read_and_nothing_is_told(files: MemoryFiles) -> None:
    discovery = Discovery(files)
    before = discovery.scan(PLACES).containers
    files.reads.clear()
    change = discovery.scan(PLACES)

    assert files.reads == []
    assert not change
    assert all(
        a is b
        for old, new in zip(before, change.containers, strict=True)
        for a, b in zip(old.children, new.children, strict=True)
    )


def test_a_file_that_changed_to_the_same_meaning_tells_nothing(files: MemoryFiles) -> None:
    discovery = Discovery(files)
    discovery.scan(PLACES)
    files.put(f"{SKILLS}/s007/SKILL.md", text("old") + "\nAnother body.")

    assert not discovery.scan(PLACES)
    assert discovery.reads > 1_000


def test_what_was_fresh_when_it_was_read_is_read_again(files: MemoryFiles) -> None:
    """A second change within one tick of the file system's clock leaves the stamp as it is."""
    discovery = Discovery(files)
    path = f"{SKILLS}/s007/SKILL.md"
    files.fresh.add(path)
    discovery.scan(PLACES)
    stamp = files.versions[path]
    files.put(path, text("new"))
    files.versions[path] = stamp
    files.fresh.clear()

    assert [child.name for child in discovery.scan(PLACES).changes[0].changed] == ["s007"]


def test_skills_come_and_go(files: MemoryFiles) -> None:
    discovery = Discovery(files)
    discovery.scan(PLACES)
    files.put(f"{SKILLS}/new/SKILL.md", text("x"))
    files.drop(f"{SKILLS}/s001")
    change = discovery.scan(PLACES).changes[0]

    assert ([child.name for child in change.changed], change.removed) == (["new"], (("skill", "s001"),))


def test_a_renamed_skill_is_one_that_went_and_one_that_came(files: MemoryFiles) -> None:
    discovery = Discovery(files)
    discovery.scan(PLACES)
    files.put(f"{SKILLS}/s001/SKILL.md", "---\nname: other\n---\n")
    change = discovery.scan(PLACES).changes[0]

    assert ([child.name for child in change.changed], change.removed) == (["other"], (("skill", "s001"),))


def test_a_fault_that_comes_and_goes_changes_the_container_too(files: MemoryFiles) -> None:
    discovery = Discovery(files)
    discovery.scan(PLACES)
    path = f"{SKILLS}/s007/SKILL.md"
    files.put(path, b"\0")
    broken = discovery.scan(PLACES).changes[0]
    files.put(path, text("old"))
    whole = discovery.scan(PLACES).changes[0]

    assert (broken.itself, broken.container.load["kind"], broken.changed[0].load["kind"]) == (True, "degraded", "error")
    assert (whole.itself, whole.container.load["kind"], whole.changed[0].load["kind"]) == (True, "loaded", "loaded")


def test_a_directory_that_comes_and_goes_is_a_container_that_comes_and_goes() -> None:
    files = MemoryFiles({"/w/.github/agents/a.md": ""})
    discovery = Discovery(files)
    first = discovery.scan(PLACES)
    files.put("/w/CLAUDE.md", "x")
    come = discovery.scan(PLACES)
    files.drop("/w/CLAUDE.md")
    gone = discovery.scan(PLACES)

    assert bool(first) and first.reordered
    assert [item.container.key for item in come.changes] == [("file:///w", "rule")]
    assert (gone.removed, gone.changes, gone.reordered) == ((("file:///w", "rule"),), (), True)


def test_places_may_change_and_what_is_the_same_is_not_read_again(files: MemoryFiles) -> None:
    discovery = Discovery(files)
    discovery.scan(PLACES)
    files.put("/p/.plugin/plugin.json", "{}")
    files.reads.clear()
    change = discovery.scan(Places(workspaces=("/w",), plugins=(PluginRoot("/p"),)))

    assert [item.container.key for item in change.changes] == [("file:///p", "plugin")]
    assert change.containers[0].key == ("file:///p", "plugin")
    assert not any(path.startswith("/w") for path in files.reads)


def test_what_is_gone_is_forgotten(files: MemoryFiles) -> None:
    discovery = Discovery(files)
    discovery.scan(PLACES)
    assert len(discovery.looked_at) > 1_000
    discovery.scan(Places())

    assert (discovery.containers, dict(discovery.looked_at)) == ((), {})


def test_two_results_of_the_same_files_are_equal(files: MemoryFiles) -> None:
    one, two = Discovery(files).scan(PLACES), Discovery(files).scan(PLACES)

    assert one.containers == two.containers
    assert compare(one.containers, two.containers) == ChangeSet(two.containers)


def test_real_files_that_are_edited_in_place_are_seen_at_once(tmp_path: Path) -> None:
    path = tmp_path / ".claude" / "agents" / "a.md"
    path.parent.mkdir(parents=True)
    discovery, places = Discovery(LocalFiles()), Places(workspaces=(str(tmp_path),))
    for n in range(50):
        path.write_text(text(f"{n:04}"), "utf-8")
        change = discovery.scan(places)
        assert [getattr(child, "description", None) for item in change.changes for child in item.changed] == [f"{n:04}"]


def test_real_files_that_are_replaced_by_old_ones_are_seen(tmp_path: Path) -> None:
    path, other = tmp_path / ".claude" / "agents" / "a.md", tmp_path / "other"
    path.parent.mkdir(parents=True)
    path.write_text(text("one"), "utf-8")
    other.write_text(text("two"), "utf-8")
    for each in (path, other):
        os.utime(each, ns=(1, 1))
    discovery, places = Discovery(LocalFiles()), Places(workspaces=(str(tmp_path),))
    discovery.scan(places)
    other.replace(path)

    assert [getattr(child, "description", None) for child in discovery.scan(places).changes[0].changed] == ["two"]
