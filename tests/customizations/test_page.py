"""The page on enablement names what is there (issue 4 item 10)."""

import re
from pathlib import Path

from customizations.world import plugin, world
from innkeeper.customizations.publishing import GLOBAL_OWNER, LOAD, PENDING

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/reference/enablement.md").read_text(encoding="utf-8")


def test_paths_of_the_page_exist() -> None:
    typed = re.findall(r"\b(?:tests|benchmarks|src)/[\w/.]+", PAGE)
    assert [path for path in typed if not (ROOT / path).exists()] == []
    assert {"tests/customizations", "src/innkeeper/customizations/"} <= set(typed)


def test_page_names_every_module_of_the_core() -> None:
    modules = {path.name for path in (ROOT / "src/innkeeper/customizations").glob("*.py")}
    assert {name for name in modules if name not in PAGE} == {"__init__.py", "items.py", "retention.py"}
    named = set(re.findall(r"`(\w+\.py)`", PAGE))
    assert named <= modules


def test_page_names_our_keys() -> None:
    assert all(f"`{key}`" in PAGE for key in (GLOBAL_OWNER, LOAD, PENDING))
    assert GLOBAL_OWNER in world(items=[plugin()]).published()["_meta"]
