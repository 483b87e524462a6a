"""What the Copilot provider finds, reads, keeps and says, without the agent and its SDK."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from innkeeper.ports.questions import Answer
from innkeeper.protocol.check import check
from innkeeper.protocol.root.state import AgentInfo
from innkeeper.providers.copilot import content, install, known, launch, service, transcripts
from innkeeper.providers.copilot.place import Place, copied, place, taken_back
from innkeeper.providers.files import body, local, safe
from innkeeper.providers.spi import (
    Branch,
    Unavailable,
)
from innkeeper.providers.telling import denial, earlier, exited, masked

pytestmark = pytest.mark.anyio


# -- what is installed, started and logged in ------------------------------------------------------------------------


def test_the_extra_and_the_program_are_looked_for_and_npms_script_leads_to_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = install.find(None, {"PATH": ""})
    assert isinstance(found, Unavailable)
    monkeypatch.setattr(install, "MODULE", "no_such_package_here")
    missing = install.find(None, {"PATH": ""})
    assert isinstance(missing, Unavailable) and (missing.code, missing.remedy) == (
        "AGENT_EXTRA_MISSING",
        install.INSTALL,
    )
    monkeypatch.setattr(install, "MODULE", "json")
    missing = install.find(None, {"PATH": ""})
    assert isinstance(missing, Unavailable) and (missing.code, missing.remedy) == (
        "AGENT_BINARY_MISSING",
        install.INSTALL_AGENT,
    )
    modules = tmp_path / "node_modules"
    script, native = modules / "@github/copilot/npm-loader.js", modules / "@github/copilot-linux-x64/copilot"
    for file in (script, native):
        file.parent.mkdir(parents=True)
        file.write_text("#!/bin/sh\n")
        file.chmod(0o755)
    (native.parent / "package.json").write_text('{"name": "@github/copilot-linux-x64", "version": "1.2.3"}')
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "copilot").symlink_to(script)
    assert install.find(None, {"PATH": str(tmp_path / "bin")}) == native
    assert install.agent_version(native) == "1.2.3" and install.agent_version(tmp_path / "bin" / "nothing") is None


@pytest.mark.parametrize("share", [False, True])
def test_the_environment_has_no_secret_and_logins_are_looked_for_only_where_they_may_be(
    tmp_path: Path, share: bool
) -> None:
    host = {
        "PATH": "/bin",
        "HOME": "/h",
        "GH_TOKEN": "gho_x",
        "OPENAI_API_KEY": "sk-x",
        "COPILOT_PROVIDER_API_KEY": "sk-y",
    }
    given = launch.launch(Path("/bin/copilot"), host, tmp_path, share_login=share)
    environment = given.command.environment
    assert not {"GH_TOKEN", "OPENAI_API_KEY", "COPILOT_PROVIDER_API_KEY"} & environment.keys()
    assert environment["COPILOT_HOME"] == str(tmp_path / "home") and (tmp_path / "home").stat().st_mode & 0o777 == 0o700
    assert ("--no-auto-login" in given.command.arguments) is not share and ("GH_CONFIG_DIR" in environment) is not share
    assert environment["COPILOT_CONNECTION_TOKEN"] == given.token and given.token not in repr(given.command.arguments)
    (tmp_path / "home" / "config.json").write_text(
        '// a comment\n{"loggedInUsers": [{"host": "github.com", "login": "me"}]}'
    )
    again = launch.launch(Path("/bin/copilot"), host, tmp_path, share_login=False)
    assert "--no-auto-login" not in again.command.arguments and again.token != given.token


def test_a_stored_token_is_read_and_anything_else_is_none(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    assert launch.stored_token(None) is None and launch.stored_token(tmp_path) is None
    for words in ("", "not json", "[]", '{"copilotTokens": []}', '{"copilotTokens": {}}'):
        file.write_text(words)
        assert launch.stored_token(tmp_path) is None
    file.write_text('// a comment\n{"copilot_tokens": {"https://github.com:me": "gho_mine"}}')
    assert launch.stored_token(tmp_path) == "gho_mine" and launch.stored_login(tmp_path)
    assert launch.own_home({"COPILOT_HOME": "/c", "HOME": "/h"}) == Path("/c") and launch.own_home({}) is None


def test_a_service_of_the_operators_own_needs_no_login_and_a_client_s_token_goes_before_the_environments() -> None:
    own = service.service(
        {
            "COPILOT_PROVIDER_BASE_URL": "http://x/v1",
            "COPILOT_PROVIDER_TYPE": "anthropic",
            "COPILOT_PROVIDER_API_KEY": "sk-secret",
            "COPILOT_PROVIDER_MAX_OUTPUT_TOKENS": "1000",
            "COPILOT_PROVIDER_MAX_PROMPT_TOKENS": "many",
            "COPILOT_MODEL": "mine",
            "GH_TOKEN": "gho_x",
        },
        "gho_y",
    )
    assert own.provider == {
        "type": "anthropic",
        "base_url": "http://x/v1",
        "api_key": "sk-secret",
        "max_output_tokens": 1000,
    }
    assert own.token is None and "sk-secret" not in repr(own)
    both = {"GITHUB_TOKEN": "gho_2", "COPILOT_GITHUB_TOKEN": "gho_1"}
    assert service.service(both, None).token == "gho_1" and service.service(both, "gho_0").token == "gho_0"
    assert service.service(both, None).options("m") == {"model": "m", "github_token": "gho_1"}
    for info in (service.agent_info((), own), service.agent_info((), service.service({}, None))):
        check(AgentInfo, info)


def test_models_are_those_that_can_be_used_the_default_first_and_are_kept(tmp_path: Path) -> None:
    reported = [
        {"id": "b", "name": "B", "policy": {"state": "disabled"}},
        {"id": "c", "capabilities": {"limits": {"max_context_window_tokens": 5}, "supports": {"vision": True}}},
        {"id": "a", "name": "A", "is_chat_default": True, "capabilities": {"supports": {"reasoning_effort": ["low"]}}},
        {"name": "no id"},
        "not one",
    ]
    found = service.models(reported)
    assert [one["id"] for one in found] == ["a", "c"] and found[1]["maxContextWindow"] == 5
    check(AgentInfo, service.agent_info(found, service.service({}, None)))
    known.store(tmp_path / "new", found)
    assert known.load(tmp_path / "new") == found
    (tmp_path / "new" / known.FILE).write_text('[{"id": 1}]')
    assert known.load(tmp_path / "new") == [] and known.load(tmp_path / "nowhere") == []
    assert service.models("nothing") == []


# -- where a chat stands ---------------------------------------------------------------------------------------------


def turns(*ids: str) -> Any:
    return [{"id": id} for id in ids]


def test_a_chat_is_taken_back_to_before_the_first_turn_that_it_has_not_any_more() -> None:
    at = Place("c", (("t1", "e1"), ("t2", "e2"), ("t3", "e3")))
    assert place(at.backing()) == at and place({"other": 1}) is None and place(None) is None
    assert taken_back(at, turns("t1", "t2", "t3"), "t4") == (at, None)
    back, event = taken_back(at, turns("t1"), "t4")
    assert (back.points, event) == ((("t1", "e1"),), "e2")
    assert taken_back(at, turns("t1", "t2"), "t3")[1] is None, "a turn that goes on is no turn that has gone"
    assert at.began("t2", "e9").points[-1] == ("t2", "e9") and at.has("t1") and not at.has("t4")


def test_a_branch_is_a_copy_up_to_the_turn_that_it_shares() -> None:
    source = Place("c", (("t1", "e1"), ("t2", "e2"))).backing()
    first = copied(Branch(source, "t1", 1), turns("mine"))
    assert first is not None and (first.conversation, first.until, first.points) == ("c", "e2", (("mine", "e1"),))
    whole = copied(Branch(source, "t2", 2), turns("a", "b"))
    assert whole is not None and whole.until is None and whole.points == (("a", "e1"), ("b", "e2"))
    assert copied(Branch(source, "t9", 9), ()) is None and copied(Branch(None, "t1", 1), ()) is None
    assert copied(None, ()) is None
    assert copied(Branch(Place("c", (("t1", "e1"),), "/theirs").backing(), "t1", 1), ()) is None


def test_transcripts_that_are_none_are_passed_over_and_an_id_is_never_a_path(tmp_path: Path) -> None:
    id = "0000000a-0000-4000-8000-000000000001"
    folder = tmp_path / "session-state" / id
    folder.mkdir(parents=True)
    (tmp_path / "session-state" / "..odd").mkdir()
    entries = [
        {"type": "session.start", "id": "s", "data": {"context": {"cwd": "/w"}}},
        {
            "type": "user.message",
            "id": "u1",
            "data": {"content": "<system_reminder>\nx\n</system_reminder>\n\nHello  you"},
        },
        {
            "type": "assistant.message",
            "id": "a1",
            "data": {
                "content": "Hi",
                "reasoningText": "hm",
                "toolRequests": [{"toolCallId": "c", "name": "memo-x", "mcpServerName": "memo", "mcpToolName": "x"}],
            },
        },
        {"type": "user.message", "id": "u2", "agentId": "child", "data": {"content": "not mine"}},
        {"type": "user.message", "id": "u3", "data": {"content": "steered", "delivery": "steering"}},
    ]
    lines = ["not json", "[]", *(json.dumps(entry) for entry in entries)]
    (folder / "events.jsonl").write_text("\n".join(lines))
    listed = transcripts.listed(tmp_path, None)
    assert [(one.id, one.title, one.directory) for one in listed] == [(id, "Hello you", "/w")]
    (folder / "workspace.yaml").write_text(f"id: {id}\nname: Mine\nuser_named: true\n")
    assert transcripts.listed(tmp_path, "/w")[0].title == "Mine" and transcripts.listed(tmp_path, "/x") == []
    adopted = transcripts.read(tmp_path, id, "/w")
    assert adopted is not None and [turn["message"]["text"] for turn in adopted.turns] == ["Hello  you"]
    parts = adopted.turns[0]["responseParts"]
    assert [part["kind"] for part in parts] == ["reasoning", "markdown", "toolCall"]
    assert parts[2]["toolCall"]["toolName"] == "mcp__memo__x"  # type: ignore[typeddict-item]
    for wrong in ("..", "../x", id.upper()):
        assert transcripts.read(tmp_path, wrong, None) is None
        transcripts.copy(str(folder), wrong, tmp_path / "ours")
    assert not (tmp_path / "ours").exists()
    transcripts.copy(str(folder), id, tmp_path / "ours")
    assert (tmp_path / "ours" / "session-state" / id / "events.jsonl").is_file()


# -- content and words -----------------------------------------------------------------------------------------------


def test_results_of_every_shape_are_told() -> None:
    picture = {"type": "image", "data": "aa", "mimeType": "image/png"}
    found: Any = content.result(
        "x", {"success": True, "result": {"contents": [{"type": "text", "text": "t"}, picture]}}
    )
    assert [block["type"] for block in found["content"]] == ["text", "embeddedResource"]
    deleted: Any = content.result(
        "x", {"success": True, "fileEdits": [{"kind": "delete", "path": "/a"}, {"path": "rel"}]}
    )
    assert [set(block) for block in deleted["content"]] == [{"type", "before"}]
    failed: Any = content.result("x", {"success": False, "error": {"message": "why"}, "fileEdits": [{"path": "/a"}]})
    assert failed["error"] == {"message": "why"} and failed["content"] == []


def test_attachments_that_cannot_be_given_are_named(tmp_path: Path) -> None:
    broken = {"type": "embeddedResource", "label": "x.bin", "contentType": "application/zip", "data": "/w=="}
    away = {"type": "resource", "label": "y", "uri": "https://example.org/y"}
    gone = {"type": "resource", "label": "z", "uri": (tmp_path / "z.png").as_uri()}
    lines = {"range": {"start": {"line": 0, "character": 0}, "end": {"line": 2, "character": 0}}}
    some = {"type": "resource", "label": "a", "uri": (tmp_path / "a.py").as_uri(), "selection": lines}
    message: Any = {
        "text": "hi",
        "origin": {"kind": "user"},
        "attachments": [broken, away, gone, some, {"type": "chat", "label": "c"}],
    }
    words, attached = content.prompt("hi", message, ("before",))
    assert attached == [] and words.endswith("hi") and words.startswith("<system_reminder>\nbefore")
    for told in ("x.bin", "https://example.org/y", "cannot be read", "a.py, lines 1 to 3", "Attached: c"):
        assert told in words


def test_words_of_a_service_lose_what_looks_like_a_key() -> None:
    assert masked('bad key "sk-abc", token=gho_1 (Bearer) ok') == "bad key … … … ok"
    assert len(masked("word " * 1000)) == 2000
    assert "memory" in exited("X", -9).message and "signal 6" in exited("X", -6).message and exited("X", None).resumable
    assert denial(Answer(False, message="because")) == "because" and denial(Answer(False, reason="timeout")) != denial(
        Answer(False)
    )
    many: Any = [{"message": {"text": "x" * 40_000}, "responseParts": []}] * 3
    assert earlier(many).count("User:") == 1 and earlier(()) == ""


def test_names_and_files_of_customizations() -> None:
    assert local("file:///a%20b") == "/a b" and local("https://x/y") is None
    plugin: Any = SimpleNamespace(uri="vscode-remote:/p", path="/copy")
    assert local("vscode-remote:/p/skills/x", plugin) == "/copy/skills/x"
    assert safe("a b/../c") == "a-b-..-c" and safe("///") == "unnamed"
    assert (
        body("---\na: b\n---\nwords") == "words" and body("---\nno end") == "---\nno end" and body("plain") == "plain"
    )
