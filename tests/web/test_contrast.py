"""The contrast of the colours, computed from the style sheet (design, ui.md §1; WCAG 2.2 AA)."""

import re

import pytest

from innkeeper.web.files import STATIC_FOLDER

SHEET = (STATIC_FOLDER / "css" / "tokens.css").read_text(encoding="utf-8")
BLOCKS = {"light": r":root \{(.*?)\n\}", "dark": r'\n\[data-theme="dark"\] \{(.*?)\n\}'}
TEXT, SHAPE = 4.5, 3.0
PAIRS = (
    *((name, ground, TEXT) for name in ("text", "text-2") for ground in ("surface", "canvas", "selected", "sunken")),
    *(("text-3", ground, TEXT) for ground in ("surface", "canvas", "selected", "hover")),
    *(("accent", ground, TEXT) for ground in ("surface", "canvas", "selected", "accent-soft")),
    *(("on-fill", ground, TEXT) for ground in ("accent-fill", "accent-fill-hover")),
    *((name, "surface", TEXT) for name in ("ok", "warn", "bad")),
    *((name, f"{name}-soft", TEXT) for name in ("ok", "warn", "bad")),
    *(("text", ground, TEXT) for ground in ("ok-soft", "warn-soft", "bad-soft", "accent-soft", "hover", "raised")),
    *((f"syn-{name}", "sunken", TEXT) for name in ("kw", "str", "num", "fn")),
    *((f"{name}-dot", ground, SHAPE) for name in ("ok", "warn", "bad", "idle") for ground in ("surface", "canvas")),
    *(("border-control", ground, SHAPE) for ground in ("surface", "canvas")),
    ("text-3", "selected", SHAPE),
)
"""What stands on what, and how much it must differ: words 4.5, shapes that say something 3."""


def tokens(theme: str) -> dict[str, str]:
    found = re.search(BLOCKS[theme], SHEET, re.DOTALL)
    assert found is not None, f"no tokens of {theme}"
    own = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", found[1]))
    return own if theme == "light" else {**tokens("light"), **own}


def luminance(colour: str) -> float:
    def linear(value: int) -> float:
        share = value / 255
        return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(int(colour[at : at + 2], 16)) for at in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("front", "ground", "least"), PAIRS)
def test_words_and_shapes_stand_out_from_their_ground(theme: str, front: str, ground: str, least: float) -> None:
    """Issue 7 B.5."""
    found = tokens(theme)
    assert contrast(found[front], found[ground]) >= least, f"{front} on {ground} in {theme}"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_code_stands_out_on_the_lines_of_a_diff(theme: str) -> None:
    """Source in colours stands on the grounds of added and removed lines too."""
    found = tokens(theme)
    poor = [
        (name, ground, round(contrast(found[name], found[ground]), 2))
        for name in ("syn-kw", "syn-str", "syn-num", "syn-fn", "text", "text-3")
        for ground in ("ok-soft", "bad-soft")
        if contrast(found[name], found[ground]) < TEXT
    ]
    assert poor == []


def test_the_dark_of_the_system_is_the_dark_that_is_chosen() -> None:
    """Both blocks name the same colours, or one of them would be forgotten."""
    chosen = re.search(BLOCKS["dark"], SHEET, re.DOTALL)
    system = re.search(r'\[data-theme="system"\] \{(.*?)\n  \}', SHEET, re.DOTALL)
    assert chosen is not None and system is not None
    assert re.sub(r"\s+", " ", chosen[1]).strip() == re.sub(r"\s+", " ", system[1]).strip()
