"""The thin path from end to end: token, list, conversation, streaming, sending (issue 7 B)."""

from typing import Any

from playwright.sync_api import expect


def test_the_token_becomes_a_cookie_and_leaves_the_address(stage: Any, tab: Any) -> None:
    """No token in any URL after the first visit; the cookie cannot be read by a script and goes to no other site."""
    page = tab("/")
    assert page.url == stage.url + "/"
    (cookie,) = page.context.cookies()
    assert cookie["httpOnly"] and cookie["sameSite"] == "Strict" and "token" not in cookie["value"]
    assert page.evaluate("document.cookie") == ""


def test_a_message_is_answered_in_the_open_page(stage: Any, tab: Any) -> None:
    page = tab(stage.session(title="Fix rounding"))
    page.get_by_label("Message to the agent").fill("say The total is **rounded** twice.")
    page.keyboard.press("Enter")
    page.get_by_text("The total is rounded twice.").wait_for()
    expect(page.locator("#log strong")).to_have_text("rounded")
    expect(page.locator("#text")).to_have_value("")
    expect(page.locator('#sessions [aria-current="page"] .name')).to_have_text("Fix rounding")


def test_a_page_that_is_reloaded_in_mid_stream_loses_nothing(stage: Any, tab: Any) -> None:
    page = tab(stage.session(title="Reload"))
    page.get_by_label("Message to the agent").fill("slow reload 12")
    page.keyboard.press("Enter")
    page.get_by_text("Paragraph 3 has").wait_for()
    page.reload()
    page.get_by_text("Paragraph 11 has").wait_for()
    stage.go("reload")
    page.get_by_text("The end.").wait_for()
    paragraphs = page.locator("#log .turn > .md p").all_inner_texts()
    assert paragraphs == [*(f"Paragraph {n} has some words and code." for n in range(12)), "The end."]
