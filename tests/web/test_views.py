"""What states of AHP look like on a page: rows, cards, questions, pickers, addresses. All of it is pure."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from innkeeper.protocol.status import ERROR, IDLE, IN_PROGRESS, INPUT_NEEDED, IS_ARCHIVED, IS_READ
from innkeeper.web import composing, diffs, names
from innkeeper.web.gate_cards import gate, waiting_calls
from innkeeper.web.highlight import highlighted, highlighted_lines
from innkeeper.web.questions import NotAnAnswer, answers
from innkeeper.web.session_rows import rows
from innkeeper.web.times import Times
from innkeeper.web.tool_cards import LINES, card

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def summary(name: str, status: int, modified: str = "2026-11-30T11:00:00.000Z", **more: Any) -> dict[str, Any]:
    folder = "file:///home/ada/work/shop"
    shown = {"title": name, "provider": "claude", "workingDirectories": [folder], "modifiedAt": modified}
    return {"resource": f"ahp-session:/{name}", "status": status, **shown, **more}


def listed(*summaries: dict[str, Any], **options: Any) -> list[tuple[str, str, str]]:
    found = rows(summaries, agents={"claude": "Claude"}, home="/home/ada", now=NOW, **options)
    return [(row.group, row.title, row.mark) for row in found]


def test_sessions_stand_by_group_the_ones_that_need_a_person_first() -> None:
    """ui.md §3: Needs you, Today, This week, Older"""
    found = listed(
        summary("run", IN_PROGRESS | IS_READ),
        summary("done", IDLE),
        summary("asks", INPUT_NEEDED, "2026-11-01T00:00:00.000Z"),
        summary("week", IDLE | IS_READ, "2026-11-26T00:00:00.000Z"),
        summary("old", ERROR, "2026-10-01T00:00:00.000Z"),
        summary("away", IDLE | IS_ARCHIVED),
    )
    assert found == [
        ("needs", "asks", "needs"),
        ("today", "run", "running"),
        ("today", "done", "done"),
        ("week", "week", "idle"),
        ("older", "old", "error"),
    ]


def test_a_session_that_works_in_a_worktree_stands_under_its_project() -> None:
    """ui.md §3, session row: the workspace is what a person opened."""
    tree = "file:///home/ada/work/shop.worktrees/fix"
    made = summary("fix", IDLE, workingDirectories=[tree], project={"uri": "file:///home/ada/work/shop"})
    (row,) = rows([made], agents={}, home="/home/ada", now=NOW)
    assert row.where == "~/work/shop" and names.workspace(made) == "file:///home/ada/work/shop"
    assert names.workspace({"workingDirectories": [tree]}) == tree and names.workspace({}) == ""


def test_a_search_looks_at_title_folder_and_agent() -> None:
    sessions = (summary("Fix tax", IDLE), summary("Other", IDLE))
    assert [title for _, title, _ in listed(*sessions, query="TAX ~/work claude")] == ["Fix tax"]
    assert listed(*sessions, query="nothing") == []


def test_the_archive_is_shown_alone() -> None:
    assert listed(summary("a", IDLE | IS_ARCHIVED), summary("b", IDLE), archived=True) == [("archived", "a", "done")]


@given(st.text(min_size=1))
def test_a_key_leads_back_to_its_session_and_to_no_other_channel(rest: str) -> None:
    uri = f"ahp-session:/{rest}"
    assert names.session_uri(names.key_of(uri)) == uri
    assert names.session_uri(names.key_of(f"ahp-terminal:/{rest}")) is None
    assert names.chat_uri(names.key_of(uri)) is None or "~" not in names.key_of(uri)


@given(st.text())
def test_no_address_breaks_the_reading_of_keys(key: str) -> None:
    found = names.session_uri(key)
    assert found is None or found.startswith("ahp-session:")


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("file:///home/ada/work", "~/work"),
        ("file:///home/ada", "~"),
        ("file:///home/adam/x", "/home/adam/x"),
        ("file:///w/%E4%B8%AD", "/w/中"),
        ("vscode-remote://x/y", "vscode-remote://x/y"),
    ],
)
def test_a_folder_is_written_as_a_person_knows_it(uri: str, shown: str) -> None:
    assert names.folder(uri, "/home/ada") == shown


def call(status: str, **more: Any) -> dict[str, Any]:
    return {"toolCallId": "c", "toolName": "Bash", "displayName": "Bash", "status": status, **more}


@pytest.mark.parametrize(
    ("state", "mark"),
    [
        (call("streaming", partialInput='{"comm'), "waiting"),
        (call("running"), "running"),
        (call("completed", success=True), "done"),
        (call("completed", success=False, error={"message": "no"}), "failed"),
        (call("cancelled", reason="denied"), "denied"),
        (call("cancelled", reason="skipped"), "cancelled"),
        (call("pending-confirmation"), "asks"),
        (call("auth-required"), "asks"),
    ],
)
def test_every_state_of_a_call_has_its_mark(state: dict[str, Any], mark: str) -> None:
    assert card(state).mark == mark


def test_the_subject_of_a_call_is_one_line_and_what_it_is_about() -> None:
    assert card(call("running", toolInput='{"command": "make\\n  test", "timeout": 3}')).subject == "make test"
    assert card(call("running", toolInput='{"file_path": "/w/shop/a.py"}'), "/w/shop").subject == "a.py"
    assert card(call("running", invocationMessage="Looks around")).subject == "Looks around"
    assert card(call("running", toolInput='{"command": "x"}')).arguments == "", "the header says all of it"


def test_of_long_output_the_end_is_shown_and_how_much_is_before() -> None:
    words = "\n".join(str(n) for n in range(40))
    (output,) = card(call("running", content=[{"type": "text", "text": words}])).outputs
    assert output.text.split("\n") == [str(n) for n in range(40 - LINES, 40)] and output.before == 40 - LINES


@pytest.mark.parametrize(
    ("before", "after", "kind"), [(None, "a", "created"), ("a", None, "deleted"), ("a", "b", "renamed")]
)
def test_an_edit_says_what_became_of_the_file(before: str | None, after: str | None, kind: str) -> None:
    sides = {"before": before, "after": after}
    content = {name: {"uri": f"file:///w/{uri}", "content": {}} for name, uri in sides.items() if uri is not None}
    shown = card(call("completed", success=True, content=[{"type": "fileEdit", "diff": {"added": 2}, **content}]))
    assert [edit.kind for edit in shown.edits] == [kind] and (shown.added, shown.removed) == (2, 0)


def gated(**more: Any) -> dict[str, Any]:
    ids = {"allow-once": "gate.allow_once", "allow-always": "gate.allow_always", "deny": "gate.deny"}
    told = {"message": "gate.title", "values": {"server": "ledger", "tool": "query"}, "options": ids}
    kinds = {"allow-once": "approve", "allow-always": "approve", "deny": "deny"}
    options = [{"id": id, "label": "host's words", "kind": kind} for id, kind in kinds.items()]
    return call("pending-confirmation", _meta={"x-innkeeper/gate": told}, options=options, **more)


def test_the_gate_s_question_is_in_the_reader_s_language_whoever_asks() -> None:
    """M6.2, ui.md §5"""
    english, chinese = gate(gated(), "en"), gate(gated(), "zh_Hans")
    assert english.title == "Allow `query` from ledger?"
    assert [option.label for option in english.options] == ["Allow once", "Always allow this tool", "Deny"]
    assert chinese.title == "允许调用 ledger 的 `query` 吗？"
    assert [option.label for option in chinese.options] == ["允许一次", "始终允许此工具", "拒绝"]


def test_a_question_of_a_later_version_keeps_the_words_of_the_host() -> None:
    meta = {"x-innkeeper/gate": {"message": "gate.new", "values": {}, "options": {"allow-once": "gate.new"}}}
    options = [{"id": "allow-once", "label": "host's words", "kind": "approve"}]
    asked = gate(call("pending-confirmation", _meta=meta, options=options), "zh_Hans")
    assert [option.label for option in asked.options] == ["host's words"]


def test_a_question_without_options_takes_yes_and_no() -> None:
    assert [option.id for option in gate(call("pending-result-confirmation"), "en").options] == ["approve", "deny"]


def test_the_file_of_the_server_is_named_where_it_is_the_project_s() -> None:
    """A server of a plugin, and one of the operator's, has no file of this project."""
    uris = {"file:///w/.mcp.json": ".mcp.json", "file:///w/.vscode/mcp.json": ".vscode/mcp.json", "x-innkeeper:/h": ""}
    for uri, file in uris.items():
        server = {"id": "s", "type": "mcpServer", "name": "ledger", "uri": f"{uri}#mcp=ledger"}
        asked = gated(contributor={"kind": "mcp", "customizationId": "s"})
        assert gate(asked, "en", [server]).file == file
        assert gate(gated(), "en", [server]).file == file, "by its name, where the call says no more"
        assert gate(asked, "en", [{"id": "f", "children": [server]}]).file == ""


