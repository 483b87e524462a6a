"""The parts of Claude that need no process: where a conversation stands, what is handed over, what calls want."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.limits import BACKING_BYTES
from innkeeper.ports.customizations import Eligible, EligibleLeaf, EligiblePlugin, EligibleServer, HookRun
from innkeeper.ports.questions import Intent
from innkeeper.providers.brought import brought
from innkeeper.providers.claude import content, history, servers, transcripts
from innkeeper.providers.claude.cli import Unanswered
from innkeeper.providers.claude.client_tools import ClientTools
from innkeeper.providers.claude.handing import handed, lay_out, read_rules
from innkeeper.providers.claude.history import Place, Start, place, start, uuid_of
from innkeeper.providers.claude.permissions import _answers, intent_of
from innkeeper.providers.claude.process import _message
from innkeeper.providers.claude.turn import Running
from innkeeper.providers.spi import Branch, ClientTool, InputAnswer, ProviderError, ToolCompleted, ToolStarted
from innkeeper.providers.telling import CONTEXT_CHARACTERS, earlier, masked

pytestmark = pytest.mark.anyio


def turns(*ids: str) -> Any:
    return [{"id": id, "message": {"text": id}, "responseParts": []} for id in ids]


# -- history ---------------------------------------------------------------------------------------------------------

IDS = st.lists(st.integers(0, 30).map(lambda n: f"t{n}"), unique=True, max_size=12)


@given(IDS, st.integers(0, 12), st.booleans())
def test_the_agent_is_taken_back_to_the_last_turn_that_both_have(ids: list[str], kept: int, based: bool) -> None:
    """K17: whatever was cut from the end, and nothing is cut where nothing was."""
    known = Place("c", tuple((id, f"leaf-{id}") for id in ids), base="root" if based else None)
    remaining = ids[:kept]
    found = start(known, None, turns(*remaining), "new", "fresh")
    if len(remaining) == len(ids):
        assert found is None
    elif remaining or based:
        assert found is not None and found.resume == "c" and not found.fork
        assert found.at == (f"leaf-{remaining[-1]}" if remaining else "root")
        assert [id for id, _ in found.place.points] == remaining
    else:
        assert found == Start(Place("fresh"))


@given(IDS.filter(bool), st.data())
def test_a_fork_has_the_places_of_its_copies(ids: list[str], data: st.DataObject) -> None:
    """AHP §9.3: copies have ids of their own."""
    shared = data.draw(st.integers(1, len(ids)))
    source = Place("c", tuple((id, f"leaf-{id}") for id in ids))
    copies = [f"copy-{id}" for id in ids[:shared]]
    branch = Branch(source.backing(), ids[shared - 1], shared)
    found = start(None, branch, turns(*copies), "new", "fresh")
    assert found is not None and found.fork and (found.resume, found.at) == ("c", f"leaf-{ids[shared - 1]}")
    assert found.place.points == tuple(zip(copies, (f"leaf-{id}" for id in ids[:shared]), strict=True))
    assert start(found.place, branch, turns(*copies), "new", "other") is None
    cleared = start(found.place, None, turns(), "new", "other")
    assert cleared == Start(Place("other")), "nobody sees those turns any more, so the agent has none of them"


def test_a_side_chat_keeps_what_it_came_from() -> None:
    source = Place("c", (("a", "leaf-a"), ("b", "leaf-b")))
    found = start(None, Branch(source.backing(), "a", 1), turns(), "own", "fresh")
    assert found is not None and found.at == "leaf-a"
    again = start(found.place.reached("own", "leaf-own"), None, turns(), "next", "other")
    assert again is not None and (again.resume, again.at) == ("fresh", "leaf-a")


def test_what_is_not_known_any_more_is_told() -> None:
    assert start(None, None, turns("a"), "new", "fresh") == Start(Place("fresh"), tell=True)
    gone = Branch({"conversation": "c", "points": []}, "a", 1)
    assert start(None, gone, turns("a"), "new", "fresh") == Start(Place("fresh"), tell=True)
    assert start(Place("c", (("a", "leaf"),)), None, turns("b"), "new", "fresh") == Start(Place("fresh"), tell=True)


def test_a_backing_stays_small_and_comes_back_as_it_was() -> None:
    big = Place("c" * 36, told=tuple(f"{n:016}" for n in range(500)), base="b" * 36)
    for number in range(1000):
        big = big.reached(f"turn-{number:032}", uuid_of(str(number)))
    assert len(json.dumps(big.backing()).encode()) <= BACKING_BYTES
    small = Place("c", (("t", "leaf"),), base="b", told=("x",), transcript="/f")
    assert place(small.backing()) == small
    for foreign in (None, {}, {"conversation": 7}, {"thread": "x"}):
        assert place(foreign) is None
    assert small.reached("t", None) == small and history.uuid_of("a") == history.uuid_of("a") != history.uuid_of("b")


# -- handing over ----------------------------------------------------------------------------------------------------


def leaf(type: Any, path: str, name: str, **more: Any) -> EligibleLeaf:
    definition = more.pop("definition", {"type": type, "id": name, "uri": path, "name": name})
    given = {"container": "d", "plugin": None, "ecosystem": "claude", **more}
    return EligibleLeaf(type=type, id=name, key=name, uri=path, name=name, definition=definition, **given)


def test_a_plugin_of_a_client_is_found_in_its_copy_and_hooks_of_a_project_are_not_run(tmp_path: Path) -> None:
    """C7.4"""
    copy = tmp_path / "copy"
    (copy / "skills" / "tidy").mkdir(parents=True)
    (copy / "skills" / "tidy" / "SKILL.md").write_text("x")
    (copy / "servers.json").write_text(
        '{"mcpServers": {"s": {"command": "${CLAUDE_PLUGIN_ROOT}/run", "args": ["-v"]}}}'
    )
    plugin = EligiblePlugin(id="p", key="p", uri="ahp-client://c/house", name="my house", path=str(copy))
    run = HookRun(event="Stop", matcher=None, commands={"default": "echo"}, cwd="/a b", env={"X": "y z"}, timeout=3)
    foreign = HookRun(event="Unheard", matcher=None, commands={"default": "echo"})
    leaves = (
        leaf("skill", "ahp-client://c/house/skills/tidy/SKILL.md", "tidy", plugin=plugin.uri, ecosystem=None),
        leaf("hook", "ahp-client://c/house/hooks.json", "h", plugin=plugin.uri, ecosystem=None, runs=(run, foreign)),
        leaf("hook", (tmp_path / "w" / "hooks.json").as_uri(), "bad", runs=(run,)),
        leaf("agent", (tmp_path / "w" / "gone.md").as_uri(), "gone"),
        leaf("prompt", (tmp_path / "w" / "c.toml").as_uri(), "foreign", ecosystem="gemini"),
    )
    given = handed(Eligible(session="s", plugins=(plugin,), leaves=leaves), str(tmp_path / "w"))
    assert given.names == {"my-house:tidy", "claude:gone"}
    assert list(given.plugins[0].hooks) == ["Stop"] and not given.plugins[1].hooks
    [hook] = given.plugins[0].hooks["Stop"][0]["hooks"]
    assert hook["command"].endswith("export X='y z'; cd '/a b' && echo") and hook["timeout"] == 3
    paths, rules = lay_out(given, read_rules(given), tmp_path / "out")
    assert rules is None and (Path(paths[0]) / "skills" / "tidy").resolve() == copy / "skills" / "tidy"
    assert not (Path(paths[1]) / "agents" / "gone.md").exists()
    server = EligibleServer(
        id="s",
        key="s",
        uri="ahp-client://c/house/servers.json",
        name="s.1",
        owner=plugin.uri,
        pointer=("mcpServers", "s"),
    )
    unread = EligibleServer(
        id="u", key="u", uri="ahp-client://c/house/none.json", name="u", owner=plugin.uri, pointer=("x",)
    )
    config = {"command": f"{copy}/run", "args": ["-v"]}
    assert brought([server, unread], [plugin]) == {"plugin_my-house_s_1": ("s", config)}


def test_rules_for_some_files_say_for_which(tmp_path: Path) -> None:
    file = tmp_path / "r.md"
    file.write_text("Be brief.")
    definition: Any = {"type": "rule", "id": "r", "uri": "", "name": "r", "globs": ["*.py"]}
    given = handed(Eligible(session="s", leaves=(leaf("rule", file.as_uri(), "r", definition=definition),)), None)
    assert read_rules(given) == [f"Instructions from {file} (for files that match *.py):\n\nBe brief."]
    mark = given.mark(read_rules(given))
    file.write_text("Be long.")
    assert given.mark(read_rules(given)) != mark
    file.unlink()
    assert read_rules(given) == []


# -- calls -----------------------------------------------------------------------------------------------------------


def test_what_a_call_wants_is_said_for_certain_or_not_at_all() -> None:
    def wants(name: str, **input: Any) -> Intent:
        return intent_of(name, input, "/w", "bash")

    assert (wants("Bash", command="ls").command, wants("Bash", command="ls").language) == ("ls", "bash")
    assert intent_of("Bash", {"command": "ls"}, "/w", None).language is None, "in a shell that is not known"
    assert wants("Bash", command="ls", dangerouslyDisableSandbox=True).leaves_sandbox
    assert wants("Edit", file_path="/w/a").paths == ("/w/a",)
    assert wants("Grep", pattern="x").paths == ("/w",)
    assert wants("WebFetch", url="https://a").urls == ("https://a",)
    assert wants("mcp__a__b").kind == "mcp"
    for odd in ({"command": 7}, {"file_path": None}):
        assert wants("Bash", **odd).kind == wants("Write", **odd).kind == "tool"


def blocks(uri: str) -> list[dict[str, Any]]:
    message: Any = {"text": "look", "attachments": [{"type": "resource", "label": "pic", "uri": uri}]}
    return content.prompt("look", message, ())


def test_no_file_of_this_machine_is_read_for_the_address_of_another(tmp_path: Path) -> None:
    """What another machine calls by the same path is not this machine's; a rule, a skill or a server neither."""
    (tmp_path / "pic.png").write_bytes(b"PICTURE")
    (tmp_path / "rule.md").write_text("SECRET")
    (tmp_path / "servers.json").write_text('{"s": {"command": "x"}}')
    assert [block["type"] for block in blocks((tmp_path / "pic.png").as_uri())] == ["text", "image", "text"]
    elsewhere = f"file://otherhost{tmp_path}"
    assert [block.get("text") for block in blocks(f"{elsewhere}/pic.png")] == [
        f"Attached: pic at {elsewhere}/pic.png",
        "look",
    ]
    plugin = EligiblePlugin(id="p", key="p", uri=elsewhere, name="house", path=str(tmp_path / "none"))
    leaves = tuple(leaf(type, f"{elsewhere}/rule.md", type) for type in ("rule", "skill", "agent", "prompt"))
    given = handed(Eligible(session="s", leaves=leaves), str(tmp_path))
    assert (given.rules, given.names) == ((), frozenset())
    server = EligibleServer(id="s", key="s", uri=f"{elsewhere}/servers.json", name="s", owner=elsewhere, pointer=("s",))
    assert brought([server], [plugin]) == {}


