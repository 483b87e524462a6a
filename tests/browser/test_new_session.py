"""A new session: its folder chosen with mouse and keyboard, its agent signed in, its model (issue 7 B.1, B.4)."""

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from browser.scans import serious

SECRET = "sk-of-a-person"


@pytest.fixture(scope="module", autouse=True)
def folders(stage: Any) -> None:
    """Two projects and what is no folder to choose; Codex is not signed in."""
    for name in ("work/api/src", "work/<b>bold", "work/.hidden"):
        (stage.home / name).mkdir(parents=True)
    (stage.home / "work" / "notes.txt").write_text("x")
    (stage.home / "work" / "etc").symlink_to("/etc")


def sign_out(stage: Any, name: str = "codex") -> None:
    (stage.home / f"missing-{name}").write_text(f"AGENT_LOGIN_MISSING\nNot signed in.\n{name} login")
    stage.run(lambda client: client.request("x-innkeeper/agents/look", {"channel": "ahp-root://"}))


@pytest.mark.parametrize("path", ["/new", "/welcome"])
def test_a_folder_is_chosen_with_the_keyboard_alone(stage: Any, tab: Any, path: str) -> None:
    page = tab(path)
    page.locator("#folder").fill("~/work")
    page.get_by_role("button", name="Browse").press("Enter")
    dialog = page.get_by_role("dialog", name="Choose a folder")
    rows = dialog.get_by_role("list", name="Folders in ~/work").get_by_role("button")
    expect(rows).to_have_text(["<b>bold", "api", "shop"])
    expect(rows.first).to_be_focused()
    page.keyboard.press("a")
    expect(rows.nth(1)).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(dialog.get_by_role("list", name="Folders in ~/work/api").get_by_role("button")).to_have_text(["src"])
    page.keyboard.press("ArrowLeft")
    expect(rows.nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    dialog.get_by_role("list", name="Folders in ~/work/api").wait_for()
    dialog.get_by_role("button", name="Choose this folder").press("Enter")
    expect(dialog).to_be_hidden()
    expect(page.locator("#folder")).to_have_value("~/work/api")
    expect(page.get_by_role("button", name="Browse")).to_be_focused()
    assert page.url == stage.url + path, "nothing was sent"


def test_what_was_chosen_is_where_the_session_works_and_escape_chooses_nothing(tab: Any) -> None:
    page = tab("/new")
    page.locator("#folder").fill("~/work/shop")
    page.get_by_role("button", name="Browse").click()
    expect(page.locator("#folders")).to_contain_text("No folders in here.")
    page.keyboard.press("Escape")
    expect(page.locator("#folder")).to_have_value("~/work/shop")
    page.get_by_role("button", name="Browse").click()
    page.get_by_role("button", name="Up to ~/work").click()
    page.locator(".folder-list").get_by_text("api", exact=True).click()
    page.get_by_role("button", name="Choose this folder").click()
    page.locator("#text").fill("say Here.")
    page.keyboard.press("Enter")
    page.locator("#log", has_text="Here.").wait_for()
    expect(page.locator(".fact").first).to_have_text("~/work/api")


def test_nothing_outside_of_the_hosts_places_is_shown_and_it_can_still_be_typed(stage: Any, tab: Any) -> None:
    """Neither by the address, nor by a link, nor by dots; a file is never told."""
    page = tab("/new")
    for typed in ("/etc", "~/work/etc", "~/work/../../..", "shop", "~/missing"):
        page.locator("#folder").fill(typed)
        page.get_by_role("button", name="Browse").click()
        expect(page.locator("#folders")).to_contain_text(f"{typed} cannot be shown here. It can still be typed.")
        expect(page.locator(".folder-at code")).to_have_text("~")
        page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#folder")).to_have_value("~/missing")
    answer = page.request.get(f"{stage.url}/folders?at=/etc")
    assert "passwd" not in answer.text() and "ssl" not in answer.text()


@pytest.mark.parametrize(("theme", "lang", "width"), [("light", "en", 1440), ("dark", "zh", 360)])
def test_axe_finds_nothing_in_the_browser_of_folders(tab: Any, theme: str, lang: str, width: int) -> None:
    page = tab("/new", theme=theme, lang=lang, width=width, height=780)
    page.locator("#folder").fill("~/work")
    page.locator("#browse").click()
    expect(page.locator(".folder-list button")).to_have_count(3)
    assert serious(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    box = page.locator("#folders").bounding_box()
    assert box is not None and (box["width"] == 360 if width == 360 else box["width"] == 480)


@pytest.mark.parametrize("path", ["/welcome", "/new", "/settings/agents"])
def test_an_agent_is_signed_in_with_a_key_that_no_page_gives_back(stage: Any, tab: Any, path: str) -> None:
    """AHP §8: the key goes to the agent; what refuses it says so, and the dialog stays."""
    sign_out(stage)
    page = tab(path)
    expect(page.locator("#main")).to_contain_text("Not signed in.")
    expect(page.locator("#main")).to_contain_text("Run codex login in a terminal.")
    page.get_by_role("button", name="Sign in to Codex").click()
    dialog = page.get_by_role("dialog", name="Sign in to Codex")
    key = dialog.get_by_label("Key or token for Codex service")
    expect(key).to_be_focused()
    expect(key).to_have_attribute("type", "password")
    key.fill("wrong one")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("This key is not taken.")
    expect(dialog).to_be_visible()
    key.fill(SECRET)
    with page.expect_response("**/agents/key") as answered:
        page.keyboard.press("Enter")
    assert SECRET not in answered.value.text()
    expect(dialog).to_be_hidden()
    expect(page.get_by_role("button", name="Sign in to Codex")).to_have_count(0)
    if path != "/settings/agents":
        expect(page.get_by_role("radio", name=re.compile("Codex"))).to_be_enabled()
    assert (stage.home / "key-codex").read_text() == SECRET
    assert SECRET not in page.content() and SECRET not in str(page.context.cookies())


@pytest.mark.parametrize("path", ["/welcome", "/new"])
def test_a_model_is_picked_before_there_is_a_session(stage: Any, tab: Any, path: str) -> None:
    """The first message is asked of it; without a message it is kept for the one that comes."""
    for text in ("say With a model.", ""):
        page = tab(path)
        page.locator("#folder").fill("~/work/shop")
        page.get_by_label("Model", exact=True).select_option("Opus")
        page.locator("#text").fill(text)
        if text:
            page.keyboard.press("Enter")
            page.locator("#log", has_text="With a model.").wait_for()
        else:
            page.locator("#send").click()
        expect(page.get_by_role("button", name="Model: Opus")).to_be_visible()


def test_a_model_belongs_to_its_agent(stage: Any, tab: Any) -> None:
    """What was picked for one agent is not the choice of the next one in the same place of its list."""
    page = tab("/new")
    page.get_by_label("Model", exact=True).select_option("Opus")
    page.get_by_role("radio", name=re.compile("Console")).check()
    expect(page.get_by_label("Model", exact=True)).to_have_count(0)
    page.get_by_role("radio", name=re.compile("Claude")).check()
    expect(page.get_by_label("Model", exact=True)).to_have_value("")
