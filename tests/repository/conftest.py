"""What the tests of this folder read: the files of the repository, parsed once."""

import ast
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))


@cache
def parsed(folder: Path) -> dict[str, ast.Module]:
    """Every Python file below `folder`, by its path from the root."""
    return {
        str(path.relative_to(ROOT)): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(folder.rglob("*.py"))
    }


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def source() -> dict[str, ast.Module]:
    return parsed(ROOT / "src" / "innkeeper")


@pytest.fixture(scope="session")
def tests() -> dict[str, ast.Module]:
    return parsed(ROOT / "tests")
