"""What stands beside a conversation: changes with their diffs, terminals (issue 7 B.1, B.9)."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from browser.scans import STILL, serious

HOSTILE = '<img src=x onerror="document.title=1">'


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"]
    return subprocess.run(["git", *who, *words], cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def repository(stage: Any) -> Path:
    folder: Path = stage.home / "work" / "cart"
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "Ada")
    git(folder, "config", "user.email", "ada@example.com")
    (folder / "total.py").write_text("def total(lines):\n    return sum(lines)\n")
    (folder / "old.md").write_text("old\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "one")
    git(folder, "branch", "other")
    return folder


@pytest.fixture(scope="module")
def changed(stage: Any, repository: Path) -> str:
    """A session in that folder, after whose turn files of every kind are changed; the path of its page."""
    path = str(stage.session("say hi", title="Fix rounding", folder=repository, isolation="folder"))
    (repository / "total.py").write_text("def total(lines):\n    return round(sum(lines), 2)\n")
    (repository / "old.md").unlink()
    (repository / "b.bin").write_bytes(b"\0\1" * 50)
    (repository / "link").symlink_to("total.py")
    (repository / "page.html").write_text(HOSTILE + "\n")
    (repository / f"{HOSTILE.replace('/', '')}.txt").write_text("x\n")
    return path


def open_changes(page: Any, which: str = "") -> None:
    page.locator("#bar-changes button").click()
    page.locator(".changes").wait_for()
    if which:
        page.get_by_label("Which changes").select_option(which)


def test_changes_are_listed_with_counts_and_kinds_and_the_bar_says_how_many(changed: str, tab: Any) -> None:
    page = tab(changed)
    open_changes(page)
    page.locator(".change", has_text="total.py").first.wait_for()
    expect(page.locator(".change", has_text="old.md").locator(".tag")).to_have_text(["deleted"])
    expect(page.locator(".change", has_text="b.bin").locator(".tag")).to_have_text(["new", "binary"])
    expect(page.locator(".change", has=page.get_by_text("link", exact=True).first).locator(".tag")).to_have_count(2)
    expect(page.locator(".change", has_text="total.py").locator(".counts")).to_have_text("+1 −1")
    page.locator("#bar-changes", has_text="6 files").wait_for()
    assert page.evaluate("document.title") != "1"


def test_a_diff_comes_when_its_file_is_opened_in_colours_and_as_text(changed: str, tab: Any) -> None:
    """Loaded on demand by resourceRead; B.9: markup in a file or its name stays text."""
    page = tab(changed)
    open_changes(page)
    page.locator(".change-name", has_text="total.py").first.click()
    added = page.locator(".change", has_text="total.py").locator("tr.added")
    added.wait_for()
    expect(added).to_contain_text("return round(sum(lines), 2)")
    expect(added.locator(".syn-kw")).to_have_text("return")
    page.locator(".change-name", has_text="page.html").click()
    page.locator("tr.added", has_text=HOSTILE).wait_for()
    expect(page.locator("#drawer img")).to_have_count(0)
    assert page.evaluate("document.title") != "1"


def test_a_file_is_ticked_as_reviewed_and_stays_so_in_another_browser(changed: str, tab: Any) -> None:
    page, other = tab(changed), tab(changed)
    for one in (page, other):
        open_changes(one)
    page.get_by_label("Reviewed: total.py").check()
    other.locator(".change.reviewed", has_text="total.py").wait_for()
    expect(other.get_by_label("Reviewed: total.py")).to_be_checked()
    other.get_by_label("Reviewed: total.py").uncheck()
    page.locator(".change:not(.reviewed)", has_text="total.py").wait_for()
    expect(page.get_by_label("Reviewed: total.py")).not_to_be_checked()


def test_one_file_is_discarded_after_a_question_and_everything_else_is_committed(
    changed: str, repository: Path, tab: Any
) -> None:
    page = tab(changed)
    open_changes(page, "changes:uncommitted")
    page.locator(".change", has_text="old.md").get_by_role("button", name="Discard this file's changes").click()
    assert not (repository / "old.md").exists()
    page.locator(".change form.sure").get_by_role("button", name="Discard", exact=True).click()
    page.locator(".change", has_text="old.md").wait_for(state="detached")
    assert (repository / "old.md").read_text() == "old\n"
    page.locator("#changes-foot").get_by_role("button", name="Switch branch").click()
    page.get_by_role("textbox", name="Branch").fill("no-such-branch")
    page.get_by_role("dialog").get_by_role("button", name="Switch branch").click()
    page.locator(".toast.bad").wait_for()
    expect(page.locator(".toast.bad")).to_contain_text("no-such-branch")
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    page.locator("#changes-foot").get_by_role("button", name="Commit").click()
    page.get_by_role("textbox", name="Message", exact=True).fill("Round once")
    page.get_by_role("dialog").get_by_role("button", name="Commit").click()
    page.get_by_text("Everything is committed.").wait_for()
    assert git(repository, "log", "-1", "--format=%s").strip() == "Round once"


def test_changes_come_by_themselves_while_a_turn_runs(stage: Any, changed: str, repository: Path, tab: Any) -> None:
    """Docked from 1800 px on, so that the composer is not under it."""
    page = tab(changed, width=1900)
    open_changes(page)
    page.get_by_label("Message to the agent").fill("write work/cart/live.txt live")
    page.keyboard.press("Enter")
    page.locator(".change", has_text="live.txt").wait_for(timeout=15_000)
    expect(page.locator("#stop")).to_be_visible()  # the turn still runs
    drawer, composer = page.locator("#drawer").bounding_box(), page.locator("#composer").bounding_box()
    assert composer["x"] + composer["width"] <= drawer["x"] and drawer["width"] >= 480
    stage.go("live")
    page.locator("#stop").wait_for(state="detached")
    (repository / "live.txt").unlink()


def test_only_changesets_of_the_session_in_the_address_are_served(stage: Any, changed: str, tab: Any) -> None:
    """B.9: an address gives no file that is not in a changeset of its session."""
    page, other = tab(changed), stage.session("say hi", title="Other")
    own = "ahp-session:/" + changed.removeprefix("/s/") + "/changeset/session"
    for path, channel, file in (
        (other, own, "x"),
        (changed, own, "file:///etc/passwd"),
        (changed, "ahp-root://", "x"),
        (changed, own + "/../../x", "x"),
    ):
        params = {"set": channel, "file": file}
        answer = page.request.get(f"{stage.url}{path}/changes/diff", params=params)
        assert answer.status == 404 and "root:" not in answer.text(), (path, channel, file)


def test_a_terminal_shows_what_is_printed_as_text_and_takes_lines(changed: str, tab: Any) -> None:
    """Its colours are classes; B.9: what a program prints never becomes markup."""
    page = tab(changed)
    page.locator("#bar-terminal button").click()
    page.get_by_role("button", name="New", exact=True).click()
    page.get_by_label("Type a line").fill(f"printf '\\033[31m%s\\033[0m\\n' '{HOSTILE}'")
    page.keyboard.press("Enter")
    page.locator(".terminal-text .bad", has_text=HOSTILE).wait_for()
    expect(page.locator("#drawer img")).to_have_count(0)
    assert page.evaluate("document.title") != "1"
    expect(page.get_by_label("Type a line")).to_have_value("")
    page.get_by_label("Type a line").fill("exit 3")
    page.keyboard.press("Enter")
    page.get_by_text("It has ended.").wait_for()
    expect(page.locator(".terminal-tab", has_text="code 3")).to_have_count(1)


def test_a_local_command_is_seen_as_it_runs_and_can_be_taken_over(changed: str, tab: Any) -> None:
    page = tab(changed)
    page.get_by_label("Message to the agent").fill("!echo begun; read line; echo got-$line")
    page.keyboard.press("Enter")
    confirm = page.get_by_role("button", name="Allow once").first
    card = page.locator(".card.running")
    confirm.or_(card).first.wait_for()
    if confirm.is_visible():
        confirm.click()
    card.locator(".output pre", has_text="begun").wait_for()
    card.get_by_role("button", name="Show its terminal").click()
    page.get_by_role("button", name="Take over").click()
    page.get_by_label("Type a line").fill("words")
    page.keyboard.press("Enter")
    page.locator(".terminal-text", has_text="got-words").wait_for()
    expect(page.locator(".card.running")).to_have_count(0)


def test_the_drawer_closes_by_escape_and_focus_goes_back(changed: str, tab: Any) -> None:
    page = tab(changed)
    open_changes(page)
    page.locator("[data-close-drawer]").focus()
    page.keyboard.press("Escape")
    page.locator(".changes").wait_for(state="detached")
    assert page.evaluate("document.activeElement.closest('#bar-changes') !== null")


def test_usage_tells_the_session_s_total_and_each_turn(stage: Any, tab: Any) -> None:
    page = tab(stage.session("say hi", "spend 1200", title="Usage"))
    page.get_by_role("button", name="More").first.click()
    page.get_by_role("menuitem", name="Usage").click()
    page.locator(".usage-total", has_text="1,200").wait_for()
    rows = page.locator(".usage-turns tbody tr")
    assert [one.split()[0] for one in rows.all_inner_texts()] == ["spend", "say"]
    expect(rows.first.locator("td")).to_have_text(["1,200", "–", "34"])
    expect(rows.nth(1).locator("td")).to_have_text(["–", "–", "–"])


@pytest.mark.parametrize(("theme", "lang", "width"), [("light", "en", 1440), ("dark", "zh", 360)])
def test_axe_finds_nothing_in_the_drawers(changed: str, tab: Any, theme: str, lang: str, width: int) -> None:
    page = tab(changed, theme=theme, lang=lang, width=width)
    for drawer in ("changes:turn:turn-0", "changes:uncommitted", "changes:session", "terminal", "usage"):
        page.evaluate(CHOOSE, drawer)
        page.locator(f".drawer.{drawer.partition(':')[0].replace('terminal', 'terminals')}").wait_for()
        page.wait_for_timeout(300)
        page.evaluate(STILL)
        assert serious(page, "#drawer") == [], drawer


CHOOSE = """value => { const button = Object.assign(document.createElement("button"), { value });
button.dataset.choice = "drawer"; document.querySelector(".main").append(button); button.click(); button.remove(); }"""
