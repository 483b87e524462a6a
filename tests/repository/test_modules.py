"""Every module imports, every constructor's hints can be evaluated, nothing half-done or heavy is in the tree."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
import typing
from pathlib import Path

import pytest

HEAVY = ("mcp", "pydantic", "starlette", "uvicorn", "rich", "msgspec")


def module_names(source: dict[str, ast.Module]) -> list[str]:
    names = [name.removeprefix("src/").removesuffix(".py").replace("/", ".") for name in source]
    return [name.removesuffix(".__init__") for name in names if not name.endswith("__main__")]


def test_every_module_imports_and_its_constructors_hints_evaluate(source: dict[str, ast.Module]) -> None:
    """architecture §3.9: an import under TYPE_CHECKING in an injected constructor passes every checker, fails here."""
    broken: dict[str, str] = {}
    for name in module_names(source):
        module = importlib.import_module(name)
        for value in vars(module).values():
            if inspect.isclass(value) and value.__module__ == name and "__init__" in vars(value):
                try:
                    typing.get_type_hints(value.__init__)
                except Exception as error:
                    broken[f"{name}.{value.__qualname__}"] = repr(error)
    assert broken == {}
    assert len(module_names(source)) >= 5


def test_the_command_line_starts_without_heavy_libraries(root: Path) -> None:
    if not (root / "src/innkeeper/cli/main.py").exists():
        pytest.fail("the command line is missing")
    code = f"import sys, innkeeper.cli.main; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_nothing_is_half_done(root: Path, source: dict[str, ast.Module]) -> None:
    found: list[str] = []
    for name, tree in source.items():
        text = (root / name).read_text(encoding="utf-8")
        found += [f"{name}: {word}" for word in re.findall(r"\b(?:TODO|FIXME|XXX)\b", text)]
        for node in ast.walk(tree):
            if isinstance(node, ast.Raise) and "NotImplementedError" in ast.dump(node):
                found.append(f"{name}:{node.lineno}: NotImplementedError")
            if isinstance(node, ast.ExceptHandler) and [type(part) for part in node.body] == [ast.Pass]:
                found.append(f"{name}:{node.lineno}: an exception swallowed in silence")
    assert found == []


def test_every_module_says_what_it_is_for(source: dict[str, ast.Module]) -> None:
    assert [name for name, tree in source.items() if tree.body and not ast.get_docstring(tree)] == []


def test_names_say_what_a_thing_is(source: dict[str, ast.Module]) -> None:
    """architecture §3.12."""
    vague = re.compile(r"(Manager|Helper|Helpers|Util|Utils)$")
    classes = [
        f"{name}: {node.name}"
        for name, tree in source.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and vague.search(node.name)
    ]
    modules = [name for name in source if re.search(r"/(utils?|helpers?|misc|common)\.py$", name)]
    assert classes + modules == []


def test_protocol_declarations_are_not_deferred(source: dict[str, ast.Module]) -> None:
    """Deferred annotations make `__required_keys__` of a TypedDict wrong (docs/decisions/0001)."""
    deferred = [
        name
        for name, tree in source.items()
        if name.startswith("src/innkeeper/protocol/")
        and any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body)
    ]
    assert deferred == []
    assert any(name.startswith("src/innkeeper/protocol/") for name in source)
