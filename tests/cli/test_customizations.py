"""`innkeeper customizations`, `why`, `doctor bundle` and `tour enablement` (issue 4 items 8 and 10)."""

import json
import stat
import zipfile
from pathlib import Path
from typing import Any

import pytest

from innkeeper.cli import exit_codes
from innkeeper.edge.discovery import Endpoint
from innkeeper.store.sqlite.files import DirectoryLock


def skill(project: Path, name: str) -> None:
    file = project / ".github" / "skills" / name / "SKILL.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"---\nname: {name}\ndescription: d\n---\n", encoding="utf-8")


def named(items: list[Any], name: str) -> Any:
    every = [*items, *(child for item in items for child in item.get("children") or ())]
    return next(item for item in every if item["name"] == name)


def scope(item: Any, name: str) -> Any:
    return next(step for step in item["scopes"] if step["scope"] == name)


@pytest.fixture
def offline(quiet: Any) -> Any:
    """A project with two skills and a server, where no host runs."""
    quiet.declare(memo={"command": "true"}, off={"command": "true", "enabled": False})
    skill(quiet.project, "build")
    skill(quiet.project, "test")
    return quiet


# -- without a host ----------------------------------------------------------------------------------------------------


def test_without_a_host_everything_in_the_directory_is_listed(offline: Any) -> None:
    done = offline.run("customizations", "list", "--json")
    items = done.json()["items"]
    assert done.code == exit_codes.OK and done.json()["session"] is None
    assert named(items, "build")["on"] is True and named(items, "memo")["type"] == "mcpServer"
    shown = offline.run("customizations", "list").out
    assert "  ● build  skill  on" in shown.splitlines()


@pytest.mark.parametrize("where", ["workspace", "global"])
@pytest.mark.parametrize("name", ["build", "memo", ".github/skills"])
def test_without_a_host_a_change_is_stored_and_given_back(offline: Any, name: str, where: str) -> None:
    """C1.4: with the control that another item stays on."""
    done = offline.run("customizations", "disable", name, "--scope", where, "--json")
    assert done.code == exit_codes.OK, done.err
    assert scope(done.json()["item"], where)["stored"] is False
    items = offline.run("customizations", "list", "--json").json()["items"]
    assert named(items, name)["scope"] == where and named(items, name)["on"] is False
    assert named(items, "memo" if name != "memo" else "build")["on"] is True
    assert offline.run("customizations", "inherit", name, "--scope", where).code == exit_codes.OK
    assert "scope" not in named(offline.run("customizations", "list", "--json").json()["items"], name)


def test_without_a_host_there_is_no_session_to_decide_for(offline: Any) -> None:
    done = offline.run("customizations", "disable", "build", "--scope", "session")
    assert done.code == exit_codes.USAGE and "workspace" in done.err


def test_an_unknown_name_and_an_ambiguous_one_change_nothing(offline: Any) -> None:
    done = offline.run("customizations", "disable", "nope", "--scope", "global", "--json")
    assert (done.code, done.json()["error"]["code"]) == (exit_codes.FAILED, "CUSTOMIZATION_UNKNOWN")
    offline.declare(build={"command": "true"})
    done = offline.run("customizations", "disable", "build", "--scope", "global")
    assert done.code == exit_codes.USAGE and "mcp:build" in done.err
    assert offline.run("customizations", "disable", "mcp:build", "--scope", "global").code == exit_codes.OK
    assert offline.run("customizations", "disable", "skills/build", "--scope", "global").code != exit_codes.OK
    assert offline.run("customizations", "disable", ".github/skills/build", "--scope", "global").code == exit_codes.OK


def test_a_pin_holds_what_is_inherited_until_it_is_ended(offline: Any) -> None:
    """C2.3b."""
    done = offline.run("customizations", "pin", "memo", "--scope", "global", "--json")
    assert (scope(done.json()["item"], "global")["pinned"], done.code) == (True, exit_codes.OK)
    done = offline.run("customizations", "unpin", "memo", "--scope", "global", "--json")
    assert "stored" not in scope(done.json()["item"], "global")


def test_a_host_that_cannot_be_asked_is_told_of_and_nothing_is_written(offline: Any) -> None:
    """A host holds the database and has no endpoint here: offline work is refused."""
    assert offline.run("customizations", "disable", "build", "--scope", "global").code == exit_codes.OK
    data = offline.folder / "home" / "data"
    lock = DirectoryLock(data)
    lock.acquire()
    try:
        done = offline.run("customizations", "inherit", "build", "--scope", "global", "--json")
    finally:
        lock.release()
    assert done.code == exit_codes.FAILED and done.json()["error"]["code"] == "DATA_DIR_LOCKED", done.out
    items = offline.run("customizations", "list", "--json").json()["items"]
    assert named(items, "build")["on"] is False


