"""A phone: fingers need room, and long words stay inside (design, ui.md §1 heights, §2; issue 7 B.5)."""

import re
from typing import Any

import pytest
from playwright.sync_api import expect

PHONE = {"width": 360, "height": 780, "has_touch": True, "is_mobile": True}
LONG = "A conversation with everything in it and a title that is far too long for a phone"


def boxes(page: Any, places: str) -> list[dict[str, float]]:
    return [one.bounding_box() for one in page.locator(places).all() if one.is_visible()]


def test_the_three_switches_of_an_item_are_as_large_as_a_finger_and_stand_apart(stage: Any, tab: Any) -> None:
    page = tab(stage.session(title="Fingers") + "/customizations", **PHONE)
    page.locator(".tri-track").nth(2).wait_for()
    for box in boxes(page, ".tri-track"):
        assert box["height"] >= 44 and box["width"] >= 3 * 44
        assert box["x"] >= 0 and box["x"] + box["width"] <= 360
    first, second, third = boxes(page, ".tri-track")[:3]
    assert first["y"] + first["height"] <= second["y"] and second["y"] + second["height"] <= third["y"]


@pytest.mark.parametrize("path", ["", "/customizations"])
def test_a_long_title_is_cut_and_the_buttons_beside_it_stay_in_the_window(stage: Any, tab: Any, path: str) -> None:
    page = tab(stage.session(title=LONG) + path, **PHONE)
    page.locator(".bar .bar-back").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    for box in boxes(page, ".bar button, .bar a"):
        assert box["x"] + box["width"] <= 360


def test_what_is_pressed_on_a_phone_is_44_pixels_each_way(stage: Any, tab: Any) -> None:
    page = tab(stage.session("say hi", title="Targets"), **PHONE)
    page.get_by_text("hi", exact=True).wait_for()
    page.get_by_role("button", name="More").click()
    for box in boxes(page, ".bar .icon-button, .menu-row, #send"):
        assert box["height"] >= 36 and box["width"] >= 36
    for box in boxes(page, ".bar .icon-button, .menu-row"):
        assert box["height"] >= 44 and box["width"] >= 44


def test_a_chinese_time_has_a_space_between_figure_and_word(stage: Any, tab: Any) -> None:
    """ui.md §5: `6 分钟`, `11 月 24 日`."""
    page = tab(stage.session(title="Times"), lang="zh", **PHONE)
    add = """(ms) => { const made = document.createElement("time");
      made.dateTime = new Date(Date.now() - ms).toISOString();
      made.setAttribute("data-ago", "");
      document.querySelector("#toasts").append(made); }"""
    page.evaluate(add, 6 * 60_000 + 5_000)
    page.evaluate(add, 40 * 86_400_000)
    expect(page.locator("#toasts time")).to_have_text(["6 分钟", re.compile(r"^\d+ 月 \d+ 日$")])