def test_answers_to_questions_are_labels_and_own_words() -> None:
    asked = {"questions": [{"question": "a?", "options": [{"label": "A"}, {"label": "B"}]}, {"question": "b?"}]}
    given: Any = {
        "0": {"state": "submitted", "value": {"kind": "selected-many", "value": ["0", "9"], "freeformValues": ["own"]}},
        "1": {"state": "skipped"},
    }
    assert _answers(asked, InputAnswer("accept", given)) == {"a?": "A, own"}
    words: Any = {"1": {"state": "submitted", "value": {"kind": "text", "value": "my words"}}}
    assert _answers(asked, InputAnswer("accept", words)) == {"b?": "my words"}


@given(st.binary(max_size=200))
def test_any_line_is_a_message_or_nothing(line: bytes) -> None:
    assert _message(line) is None or isinstance(_message(line), dict)


def test_results_are_bounded_and_keys_are_masked() -> None:
    result = content.result("Read", {"content": "x" * 1_000_000}, None)
    assert len(result["content"][0]["text"]) == content.CHARACTERS  # type: ignore[typeddict-item]
    failed = content.result("Read", {"content": [{"type": "text", "text": "no"}], "is_error": True}, None)
    assert failed["error"] == {"message": "no"}
    assert masked("key 'sk-ant-x' is bad") == "key … is bad"
    long = turns("a", "b")
    long[0]["message"]["text"] = "y" * 100_000
    assert "User: b" in earlier(long) and "yyy" not in earlier(long)
    told = earlier(long[:1])
    assert "yyy" in told and len(told) < CONTEXT_CHARACTERS + 100, "of the only one there is as much as fits"