def test_calls_that_wait_stand_in_their_order() -> None:
    parts = [{"kind": "toolCall", "toolCall": {**gated(), "toolCallId": id}} for id in "ab"]
    parts.insert(1, {"kind": "toolCall", "toolCall": call("running")})
    assert [one["toolCallId"] for one in waiting_calls({"activeTurn": {"responseParts": parts}})] == ["a", "b"]


def question(kind: str, **more: Any) -> dict[str, Any]:
    options = [{"id": "a", "label": "A"}, {"id": "b", "label": "B"}]
    return {"questions": [{"kind": kind, "id": "q", "message": "?", "options": options, **more}]}


def answered(request: dict[str, Any], *given: str, own: tuple[str, ...] = ()) -> Any:
    fields = {"q.q": list(given), "f.q": list(own)}
    return answers(request, lambda name: fields.get(name, []))["q"]


@pytest.mark.parametrize(
    ("kind", "given", "value"),
    [
        ("text", ("words",), {"kind": "text", "value": "words"}),
        ("number", ("1.5",), {"kind": "number", "value": 1.5}),
        ("integer", ("3",), {"kind": "number", "value": 3}),
        ("boolean", ("false",), {"kind": "boolean", "value": False}),
        ("single-select", ("b",), {"kind": "selected", "value": "b"}),
        ("multi-select", ("a", "b"), {"kind": "selected-many", "value": ["a", "b"]}),
        ("of-a-later-version", ("x",), {"kind": "text", "value": "x"}),
    ],
)
def test_each_kind_of_question_has_its_answer(kind: str, given: tuple[str, ...], value: dict[str, Any]) -> None:
    """AHP §9.8"""
    assert answered(question(kind), *given) == {"state": "submitted", "value": value}


