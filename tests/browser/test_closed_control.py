"""`web_control = false`: no management page is served, the gate's questions are answered in the chat (M9.3)."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from browser.conftest import Stage
from innkeeper.web.asking import WebOptions
from innkeeper.web.pages import MANAGEMENT, all_actions, all_pages


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    home = tmp_path_factory.mktemp("closed")
    config = home / "config" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("web_control = false\n", encoding="utf-8")
    stage = Stage(home).start()
    yield stage
    stage.close()


def test_questions_are_answered_in_the_chat(stage: Any, tab: Any) -> None:
    page = tab(stage.session(title="Closed"))
    page.locator("#text").fill("gates 1")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Always allow this tool").click()
    page.get_by_text("All answered.").wait_for()
    expect(page.get_by_role("button", name="Always allow this tool")).to_have_count(0)  # the question is folded


def test_no_management_address_answers(stage: Any, tab: Any) -> None:
    page = tab(stage.session(title="No control"))
    session = page.url.removeprefix(stage.url)
    form = page.evaluate("document.body.dataset.form")
    opened, served = WebOptions(web_control=True), WebOptions(web_control=False)
    actions = {path for path, _ in all_actions(opened)} - {path for path, _ in all_actions(served)}
    pages = {path for path, _ in all_pages(opened)} - {path for path, _ in all_pages(served)}
    assert MANAGEMENT and actions, "there is something to close"
    for path in sorted(actions):
        address = stage.url + path.replace("/s/{session}", session).replace("{", "").replace("}", "")
        answer = page.request.post(address, form={"form_token": form}, headers={"origin": stage.url})
        assert answer.status == 404, path
    for path in sorted(pages):
        address = stage.url + path.replace("/s/{session}", session).replace("{", "").replace("}", "")
        assert page.request.get(address).status == 404, path
