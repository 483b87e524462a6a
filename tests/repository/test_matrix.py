"""The enablement matrix: cells are read from the tests that prove them (issue 6 §3)."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts"))

from pages import table  # noqa: E402
from provider_matrix import all_cells, contracted, declared, matrix_page  # noqa: E402
from providers.contract.means import Never, Part  # noqa: E402

CELLS = """
from providers.matrix import cell, known_limit

@cell("claude", "skill", "launch", "left out")
@cell("claude", "skill", "runningTurn", "refused", limit="not at once")
async def test_it(): ...

known_limit("claude", "rule", "runningTurn", "It stays.")
"""


def test_a_cell_is_a_test_and_a_limit_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "tests" / "providers"
    folder.mkdir(parents=True)
    (folder / "test_one.py").write_text(CELLS)
    page = matrix_page(table, declared(folder))
    assert "| Skill | ✔ | ◐ |" in page and "| Rule (instructions) |  | ✘ |" in page
    assert "refused. Limit: not at once" in page and "`providers/test_one.py::test_it`" in page


@pytest.mark.parametrize(
    "wrong", ['"claude", "skil", "launch", "x"', '"claude", "skill", "launch"', '"claude", f"{1}", "launch", "x"']
)
def test_a_cell_that_is_not_written_as_it_has_to_be_is_an_error(tmp_path: Path, wrong: str) -> None:
    (tmp_path / "test_one.py").write_text(f"@cell({wrong})\ndef test_it(): ...\n")
    with pytest.raises(ValueError, match="test_one"):
        declared(tmp_path)


ROWS = """
@row("skill", "launch", "runningTurn")
async def test_rows(agent): ...
"""


def test_a_row_of_the_contract_is_a_cell_of_every_agent(tmp_path: Path) -> None:
    (tmp_path / "test_rows.py").write_text(ROWS)
    one = {"skill": {"launch": "left out", "runningTurn": Part("refused", "not at once")}}
    other = {"skill": {"launch": "left out too", "runningTurn": Never("It stays.")}}
    page = matrix_page(table, contracted(tmp_path, {"claude": one, "codex": other}))
    assert page.count("| Skill | ✔ | ◐ |") == page.count("| Skill | ✔ | ✘ |") == 1
    assert "test_rows.py::test_rows" in page and "It stays." in page
    with pytest.raises(ValueError, match="nothing is said of codex"):
        contracted(tmp_path, {"claude": one, "codex": {"skill": {"launch": "left out"}}})
    with pytest.raises(ValueError, match="no test shows"):
        contracted(tmp_path, {"claude": {**one, "rule": {"launch": "left out"}}})


def test_every_agent_has_the_cells_that_the_issue_names() -> None:
    """C6.2: the documented limits, caller identity and the reload in a running turn are cells of their own."""
    found = {(cell.provider, cell.what, cell.when) for cell in all_cells()}
    for provider in {cell[0] for cell in found}:
        for what, when in (
            ("server", "launch"),
            ("server", "nextRequest"),
            ("server", "runningTurn"),
            ("server", "back"),
            ("server", "otherSession"),
            ("server", "newSession"),
            ("caller", "runningTurn"),
        ):
            assert (provider, what, when) in found, f"{provider} has no cell {what}, {when}"
        assert any(cell[0] == provider and cell[2] == "files" for cell in found), f"{provider} compares no files"
