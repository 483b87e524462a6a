"""What axe finds wrong in a part of a page."""

from pathlib import Path
from typing import Any

import pytest

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


def serious(page: Any, *within: str) -> list[str]:
    """Violations of WCAG 2 A and AA in these parts, or in the whole page: rule, element, what axe says."""
    axe = pytest.importorskip("axe_core_python.base", reason="axe is a development dependency")
    page.evaluate(Path(axe.AXE_FILE_PATH).read_text(encoding="utf-8"))
    scope = {"include": [[one] for one in within]} if within else "document"
    run = "([scope, rules]) => axe.run(scope === 'document' ? document : scope, {runOnly: rules})"
    found = page.evaluate(run, [scope, RULES])
    return [
        f"{violation['id']}: {node['html'][:160]} {node.get('failureSummary', '')[:300]}"
        for violation in found["violations"]
        for node in violation["nodes"]
    ]


STILL = (
    "Promise.all(document.getAnimations().filter((one) => one.effect.getComputedTiming().iterations !== Infinity)"
    ".map((one) => one.finished))"
)
"""Done when nothing fades in any more: colours are judged at rest. (Spinners turn for ever.)"""
