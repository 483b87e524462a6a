"""The tests themselves: each asserts something, and the rule about skips holds."""

import ast
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

SEEN = re.compile(r"(assert_|expect|check|verify|run_|raises|fail|warns|must_|wait_|within)")


@pytest.fixture(scope="module")
def skips(root: Path) -> ModuleType:
    """The suite's own conftest, as a module of its own, so that its list of skips is not ours."""
    spec = importlib.util.spec_from_file_location("skips_under_test", root / "tests" / "conftest.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def asserts(function: ast.AST) -> bool:
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if SEEN.search(name):
                return True
    return False


def test_every_test_asserts_something(tests: dict[str, ast.Module]) -> None:
    silent = [
        f"{name}:{node.lineno} {node.name}"
        for name, tree in tests.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and not asserts(node)
    ]
    assert silent == []


def test_every_test_file_has_tests(tests: dict[str, ast.Module]) -> None:
    empty = [
        name
        for name, tree in tests.items()
        if Path(name).name.startswith("test_")
        and not any(getattr(node, "name", "").startswith(("test", "Test")) for node in ast.walk(tree))
        and not any(isinstance(node, ast.Assign) and "TestCase" in ast.dump(node) for node in tree.body)
    ]
    assert empty == []


def test_tests_have_no_package_files(root: Path) -> None:
    assert list((root / "tests").rglob("__init__.py")) == []


def test_a_skip_is_allowed_only_by_pattern_and_reason(skips: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = "# why\ntests/edge/*[tls] | no openssl\n"
    assert list(skips.allowed_skips(rules)) == [("tests/edge/*[[]tls]", "no openssl")]
    allowed = ("tests/x.py::test_a", "shared reference data not found; set INNKEEPER_SHARED")
    other = ("tests/x.py::test_b", "needs a terminal")
    monkeypatch.setattr(skips, "SKIPPED", [allowed, other])
    assert skips.offenders() == [other]


def test_a_skip_outside_the_list_fails_a_run_in_ci(root: Path, tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text((root / "tests" / "conftest.py").read_text(encoding="utf-8"))
    (tmp_path / "allowed_skips.txt").write_text("*test_three | known\n")
    (tmp_path / "test_it.py").write_text(
        "import pytest\n\ndef test_one():\n    pytest.skip('no such device')\n\n"
        "def test_two():\n    assert True\n\ndef test_three():\n    pytest.skip('known lack')\n"
    )

    def run(ci: str, *more: str) -> tuple[int, bool, bool]:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", *more, "."]
        environment = {**os.environ, "CI": ci}
        environment.pop("PYTEST_XDIST_WORKER", None)
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        return done.returncode, "test_one | no such device" in done.stdout, "test_three |" in done.stdout

    assert run("") == (0, False, False)
    assert run("true") == (1, True, False)
    assert run("true", "-n", "2") == (1, True, False)
