"""The documents: links lead somewhere, the two READMEs are one, and what the code offers is documented."""

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path

import click
import pytest

from innkeeper.errors import ERRORS

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def documents(root: Path) -> list[Path]:
    return [*root.glob("*.md"), *(root / "docs").rglob("*.md")]


def without_code(text: str) -> str:
    return FENCE.sub("", text)


def headings(text: str) -> list[str]:
    return re.findall(r"^(#+) ", without_code(text), re.MULTILINE)


def code_lines(text: str) -> list[str]:
    """What a reader would type: the fenced blocks without their comments."""
    lines = "\n".join(FENCE.findall(text)).splitlines()
    return [re.sub(r"\s*#.*", "", line) for line in lines if not line.lstrip().startswith("#")]


def test_links_between_documents_lead_to_files(root: Path) -> None:
    dead = [
        f"{document.relative_to(root)}: {target}"
        for document in documents(root)
        for target in LINK.findall(without_code(document.read_text(encoding="utf-8")))
        if not re.match(r"[a-z]+:|#", target) and not (document.parent / target.split("#")[0]).exists()
    ]
    assert dead == []
    assert len(documents(root)) > 15


def test_both_readmes_have_the_same_headings_and_commands(root: Path) -> None:
    english = (root / "README.md").read_text(encoding="utf-8")
    chinese = (root / "README.zh.md").read_text(encoding="utf-8")
    assert headings(english) == headings(chinese)
    for ours, theirs in zip_longest(code_lines(english), code_lines(chinese)):
        assert ours == theirs
    own = [line for line in without_code(chinese).splitlines() if line.startswith("#")]
    assert all(re.search(r"[\u4e00-\u9fff]", line) or line == "# Innkeeper" for line in own)


def test_readme_opens_with_install_run_and_test(root: Path) -> None:
    lines = code_lines((root / "README.md").read_text(encoding="utf-8"))
    typed = [line for line in lines if line and not line.startswith("```")]
    assert typed[:3] == ["python3 -m pip install uv", "uv run innkeeper tour", "uv run just ci"]


def test_every_page_is_in_the_navigation(root: Path) -> None:
    def pages(entry: object) -> list[str]:
        if isinstance(entry, str):
            return [entry]
        values = entry.values() if isinstance(entry, dict) else entry if isinstance(entry, list) else []
        return [page for value in values for page in pages(value)]

    listed = pages(tomllib.loads((root / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"])
    found = {str(path.relative_to(root / "docs")) for path in (root / "docs").rglob("*.md")}
    assert sorted(listed) == sorted(found)


def test_every_error_code_is_documented(root: Path) -> None:
    page = (root / "docs/reference/errors.md").read_text(encoding="utf-8")
    assert [code for code in ERRORS if f"| `{code}` |" not in page] == []


def test_generated_pages_are_what_the_code_says(root: Path) -> None:
    """In a process of its own: what other tests imported or set must not show in a page."""
    done = subprocess.run([sys.executable, "scripts/drift.py"], cwd=root, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, f"run just drift --write: {done.stdout}{done.stderr}"


def test_every_command_is_documented_and_has_help(root: Path) -> None:
    pages = importlib.import_module("pages")
    command = pages.root_command()
    if command is None:
        pytest.fail("the command line is missing")
    page = (root / "docs/reference/cli.md").read_text(encoding="utf-8")
    for path, each in pages.commands(command, ("innkeeper",)):
        assert " ".join(path) in page
        assert each.get_short_help_str(), path


def test_decision_records_are_numbered_and_complete(root: Path) -> None:
    records = sorted(path for path in (root / "docs/decisions").glob("*.md") if path.name != "index.md")
    assert [int(path.name[:4]) for path in records] == list(range(1, len(records) + 1))
    for path in records:
        text = path.read_text(encoding="utf-8")
        assert re.findall(r"^## (.*)$", text, re.MULTILINE) == ["Context", "Decision", "Consequences", "Figures"], path


def test_change_fragments_name_a_known_kind(root: Path) -> None:
    fragments = [path.name for path in (root / "changes").glob("*.md") if path.name not in ("README.md", "template.md")]
    assert all(re.fullmatch(r"(\+?[\w-]+)\.(added|changed|fixed|removed|security)\.md", name) for name in fragments)


def test_python_in_the_documents_compiles_and_names_what_exists(root: Path) -> None:
    seen = 0
    for document in documents(root):
        for block in re.findall(
            r"^```python\n(.*?)^```", document.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
        ):
            for node in ast.walk(ast.parse(block)):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("innkeeper"):
                    module = importlib.import_module(node.module or "")
                    assert [alias.name for alias in node.names if not hasattr(module, alias.name)] == [], document
                    seen += 1
    assert seen >= 2


@pytest.mark.parametrize("name", ["README.md", "README.zh.md"])
def test_the_readme_names_every_command(root: Path, name: str) -> None:
    """`mcp inputs` and the like stand for what is below them."""
    text = without_code((root / name).read_text(encoding="utf-8"))
    rows = [re.findall(r"`([^`]+)`", row.split("|")[1]) for row in text.splitlines() if row.startswith("| `")]
    named = {
        word if word.startswith(f"{row[0].split()[0]} ") or word == row[0] else f"{row[0].split()[0]} {word}"
        for row in rows
        for word in row
    }
    pages = importlib.import_module("pages")
    command = pages.root_command()
    missing = [
        " ".join(path[1:])
        for path, each in pages.commands(command, ("innkeeper",))
        if len(path) in (2, 3) and " ".join(path[1:]) not in named and not getattr(each, "commands", None)
    ]
    assert missing == []


TYPED = re.compile(r"^(?:\$ )?(?:uv run )?innkeeper ([^#\n]*)|`innkeeper ([^`]*)`", re.MULTILINE)


def test_every_command_line_in_words_for_people_exists(root: Path) -> None:
    """Pages, READMEs and the texts of the catalogue name only commands and options that there are."""
    pages = importlib.import_module("pages")
    known = {path[1:]: each for path, each in pages.commands(pages.root_command(), ("innkeeper",))}
    sources = [*documents(root), root / "src/innkeeper/locale/en/LC_MESSAGES/innkeeper.po"]
    typed = {
        (document.name, (match[0] or match[1]).strip())
        for document in sources
        if document.name != "cli.md"
        for match in TYPED.findall(document.read_text(encoding="utf-8"))
    }
    wrong = [f"{name}: innkeeper {line}" for name, line in sorted(typed) if not exists(known, line)]
    assert wrong == []
    assert len(typed) > 50


def exists(known: Mapping[tuple[str, ...], click.Command], line: str) -> bool:
    words = line.split()
    path: tuple[str, ...] = ()
    while len(path) < len(words) and (*path, words[len(path)]) in known:
        path = (*path, words[len(path)])
    command, rest = known[path], words[len(path) :]
    if path and isinstance(command, click.Group) and rest and re.match(r"[a-z]", rest[0]):
        return False
    options = {"--help", *(each for option in command.params for each in option.opts)}
    return bool(path or not rest or rest[0].isupper() or rest[0].startswith("-")) and all(
        word.split("=")[0].rstrip(".,;") in options for word in rest if word.startswith("--")
    )