def test_why_shows_every_scope_the_key_and_the_container(offline: Any) -> None:
    offline.run("customizations", "disable", ".github/skills", "--scope", "workspace")
    done = offline.run("why", "build")
    assert done.code == exit_codes.OK
    for words in (
        "workspace: inherits on",
        "global: inherits on",
        "in .github/skills, which is off",
        "key: directory/",
    ):
        assert words in done.out, done.out
    (item,) = offline.run("why", "build", "--json").json()["items"]
    assert (item["on"], item["own"], item["withheld"]) == (False, True, "container")


# -- with a host -------------------------------------------------------------------------------------------------------


def test_with_a_host_the_change_is_published_and_explained(live: Any) -> None:
    skill(live.project, "build")
    done = live.run("customizations", "disable", "build", "--scope", "session", "--json")
    assert done.code == exit_codes.OK, done.err
    session = done.json()["session"]
    assert session.startswith("ahp-session:/") and scope(done.json()["item"], "session")["stored"] is False
    items = live.run("customizations", "list", "--json").json()["items"]
    assert named(items, "build")["on"] is False and named(items, "example")["on"] is True
    (why,) = live.run("why", "build", "--json").json()["items"]
    assert why["provider"]["told"] == "withheld"
    history = live.run("why", "build", "--history", "--json").json()["history"]
    assert [record["occasion"] for record in history if record["kind"] == "audit"][-1] == "change"
    assert live.run("customizations", "inherit", "build", "--scope", "session").code == exit_codes.OK


def test_with_a_host_a_server_that_is_off_is_not_offered_to_the_next_request(live: Any) -> None:
    """C6.5, with the control before it."""
    assert live.run("mcp", "connect", "example", "--yes").code == exit_codes.OK
    assert "example:" in live.run("chat", "-m", "/tools").out
    assert live.run("customizations", "disable", "example", "--scope", "workspace").code == exit_codes.OK
    assert "example:" not in live.run("chat", "-m", "/tools").out
    history = live.run("why", "example", "--history").out
    assert "mcp__example__add" in history
    assert live.run("customizations", "inherit", "example", "--scope", "workspace").code == exit_codes.OK


def test_a_refusal_of_the_host_is_told_with_its_reason(live: Any) -> None:
    done = live.run("customizations", "disable", "nope", "--scope", "session")
    assert done.code == exit_codes.FAILED and "no customization nope" in done.err


# -- doctor bundle, tour -----------------------------------------------------------------------------------------------


def test_the_bundle_has_what_a_report_needs_and_no_secret(offline: Any) -> None:
    """C5.5."""
    offline.run("customizations", "disable", "build", "--scope", "global")
    logs = offline.folder / "home" / "logs"
    logs.mkdir(parents=True)
    (logs / "innkeeper.jsonl").write_text('{"message": "Authorization: Bearer abcdefghij"}\n', encoding="utf-8")
    done = offline.run("doctor", "bundle", "--output", "report.zip", "--json")
    assert done.code == exit_codes.OK, done.err
    path = offline.project / "report.zip"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name).decode() for name in archive.namelist()}
    assert set(contents) == {
        "doctor.json", "versions.json", "decisions.json", "exposure.jsonl", "logs/innkeeper.jsonl", "notes.txt",
    }  # fmt: skip
    assert json.loads(contents["decisions.json"])["decisions"][0]["enabled"] is False
    assert "abcdefghij" not in contents["logs/innkeeper.jsonl"]
    assert offline.run("doctor", "bundle", "--output", "report.zip").code == exit_codes.FAILED


def test_the_bundle_is_written_while_a_host_runs_and_hides_its_token(live: Any, tmp_path: Path) -> None:
    done = live.run("doctor", "bundle", "--output", str(tmp_path / "report.zip"))
    assert done.code == exit_codes.OK, done.err
    (found,) = live.folder.rglob("endpoint.json")
    token = Endpoint(**json.loads(found.read_text())).token
    with zipfile.ZipFile(tmp_path / "report.zip") as archive:
        assert all(token is None or token.encode() not in archive.read(name) for name in archive.namelist())


def test_the_tour_of_enablement_shows_every_step(quiet: Any) -> None:
    """Issue 4 item 10: the recipe of docs/reference/enablement.md."""
    done = quiet.run("tour", "enablement", "--json")
    *steps, summary = [json.loads(line) for line in done.out.splitlines()]
    assert [line["ok"] for line in steps] == [True] * 8, done.out
    assert (done.code, summary["passed"]) == (exit_codes.OK, 8)
