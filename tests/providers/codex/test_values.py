"""What Codex says and is told, as values: no process is needed to be wrong about them."""

import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.ports.customizations import Eligible, EligibleLeaf, EligiblePlugin
from innkeeper.protocol.chat.state import Turn
from innkeeper.protocol.check import check
from innkeeper.providers.codex.approvals import unwrapped
from innkeeper.providers.codex.enablement import Reading, instructions
from innkeeper.providers.codex.history import turns_of
from innkeeper.providers.codex.install import methods_of, version_of
from innkeeper.providers.codex.items import Items
from innkeeper.providers.codex.launch import command
from innkeeper.providers.codex.messages import user_input
from innkeeper.providers.codex.reading import read
from innkeeper.providers.codex.results import edit_result
from innkeeper.providers.codex.settings import approval_policy, models, sandbox
from innkeeper.providers.codex.threads import listed, starting
from innkeeper.providers.codex.turn import failure
from innkeeper.providers.spi import ToolCompleted, ToolStarted

WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=30)
KINDS = st.sampled_from(["commandExecution", "fileChange", "mcpToolCall", "webSearch", "agentMessage", "strange"])
ITEMS = st.fixed_dictionaries(
    {"type": KINDS, "id": st.sampled_from(["a", "b", "c"])},
    optional={
        "text": WORDS,
        "command": WORDS,
        "aggregatedOutput": st.none() | WORDS,
        "exitCode": st.none() | st.integers(0, 255),
        "status": st.sampled_from(["completed", "failed", "declined", "inProgress"]),
        "server": WORDS,
        "tool": WORDS,
        "arguments": st.none() | st.dictionaries(WORDS, WORDS, max_size=3),
        "changes": st.lists(st.fixed_dictionaries({"path": WORDS.map(lambda w: f"/{w}"), "diff": WORDS}), max_size=2),
    },
)


def items(signals: list[Any]) -> Items:
    return Items(signals.append, "t", {}, asks=True, now=lambda: 0.0, child=lambda thread, call: None)


@given(st.lists(st.tuples(st.sampled_from(["item/started", "item/completed"]), ITEMS), max_size=12))
def test_each_call_is_started_once_and_before_it_is_completed(notes: list[tuple[str, dict[str, Any]]]) -> None:
    signals: list[Any] = []
    taken = items(signals)
    for method, item in notes:
        taken.take(method, {"threadId": "t", "item": item})
    started = [s.call for s in signals if isinstance(s, ToolStarted)]
    assert len(started) == len(set(started))
    for index, signal in enumerate(signals):
        if isinstance(signal, ToolCompleted):
            assert any(isinstance(s, ToolStarted) and s.call == signal.call for s in signals[:index])


@given(
    st.lists(st.fixed_dictionaries({"id": WORDS, "status": WORDS, "items": st.lists(ITEMS, max_size=4)}), max_size=4)
)
def test_turns_of_a_transcript_are_turns_of_the_protocol(turns: list[dict[str, Any]]) -> None:
    made = turns_of(turns)
    for turn in made:
        check(Turn, turn)
    assert len(made) <= len(turns)


@given(WORDS)
def test_a_script_in_a_shell_is_found_whatever_it_says(script: str) -> None:
    assert unwrapped(f"/bin/bash -lc {shlex.quote(script)}") == (script, "bash")


@pytest.mark.parametrize("line", ["rm -rf /", "bash -lc a b", "'unclosed", "", "/bin/zsh -lc 'ls'"])
def test_what_is_no_script_in_a_shell_has_no_language(line: str) -> None:
    assert unwrapped(line) == (line, None)


def test_the_version_and_the_methods_are_read_from_what_the_binary_says() -> None:
    assert version_of("innkeeper/0.163.0 (Debian 12.0.0; x86_64)") == "0.163.0"
    assert version_of("") == "?"
    schema = {"oneOf": [{"properties": {"method": {"enum": ["thread/start"]}}}, {"properties": {}}, 3]}
    assert methods_of(schema) == {"thread/start"} and methods_of([]) == frozenset()


def test_full_access_asks_nothing_and_nothing_else_is_full_access() -> None:
    assert approval_policy({"sandbox": "danger-full-access"}) == "never"
    assert approval_policy({"sandbox": "nonsense", "approvalPolicy": "never"}) == "on-request"
    assert sandbox({}) == "workspace-write"


def test_hidden_models_are_not_listed_and_the_default_is_first() -> None:
    models_listed = [{"id": "a"}, {"id": "b", "isDefault": True}, {"id": "c", "hidden": True}, {"name": "no id"}, 3]
    assert [model["id"] for model in models(models_listed)] == ["b", "a"]


def test_a_key_in_an_error_is_not_shown_and_a_refused_login_has_its_own_code() -> None:
    keyed = failure({"codexErrorInfo": "badRequest", "message": "Incorrect API key provided: 'sk-1234'"})
    assert "sk-12" not in keyed.message and "Incorrect API key" in keyed.message
    assert failure({"codexErrorInfo": "unauthorized", "message": "x"}).error_type == "AGENT_LOGIN_MISSING"
    told = failure({"codexErrorInfo": {"httpConnectionFailed": {}}, "message": "gone"})
    assert told.error_type == "AGENT_REFUSED" and "httpConnectionFailed: gone" in told.message