class Output:
    def __init__(self) -> None:
        self.signals: list[Any] = []

    def emit(self, signal: Any) -> None:
        self.signals.append(signal)


async def test_an_agent_that_says_nothing_of_its_state_is_through_with_its_result() -> None:
    """M7.8: another version is used as far as it goes."""
    output: Any = Output()
    turn = Running(output, lambda name: None, tells_state=False)
    call = {"type": "tool_use", "id": "c1", "name": "Read", "input": {}}
    turn.heard({"type": "assistant", "message": {"id": "m", "content": [call]}, "parent_tool_use_id": None})
    block = {"type": "tool_result", "tool_use_id": "c1", "content": "x"}
    turn.heard({"type": "user", "message": {"content": [block, block]}, "parent_tool_use_id": None})
    turn.heard({"type": "whatever"})
    turn.heard({"type": "result", "is_error": False, "usage": None})
    assert await asyncio.wait_for(turn.over, 1) is None
    kinds = [type(signal) for signal in output.signals]
    assert kinds.count(ToolStarted) == kinds.count(ToolCompleted) == 1


async def test_a_server_inside_the_host_answers_what_mcp_asks_of_it() -> None:
    async def run(tool: ClientTool, call: str, arguments: Any) -> Any:
        return {"success": False, "pastTenseMessage": "no", "error": {"message": f"{call} {arguments}"}}

    tools = ClientTools(run)
    tools.set([ClientTool("c", {"name": "a tool"}), ClientTool("d", {"name": "a tool"})])  # type: ignore[typeddict-item]
    assert tools.named("mcp__client___a_tool") == ClientTool("c", {"name": "a tool"})  # type: ignore[typeddict-item]
    assert tools.named("a_tool") is None
    listed = await tools.handle({"id": 1, "method": "tools/list"})
    assert listed is not None and [tool["name"] for tool in listed["result"]["tools"]] == ["a_tool"]
    params = {"name": "a_tool", "arguments": {"x": 1}, "_meta": {"claudecode/toolUseId": "c9"}}
    called: Any = await tools.handle({"id": 2, "method": "tools/call", "params": params})
    assert called["result"] == {"content": [{"type": "text", "text": "c9 {'x': 1}"}], "isError": True}
    for method in ("nothing", "tools/call"):
        unknown: Any = await tools.handle({"id": 3, "method": method, "params": {"name": "gone"}})
        assert unknown["error"]["code"] == -32601
    assert await tools.handle({"method": "notifications/initialized"}) is None


