"""What a conversation shows and takes (issue 7 B.1; design ui.md §3, §6–§8)."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import expect


def send(page: Any, text: str) -> None:
    page.get_by_label("Message to the agent").fill(text)
    page.keyboard.press("Enter")


def test_the_gate_has_three_answers_in_place_in_the_reader_s_language(stage: Any, tab: Any) -> None:
    """M6.2: the question stands in the conversation; another browser answers it in Chinese, and both see the end."""
    path = stage.session(title="Gate")
    page, other = tab(path), tab(path, lang="zh")
    send(page, "rounding")
    gate = page.get_by_role("group", name="Allow query_invoices from ledger?")
    gate.wait_for()
    names = [" ".join(one.split()) for one in gate.get_by_role("button").all_inner_texts()]
    assert names == ["Allow once 1", "Always allow this tool 2", "Deny 3"]
    arguments = 'customer: "c_1042"\nsince: "2026-11-01"\nlimit: 50'
    expect(gate.locator(".gate-arguments")).to_have_text(arguments, use_inner_text=True)
    expect(gate.locator(".expires")).to_have_text(re.compile(r"Expires in (9|10):\d\d"))
    other.get_by_role("button", name="允许一次").click()
    page.get_by_text("Answered: allow-once.").wait_for()
    expect(page.get_by_role("group")).to_have_count(0)
    expect(page.locator(".card.done")).to_have_count(3)


def test_a_key_answers_only_with_the_focus_inside_the_question(stage: Any, tab: Any) -> None:
    """ui.md §6: it takes no focus by itself, no key answers it from outside, `q` moves there."""
    page = tab(stage.session(title="Keys"))
    send(page, "rounding")
    page.locator("[data-gate]").wait_for()
    expect(page.locator("#text")).to_be_focused()
    page.locator("#main").focus()
    page.keyboard.press("3")
    expect(page.locator("[data-gate]")).to_have_count(1)
    page.keyboard.press("q")
    page.keyboard.press("3")
    page.get_by_text("Answered: deny.").wait_for()
    page.get_by_text("Denied by you").wait_for()


def test_several_questions_stand_in_order_the_first_of_them_open(stage: Any, tab: Any) -> None:
    page = tab(stage.session(title="Several"))
    send(page, "gates 3")
    page.locator("[data-gate]").nth(2).wait_for()
    expect(page.locator("[data-gate]:not(.short) h2")).to_have_text(["Allow tool_0 from ledger?"])
    expect(page.locator("[data-gate].short h2")).to_have_text(
        [
            "Allow tool_1 from ledger?",
            "Allow tool_2 from ledger?",
        ]
    )
    page.locator("[data-gate].short").first.get_by_role("button", name="Deny").click()
    for left in (2, 1):
        expect(page.locator("[data-gate]")).to_have_count(left)
        page.locator("[data-gate]:not(.short)").get_by_role("button", name="Allow once").click()
    page.get_by_text("All answered.").wait_for()


def test_an_agent_s_own_confirmation_is_answered_too(stage: Any, tab: Any) -> None:
    page = tab(stage.session(title="Confirm"))
    send(page, "confirm")
    gate = page.get_by_role("group", name="Run make clean?")
    expect(gate).to_contain_text('command: "make clean"')
    page.get_by_role("button", name="Allow once").click()
    expect(page.locator("#log .md").last).to_have_text("True allow-once")
    expect(gate).to_have_count(0)


def test_every_kind_of_question_is_answered_by_its_fields(stage: Any, tab: Any) -> None:
    """AHP §9.8"""
    page = tab(stage.session(title="Questions"))
    send(page, "ask")
    form = page.get_by_role("group", name="Some questions")
    form.get_by_label("Your name?").fill("Ada")
    form.get_by_label("Which rate?").fill("0.25")
    form.get_by_label("How many?").fill("3")
    form.get_by_label("Yes").check()
    form.get_by_label("Green").check()
    form.get_by_label("Monday").check()
    form.get_by_label("Wednesday").check()
    form.get_by_role("button", name="Answer").click()
    said = page.locator("#log .md p").last
    said.get_by_text("accept").wait_for()
    answers = json.loads(said.inner_text().removeprefix("accept "))
    assert {name: answer["value"]["value"] for name, answer in answers.items()} == {
        "name": "Ada",
        "rate": 0.25,
        "count": 3,
        "sure": True,
        "colour": "g",
        "days": ["mo", "we"],
    }


def test_a_question_that_is_declined_carries_no_answers(stage: Any, tab: Any) -> None:
    page = tab(stage.session(title="Not now"))
    send(page, "ask")
    page.get_by_role("button", name="Decline", exact=True).click()
    expect(page.locator("#log .md").last).to_have_text("decline {}")
    expect(page.get_by_role("group", name="Some questions")).to_contain_text("Declined")
    expect(page.get_by_role("button", name="Answer", exact=True)).to_have_count(0)


def test_finished_calls_fold_and_a_failed_one_opens(stage: Any, tab: Any) -> None:
    """Three or more finished neighbours are one line once the turn has ended; an opened card stays open."""
    page = tab(stage.session("tools 5", title="Tools"))
    expect(page.locator(".card.failed .card-reason")).to_have_text("make: *** No rule")
    expect(page.locator(".card.failed .card-head")).to_have_attribute("aria-expanded", "true")
    page.get_by_role("button", name="5 steps").click()
    card = page.locator(".steps .card").nth(2)
    card.locator(".card-head").click()
    assert card.locator(".output pre").inner_text().endswith("line 39 of 2")
    expect(card.get_by_text("28 lines before.")).to_have_count(1)
    send(page, "say More.")
    page.get_by_text("More.", exact=True).wait_for()
    expect(card.locator(".output pre")).to_be_visible()


def test_what_is_typed_while_a_turn_runs_is_queued_or_steers(stage: Any, tab: Any) -> None:
    """AHP §9.7; Ctrl+Enter is the other of queue and steer."""
    page = tab(stage.session(title="Queue"))
    send(page, "steered")
    page.get_by_text("Waiting to be steered.").wait_for()
    send(page, "say first")
    send(page, "say second")
    rows = page.locator(".queue-row .what")
    rows.nth(1).wait_for()
    expect(rows).to_have_text(["say first", "say second"])
    page.get_by_role("button", name="Move up").click()
    expect(rows.first).to_have_text("say second")
    page.get_by_role("button", name="Drop").nth(1).click()
    expect(rows).to_have_count(1)
    page.get_by_label("Message to the agent").fill("to the left")
    page.keyboard.press("Control+Enter")
    page.get_by_text("Steered: to the left").wait_for()
    page.get_by_text("second", exact=True).wait_for()
    expect(page.locator(".queue-row")).to_have_count(0)


def test_a_queued_message_can_be_taken_back(stage: Any, tab: Any) -> None:
    page = tab(stage.session(title="Back"))
    send(page, "slow back 3")
    page.get_by_text("Paragraph 2").wait_for()
    send(page, "say to be changed")
    page.get_by_role("button", name="Take back to edit").click()
    expect(page.get_by_label("Message to the agent")).to_have_value("say to be changed")
    page.get_by_label("Message to the agent").fill("")
    page.keyboard.press("Control+.")
    page.get_by_text("Stopped by you").wait_for()


def test_a_turn_that_failed_says_code_and_remedy_and_can_be_repeated(stage: Any, tab: Any) -> None:
    page = tab(stage.session("fail", title="Failed"))
    note = page.locator(".note.bad")
    expect(note).to_contain_text("Codex is not signed in.")
    expect(note).to_contain_text("AGENT_LOGIN_MISSING")
    note.get_by_role("button", name="Retry").click()
    page.locator(".turn").nth(1).locator(".note.bad").wait_for()


@pytest.mark.parametrize("name", ["Fork the chat after this answer", "Side chat about this answer"])
def test_a_branch_begins_at_an_answer_and_stands_beside_the_others(stage: Any, tab: Any, name: str) -> None:
    """AHP §9.3"""
    page = tab(stage.session("say one", "say two", title="Branches"))
    page.get_by_role("button", name=name).first.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/c/*")
    expect(page.locator(".chat-tab")).to_have_count(2)
    page.get_by_label("Message to the agent").fill("say three")
    page.keyboard.press("Enter")
    page.get_by_text("three", exact=True).wait_for()


def test_a_model_and_a_mode_are_picked_and_stay(stage: Any, tab: Any) -> None:
    page = tab(stage.session(title="Pick"))
    page.get_by_role("button", name="Model: Default model").click()
    page.get_by_role("option", name="Opus").click()
    expect(page.get_by_role("button", name="Model: Opus")).to_be_visible()
    page.get_by_role("button", name="Mode: Ask before edits").click()
    page.get_by_role("option", name="Plan only").first.click()
    expect(page.get_by_role("button", name="Mode: Plan only")).to_be_visible()
    send(page, "say hello")
    page.get_by_text("hello", exact=True).wait_for()
    page.reload()
    expect(page.get_by_role("button", name="Model: Opus")).to_be_visible()
    expect(page.get_by_role("button", name="Mode: Plan only")).to_be_visible()


def test_a_file_goes_with_the_message(stage: Any, tab: Any) -> None:
    page = tab(stage.session(title="Attach"))
    page.locator("#files").set_input_files(
        [
            {"name": "a.txt", "mimeType": "text/plain", "buffer": b"x"},
            {"name": "b.txt", "mimeType": "text/plain", "buffer": b"y"},
        ]
    )
    page.get_by_role("button", name="Remove a.txt").click()
    send(page, "say with a file")
    page.locator(".attached").wait_for()
    expect(page.locator(".attached")).to_have_text("b.txt")


def test_a_draft_is_kept_over_reloads_and_known_to_the_host(stage: Any, tab: Any) -> None:
    path = stage.session(title="Draft")
    page = tab(path)
    with page.expect_response("**/draft"):
        page.get_by_label("Message to the agent").fill("half a thought")
    page.reload()
    expect(page.get_by_label("Message to the agent")).to_have_value("half a thought")
    expect(tab(path).get_by_label("Message to the agent")).to_have_value("half a thought")


def test_commands_and_files_are_proposed_while_typing(stage: Any, tab: Any) -> None:
    (stage.project / "notes.md").write_text("x")
    page = tab(stage.session(title="Proposals"))
    page.get_by_label("Message to the agent").press_sequentially("look at @no")
    page.get_by_role("option", name="notes.md").click()
    assert "notes.md" in page.get_by_label("Message to the agent").input_value()


def test_an_archived_session_takes_no_message_and_says_why(stage: Any, tab: Any) -> None:
    page = tab(stage.session("say hi", title="To the archive"))
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Archive").click()
    page.locator("#closed-slot").get_by_text("This session is archived.").wait_for()
    expect(page.locator("#composer")).not_to_be_visible()
    page.locator("#closed-slot").get_by_role("button", name="Take out of the archive").click()
    page.get_by_label("Message to the agent").wait_for()


def test_what_is_typed_while_a_message_is_on_its_way_stays(stage: Any, tab: Any) -> None:
    """ui.md §8.2: the composer is the person's."""
    page = tab(stage.session(title="Fast"))
    held: list[Any] = []
    page.route("**/send", lambda route: held.append(route))
    send(page, "say one")
    page.keyboard.type(" and two")
    expect(page.get_by_label("Message to the agent")).to_have_value("say one and two")
    held[0].continue_()
    expect(page.get_by_label("Message to the agent")).to_have_value(" and two")
    page.get_by_text("one", exact=True).wait_for()
