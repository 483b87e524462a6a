"""The web UI is whole, lists what it is made of, and keeps to its tokens (issue 7 B; design ui.md §1)."""

import re
from collections.abc import Callable

import pytest

from innkeeper.app.pages import WebPages
from innkeeper.settings.config import Settings
from innkeeper.texts import LANGUAGES, text
from innkeeper.web import files
from innkeeper.web.completeness import problems
from innkeeper.web.files import STATIC, STATIC_FOLDER, STYLES, TEMPLATE_FOLDER, TEMPLATES
from innkeeper.web.words import TEXTS

SCRIPTS = [name for name in STATIC if name.endswith(".js")]
COLOUR = re.compile(r"#[0-9a-fA-F]{3,8}\b|\b(?:rgb|hsl|oklch|color)\(|\b(?:white|black|red|green|blue|gray|grey)\b")


def test_every_file_is_listed_and_every_listed_file_is_there() -> None:
    assert set(TEMPLATES) == {path.name for path in TEMPLATE_FOLDER.iterdir()}
    assert set(STYLES) == {path.stem for path in (STATIC_FOLDER / "css").iterdir()}
    assert set(STATIC) == {path.name for path in STATIC_FOLDER.iterdir() if path.is_file()}
    assert len(set(TEMPLATES)) == len(TEMPLATES) and len(set(STYLES)) == len(STYLES)


def test_templates_compile_and_their_texts_are_in_both_languages() -> None:
    assert problems() == []


def test_no_template_has_words_of_its_own() -> None:
    """What a person reads comes from the catalogue; names of the product and of keys are no words."""
    names = {
        "readonly",
        "list",
        "ledger",
        "English",
        "中文",
        "Innkeeper",
        "Alt",
        "Enter",
        "Shift",
        "Ctrl",
        "Esc",
        "MCP",
        "JSON",
        "HTTP",
    }
    for name in TEMPLATES:
        source = (TEMPLATE_FOLDER / name).read_text(encoding="utf-8")
        plain = re.sub(r"\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}", " ", source, flags=re.DOTALL)
        between = re.sub(r'[\w-]+="[^"]*"', " ", " ".join(re.findall(r">([^<>]*)<", f">{plain}<")))
        attributes = re.findall(r'(?:aria-label|title|placeholder|alt)="([^"]*)"', plain)
        spoken = " ".join(one for one in attributes if not re.search(r"[~/_]\w", one))  # a path or tool as an example
        words = set(re.findall(r"[A-Za-z\u3400-\u9fff]{3,}", f"{between} {spoken}")) - names
        assert words == set(), name


def test_texts_of_the_script_are_in_both_languages() -> None:
    for msgid in TEXTS.values():
        said = {text(msgid, lang=lang, n="", clock="", name="") for lang in LANGUAGES}
        assert len(said) == len(LANGUAGES) or said == {text(msgid, lang="en", n="", clock="", name="")}


@pytest.mark.parametrize("name", [name for name in STYLES if name != "tokens"])
def test_only_the_tokens_name_a_colour(name: str) -> None:
    """ui.md §1: nothing else in the style sheet names a colour."""
    source = (STATIC_FOLDER / "css" / f"{name}.css").read_text(encoding="utf-8")
    source = re.sub(r"/\*.*?\*/|url\([^)]*\)", "", source, flags=re.DOTALL)
    source = re.sub(r"white-space", "", source)
    assert COLOUR.findall(source) == []


def test_dark_has_every_token_that_is_a_colour_twice() -> None:
    source = (STATIC_FOLDER / "css" / "tokens.css").read_text(encoding="utf-8")
    dark = [
        set(re.findall(r"--([\w-]+):", part)) for part in re.split(r"\[data-theme=\"(?:dark|system)\"\]", source)[1:]
    ]
    assert dark[0] == dark[1] or dark[0] <= dark[1]


def test_every_size_is_of_the_scale() -> None:
    """ui.md §1: body text never below 12 px, sizes in rem; counts in their discs are the one exception."""
    for name in STYLES:
        source = (STATIC_FOLDER / "css" / f"{name}.css").read_text(encoding="utf-8")
        sizes = re.findall(r"font(?:-size)?:[^;}]*?([\d.]+)(rem|px|em)", source)
        assert [size for size in sizes if size[1] == "px"] == [], name
        assert all(float(size) >= 0.68 for size, unit in sizes if unit == "rem"), name


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_small_and_does_what_the_policy_allows(name: str) -> None:
    source = (STATIC_FOLDER / name).read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 400
    assert not re.search(
        r"\beval\(|new Function|\.style\.|setAttribute\(.style|document\.write|insertAdjacentHTML", source
    )


def test_every_icon_that_is_asked_for_is_in_the_sprite() -> None:
    sprite = set(re.findall(r'<symbol id="(\w+)"', (STATIC_FOLDER / "icons.svg").read_text(encoding="utf-8")))
    for name in TEMPLATES:
        asked = set(re.findall(r"icon\('([\w-]+)'", (TEMPLATE_FOLDER / name).read_text(encoding="utf-8")))
        assert asked <= sprite, name


def test_a_changed_file_changes_the_fingerprint_and_one_that_vanishes_keeps_what_was_read(
    tmp_path: "object", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LOOK_SECONDS", 0.0)
    stamps: list[tuple[tuple[str, int, int], ...] | None] = [(("a", 1, 1),), (("a", 2, 1),), None]

    def stamp() -> tuple[tuple[str, int, int], ...]:
        if stamps[0] is None:
            raise FileNotFoundError
        return stamps[0]

    monkeypatch.setattr(files, "_stamp", stamp)
    monkeypatch.setattr(files.hashlib, "sha256", _digests())
    found = files.Files()
    first = found.fingerprint
    stamps.pop(0)
    second = found.fingerprint
    assert first != second
    stamps.pop(0)
    assert found.fingerprint == second and found.read("app.js") is not None


def _digests() -> Callable[[], "object"]:
    count = iter(range(1000))

    class Digest:
        def __init__(self) -> None:
            self.number = next(count)

        def update(self, _: bytes) -> None:
            return

        def hexdigest(self) -> str:
            return f"{self.number:064d}"[::-1]

    return Digest


@pytest.mark.anyio
async def test_an_installation_that_lacks_files_says_so_and_the_host_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "TEMPLATES", (*TEMPLATES, "gone.html"))
    pages = WebPages(lambda _peer: None, Settings(), None, None)  # type: ignore[arg-type, return-value]
    sent: list[dict[str, object]] = []

    async def receive() -> dict[str, object]:
        return {}

    async def send(event: object) -> None:
        sent.append(dict(event))  # type: ignore[call-overload]

    await pages({"type": "http"}, receive, send)  # type: ignore[arg-type]
    assert sent[0]["status"] == 503
    assert b"web/templates/gone.html" in sent[1]["body"]  # type: ignore[operator]
    await pages.close()