def test_an_empty_field_skips_what_may_be_skipped() -> None:
    assert answered(question("text"), "") == {"state": "skipped"}


def test_words_of_one_s_own_count_where_they_are_allowed() -> None:
    own = answered(question("single-select", allowFreeformInput=True), own=("mine",))
    assert own["value"] == {"kind": "selected", "value": "mine", "freeformValues": ["mine"]}
    assert answered(question("single-select"), own=("mine",)) == {"state": "skipped"}


@pytest.mark.parametrize(
    ("request_", "given", "wrong"),
    [
        (question("text", required=True), "", "required"),
        (question("text", min=3), "ab", "short"),
        (question("text", max=1), "ab", "long"),
        (question("integer"), "1.5", "whole"),
        (question("number"), "nan", "number"),
        (question("number", min=1), "0", "small"),
        (question("number", max=1), "2", "large"),
        (question("single-select"), "z", "unknown"),
        (question("multi-select", min=2), "a", "few"),
        (question("multi-select", max=0), "a", "many"),
    ],
)
def test_what_a_question_does_not_take_is_said(request_: dict[str, Any], given: str, wrong: str) -> None:
    with pytest.raises(NotAnAnswer) as raised:
        answered(request_, given)
    assert raised.value.kind == wrong


CONFIG = {
    "schema": {
        "properties": {
            "mode": {"enum": ["interactive", "plan"], "default": "interactive", "sessionMutable": True},
            "permissionMode": {
                "title": "Permissions",
                "enum": ["ask", "edit"],
                "enumLabels": ["Ask", "Edit"],
                "default": "ask",
                "sessionMutable": True,
            },
            "branch": {"enum": ["x"], "sessionMutable": False},
        }
    },
    "values": {"mode": "interactive", "permissionMode": "ask"},
}