def test_transcripts_that_make_no_sense_are_passed_over(tmp_path: Path) -> None:
    """Bytes from an agent are checked where they enter (architecture §3.6)."""
    folder = tmp_path / "projects" / "-w"
    folder.mkdir(parents=True)
    (folder / "empty.jsonl").write_text("")
    (folder / "odd.jsonl").write_bytes(b'\xff\n[1]\n{"type":"user"}\n{"type":"user","message":{"content":[7]}}\n')
    lines = [
        {"type": "user", "uuid": "u1", "cwd": "/w", "message": {"content": "hello"}},
        {"type": "assistant", "uuid": "a1", "message": {"content": [{"type": "text", "text": "hi"}, {"type": "odd"}]}},
        {"type": "user", "uuid": "u2", "isSidechain": True, "message": {"content": "inner"}},
        {"type": "custom-title", "customTitle": "Named"},
    ]
    (folder / "good.jsonl").write_text("\n".join(map(json.dumps, lines)))
    [one] = transcripts.listed(tmp_path, "/w")
    assert (one.id, one.title, one.directory) == ("good", "Named", "/w")
    adopted = transcripts.read(tmp_path, "good", None)
    assert adopted is not None and [turn["id"] for turn in adopted.turns] == ["u1"]
    assert transcripts.read(tmp_path, "../good", None) is None
    assert transcripts.read(tmp_path, "good", "/elsewhere") is None


class Told:
    """The control requests of an agent; `answers` may raise."""

    def __init__(self, listed: list[str], error: str | None = None) -> None:
        self.listed, self.error = listed, error
        self.requests: list[Any] = []

    async def control(self, subtype: str, **request: Any) -> Any:
        self.requests.append((subtype, request))
        if self.error is not None:
            raise Unanswered(f"{subtype}: Exception: {self.error}")
        return {"mcpServers": [{"name": name, "status": "pending"} for name in self.listed]}


async def test_what_was_taken_away_is_read_back_and_a_status_means_nothing() -> None:
    """C6.2-C6.4: a server that is still there is an error; an equal set is not told again."""
    cli: Any = Told(["memo"])
    served = servers.Served(cli)
    memo = servers.Wanted({"memo": {"type": "http"}}, {"memo": "id"})
    assert list(await served.set(memo, client_tools=False)) == ["memo"]
    await served.set(memo, client_tools=False)
    assert [subtype for subtype, _ in cli.requests] == ["mcp_set_servers", "mcp_status", "mcp_status"]
    with pytest.raises(ProviderError, match="memo"):
        await served.set(servers.Wanted(), client_tools=False)


@pytest.mark.parametrize(
    ("error", "code"),
    [("Unsupported control request subtype", "AGENT_UNSUPPORTED"), ("TimeoutError", "AGENT_UNRESPONSIVE")],
)
async def test_an_agent_that_does_not_take_its_servers_runs_no_turn(error: str, code: str) -> None:
    """M7.8, C6.4: what failed is not taken for applied."""
    cli: Any = Told([], error)
    served = servers.Served(cli)
    for _ in range(2):
        with pytest.raises(ProviderError) as failed:
            await served.set(servers.Wanted({"memo": {}}), client_tools=False)
        assert failed.value.error_type == code
    assert len(cli.requests) == 2, "it is told again"
