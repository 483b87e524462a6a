"""Where paths lead: one contract for the disk and its twin, and the file rules on real links (rows 8, 9; S22)."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from innkeeper.host.approval import Call, Ground, Standing, decide
from innkeeper.host.approval.shell.grammar import load
from innkeeper.limits import APPROVAL_PATTERN_FILES
from innkeeper.ports.paths import PathFacts
from innkeeper.ports.questions import Intent
from innkeeper.workspace.paths import LocalPaths
from scripted.paths import NamedPaths

FILES = ("w/a.py", "w/b.py", "w/.hidden.py", "w/d/x", "outside/secret")
LINKS = {
    "w/out": "../outside",
    "w/in": "d",
    "w/absolute": "/outside/secret",
    "w/nowhere": "gone",
    "w/circle": "circle",
    "w/chain": "in",
    "linked": "w",
}


@pytest.fixture(params=["disk", "twin"])
def facts(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[PathFacts, Callable[[str], str]]:
    """The same tree twice: on the disk, and told."""
    base = Path(os.path.realpath(tmp_path))
    targets = {name: str(base) + target if target.startswith("/") else target for name, target in LINKS.items()}
    if request.param == "twin":
        links = {f"{base}/{name}": target for name, target in targets.items()}
        return NamedPaths([f"{base}/{name}" for name in FILES], links), lambda name: f"{base}/{name}"
    for name in FILES:
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).write_text("x")
    for name, target in targets.items():
        (base / name).symlink_to(target)
    return LocalPaths(), lambda name: f"{base}/{name}"


@pytest.mark.parametrize(
    ("path", "real"),
    [
        ("w/a.py", "w/a.py"),
        ("w/d/../a.py", "w/a.py"),
        ("w/new", "w/new"),
        ("w/new/deeper", "w/new/deeper"),
        ("w/out/secret", "outside/secret"),
        ("w/out/new", "outside/new"),
        ("w/out/../w/a.py", "w/a.py"),
        ("w/in/x", "w/d/x"),
        ("w/in/../a.py", "w/a.py"),
        ("w/chain/x", "w/d/x"),
        ("w/absolute", "outside/secret"),
        ("linked/a.py", "w/a.py"),
    ],
)
def test_a_path_leads_where_its_links_lead(facts, path, real):
    look, at = facts[0].look, facts[1]
    assert look(at(path)).paths == (at(real),)


@pytest.mark.parametrize(("path", "problem"), [("w/nowhere", "dangling"), ("w/circle", "loop"), ("w/circle/x", "loop")])
def test_links_that_lead_nowhere_are_a_problem(facts, path, problem):
    assert facts[0].look(facts[1](path)).problem == problem


def test_a_path_with_a_nul_is_a_problem(facts):
    assert facts[0].look(facts[1]("w/a\0b")).problem == "failed"


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("w/*.py", ["w/a.py", "w/b.py"]),
        ("w/.*.py", ["w/.hidden.py"]),
        ("w/?.py", ["w/a.py", "w/b.py"]),
        ("w/*.none", []),
        ("w/abs*", ["outside/secret"]),
    ],
)
def test_a_pattern_leads_where_all_that_it_matches_leads(facts, pattern, names):
    found = facts[0].look(facts[1](pattern), pattern=True)
    assert sorted(found.paths) == sorted(map(facts[1], names))


def test_a_pattern_that_matches_a_link_to_nowhere_is_a_problem(facts):
    assert facts[0].look(facts[1]("w/n*"), pattern=True).problem == "dangling"


def test_a_pattern_for_too_many_files_is_a_problem(tmp_path):
    for number in range(APPROVAL_PATTERN_FILES + 1):
        (tmp_path / f"{number}.txt").touch()
    assert LocalPaths().look(f"{tmp_path}/*", pattern=True).problem == "tooMany"
    assert len(LocalPaths().look(f"{tmp_path}/?.txt", pattern=True).paths) == 10


def test_a_directory_that_may_not_be_entered_is_a_problem(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    me = os.geteuid()
    try:
        if me == 0:
            os.seteuid(65534)
        found = LocalPaths().look(f"{closed}/x")
    finally:
        os.seteuid(me)
    closed.chmod(0o700)
    assert found.problem == "denied"


def outcome(intent: Intent, *roots: Path, home: Path | None = None) -> str:
    ground = Ground(roots=tuple(map(str, roots)), home=None if home is None else str(home))
    return decide(Call("t", intent), Standing(), ground, LocalPaths(), load()).outcome


def test_s22_links_on_the_disk_are_followed(tmp_path):
    """S22: literal path and real path in the same root."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "src").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret").write_text("x")
    (root / "link").symlink_to(outside)
    (root / "file").symlink_to(outside / "secret")
    (root / "within").symlink_to("src")
    (root / "gone").symlink_to(outside / "gone")
    for path in ("link/new", "link/secret", "file", "gone", "link/../root/../outside/secret"):
        assert outcome(Intent("write", paths=(f"{root}/{path}",)), root) == "ask", path
        assert outcome(Intent("read", paths=(f"{root}/{path}",)), root) == "ask", path
    for path in ("src/new", "within/new", "new/deep"):
        assert outcome(Intent("write", paths=(f"{root}/{path}",)), root) == "approve", path
    for command in ("cat file", "cat l*/secret", "cat f*", "ls > link/x", "cat < file", "cd link && ls"):
        assert outcome(Intent("shell", command=command, language="bash"), root) == "ask", command
    for command in ("ls > within/x", "cd within && ls", "ls s*"):
        assert outcome(Intent("shell", command=command, language="bash"), root) == "approve", command


def test_a_working_directory_that_is_itself_a_link_counts_under_both_its_names(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    for one in ("real", "link"):
        assert outcome(Intent("write", paths=(f"{tmp_path}/{one}/x",)), tmp_path / "link") == "approve"
    assert outcome(Intent("write", paths=(f"{tmp_path}/link/x",)), tmp_path / "real") == "ask"


def test_a_link_between_two_working_directories_is_asked_about(tmp_path):
    """§5.11 row 8: both in the *same* root."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    (tmp_path / "one" / "link").symlink_to(tmp_path / "two")
    roots = (tmp_path / "one", tmp_path / "two")
    assert outcome(Intent("read", paths=(f"{tmp_path}/two/x",)), *roots) == "approve"
    assert outcome(Intent("read", paths=(f"{tmp_path}/one/link/x",)), *roots) == "ask"


def test_a_link_to_a_guarded_file_is_guarded(tmp_path):
    (tmp_path / ".env").write_text("x")
    (tmp_path / "settings.txt").symlink_to(".env")
    assert outcome(Intent("write", paths=(f"{tmp_path}/settings.txt",)), tmp_path) == "ask"


def test_a_home_directory_as_working_directory_keeps_its_dot_files(tmp_path):
    (tmp_path / ".config").mkdir()
    (tmp_path / "dots").symlink_to(".config")
    for path in (".bashrc", ".config/x", "dots/x", "Library/x"):
        assert outcome(Intent("write", paths=(f"{tmp_path}/{path}",)), tmp_path, home=tmp_path) == "ask", path
    assert outcome(Intent("write", paths=(f"{tmp_path}/notes.md",)), tmp_path, home=tmp_path) == "approve"
    inside = tmp_path / ".config" / "w"
    inside.mkdir()
    assert outcome(Intent("write", paths=(f"{inside}/x",)), inside, home=tmp_path) == "approve"