def test_an_edit_names_its_files_so_that_the_host_knows_what_an_agent_wrote() -> None:
    """M4.1b."""
    change = {"path": "/w/a.txt", "kind": {"type": "update"}, "diff": "@@\n-old\n+new\n+more"}
    edit: Any = edit_result({"status": "completed", "changes": [change]})["content"]
    assert edit[0]["after"]["uri"] == "file:///w/a.txt" and edit[0]["diff"] == {"added": 2, "removed": 1}
    assert edit_result({"status": "declined", "changes": [change]})["success"] is False


def test_the_command_silences_what_would_call_out_and_passes_no_secret(tmp_path: Any) -> None:
    given = command("codex", {"PATH": "/bin", "OPENAI_API_KEY": "s"}, tmp_path, tmp_path / "home", keep_login=False)
    line = " ".join(given.arguments)
    for quiet in ("analytics.enabled=false", "features.plugins=false", "check_for_update_on_startup=false"):
        assert quiet in line
    assert 'cli_auth_credentials_store="ephemeral"' in line and "s" not in given.environment.values()


def attached(**attachment: Any) -> Any:
    message: Any = {"text": "look", "origin": {"kind": "user"}, "attachments": [{"type": "resource", **attachment}]}
    return user_input("look", message)[1]


def test_a_file_of_this_machine_goes_by_its_path_and_one_of_another_by_its_address() -> None:
    """What another machine calls `/a.png` is not this machine's file of that name."""
    assert attached(label="a", uri="file:///w/a%20b.txt")["text"] == "a: /w/a b.txt"
    assert attached(label="a", uri="file:///w/a.png") == {"type": "localImage", "path": "/w/a.png"}
    for elsewhere in ("file://otherhost/w/a.png", "https://a.example/a.png"):
        assert attached(label="a", uri=elsewhere)["text"] == f"a: {elsewhere}"
    bare: Any = {"text": "hi", "origin": {"kind": "user"}}
    assert user_input("hi", bare) == [{"type": "text", "text": "hi", "text_elements": []}]


def eligible_of(plugin: EligiblePlugin, **leaves: str) -> Eligible:
    """`leaves`: type to URI."""
    shared: Any = {"container": "p", "plugin": plugin.uri, "ecosystem": None}
    made: list[EligibleLeaf] = []
    for type, uri in leaves.items():
        definition: Any = {"type": type, "id": type, "uri": uri, "name": f"the {type}", "globs": ["*.py"]}
        given: Any = {"type": type, "id": type, "key": type, "uri": uri, "name": f"the {type}"}
        made.append(EligibleLeaf(**given, **shared, definition=definition))
    return Eligible(session="s", plugins=(plugin,), leaves=tuple(made))


def test_what_is_in_a_plugin_of_a_client_is_read_from_its_copy(tmp_path: Path) -> None:
    """C7.4: the client's address of it is no file of this machine."""
    for name, words in (("skill.md", "SKILL"), ("rule.md", "---\nglobs: '*.py'\n---\nBe brief."), ("agent.md", "Act.")):
        (tmp_path / name).write_text(words)
    plugin = EligiblePlugin(id="p", key="p", uri="ahp-client://c/house", name="house", path=str(tmp_path))
    given = eligible_of(plugin, **{kind: f"{plugin.uri}/{kind}.md" for kind in ("skill", "rule", "agent")})
    reading = read(given, "/w", None, tmp_path / "roles", ())
    assert [rule.partition("\n")[2].strip() for rule in reading.rules] == ["Be brief."]
    assert "for files that match *.py" in reading.rules[0]
    assert "Act." in Path(reading.roles["the agent"][1]).read_text()
    assert f"(file: {tmp_path / 'skill.md'})" in "\n".join(instructions(given, reading, None))


def test_nothing_is_read_of_another_machine(tmp_path: Path) -> None:
    (tmp_path / "rule.md").write_text("SECRET")
    elsewhere = f"file://otherhost{tmp_path}/rule.md"
    plugin = EligiblePlugin(id="p", key="p", uri=f"file://otherhost{tmp_path}", name="house", path="/nowhere")
    given = eligible_of(plugin, skill=elsewhere, rule=elsewhere, agent=elsewhere)
    assert read(given, "/w", None, tmp_path / "roles", ()) == Reading([], {}, {})
    assert instructions(given, Reading(), None) == []


class Reporting:
    """An app-server that reports a status for each server by name."""

    def __init__(self, **statuses: str) -> None:
        self.statuses = statuses
        self.asked: list[Any] = []

    async def call(self, method: str, /, **params: Any) -> Any:
        self.asked.append(params)
        name = params["serverName"]
        return {"data": [{"name": name, "runtimeStatus": self.statuses[name]}] if name in self.statuses else []}


@pytest.mark.anyio
async def test_only_what_is_said_to_be_connected_counts_and_it_is_always_asked_by_name() -> None:
    """C6.3: no other status means that a server is on. The trap: without a name Codex starts each server once more."""
    words = ("notStarted", "starting", "authenticationRequired", "failed", "cancelled", "disabled")
    server: Any = Reporting(**{word: word for word in words}, on="connected")
    assert await listed(server, "t", [*words, "on", "gone"]) == {"on"}
    assert {(one["threadId"], one["serverName"]) for one in server.asked} == {("t", n) for n in (*words, "on", "gone")}
    assert await starting(server, "t", ["failed", "starting"]) and not await starting(server, "t", ["failed", "on"])