def test_the_mode_names_the_agent_s_choice_unless_another_was_changed() -> None:
    picker = composing.mode_picker({"config": CONFIG}, "en")
    assert picker.label == "Ask" and [group.name for group in picker.groups] == ["config.permissionMode", "config.mode"]
    changed = {**CONFIG, "values": {"mode": "plan", "permissionMode": "ask"}}
    assert composing.mode_picker({"config": changed}, "zh_Hans").label == "仅规划"


AGENT = {
    "provider": "p",
    "displayName": "P",
    "models": [{"id": "s", "name": "S", "maxContextWindow": 1000}, {"id": "o", "name": "O"}],
}


def test_what_was_picked_is_the_draft_s_else_the_latest_message_s() -> None:
    chat = {"turns": [{"id": "1", "message": {"text": "", "model": {"id": "o"}}}]}
    assert composing.model_picker(AGENT, chat, "en").label == "O"
    assert composing.model_picker(AGENT, {**chat, "draft": {"text": "", "model": {"id": "s"}}}, "en").label == "S"
    assert composing.model_picker(AGENT, {}, "en").label == "Default model"


def test_the_context_used_is_of_the_latest_request_and_unknown_where_nobody_says() -> None:
    chat = {"turns": [{"id": "1", "message": {"text": ""}, "usage": {"inputTokens": 410, "model": "s"}}]}
    assert composing.context_used(AGENT, chat) == 41
    assert composing.context_used(AGENT, {"turns": []}) is None
    assert composing.context_used({"models": [{"id": "o", "name": "O"}]}, chat) is None


@pytest.mark.parametrize(
    ("session", "chat", "why"),
    [
        ({"status": IDLE | IS_ARCHIVED}, {}, "archived"),
        ({"status": IDLE}, {"interactivity": "read-only"}, "readOnly"),
        ({"status": IDLE, "lifecycle": "failed"}, {}, "failed"),
        ({"status": IDLE}, {"interactivity": "full"}, ""),
    ],
)
def test_a_chat_that_takes_no_message_says_why(session: dict[str, Any], chat: dict[str, Any], why: str) -> None:
    assert composing.closed(session, chat) == why


@given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abc"), max_size=12))
def test_a_diff_holds_every_changed_line_once(before: list[str], after: list[str]) -> None:
    found = diffs.rows("\n".join(before), "\n".join(after), around=100)
    kept = [row.text for row in found if row.kind == "same"]
    assert [row.text for row in found if row.kind in ("same", "removed")] == (before if found else [])
    assert sorted(row.text for row in found if row.kind in ("same", "added")) == (sorted(after) if found else [])
    assert bool(found) == (before != after) and len(kept) <= min(len(before), len(after))


def test_a_span_begins_when_it_was_first_seen_and_history_has_none() -> None:
    moments = iter([NOW, NOW.replace(second=8)])
    times = Times(lambda: next(moments))
    assert times.seen("history", running=False).began is None
    times.seen("thought", running=True)
    assert times.seen("thought", running=False).seconds == 8


def test_what_else_an_answer_covers_ends_with_one_full_stop() -> None:
    """M6.8: the reasons of other rules, in the reader's language."""
    asked = {
        "message": "gate.title",
        "values": {"server": "s", "tool": "t"},
        "also": [{"message": "gate.why.askingRule"}],
    }
    state = call("pending-confirmation", _meta={"x-innkeeper/gate": asked})
    assert gate(state, "en").also == ("A rule asks about it",)
    assert gate(state, "zh_Hans").also == ("有规则要求确认",)


def test_a_name_that_is_called_is_coloured_as_a_function() -> None:
    """ui.md §1, syn-fn; picture chat-light."""
    shown = highlighted("total = Decimal(0).quantize(CENT)", "python")
    assert shown.count("syn-fn") == 2
    for name in ("Decimal", "quantize"):
        assert f'<span class="syn-fn">{name}</span>' in shown
    assert highlighted_lines("f(x)\ny", "python") == ('<span class="syn-fn">f</span>(x)', "y")
