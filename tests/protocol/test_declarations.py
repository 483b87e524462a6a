"""Rules that every module of `protocol/` keeps (architecture §3, conventions of the package)."""

import ast
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, NotRequired, Required, get_args, get_origin

import pytest
from typing_extensions import ReadOnly, get_type_hints

import innkeeper.protocol
from harness.declared_examples import declarations
from innkeeper.protocol.chat.actions import ChatTurnStartedAction
from innkeeper.protocol.chat.state import ChatState, ChatSummary, PartialChatSummary
from innkeeper.protocol.session.state import PartialSessionSummary, SessionState, SessionSummary
from innkeeper.protocol.status import ACTIVITY_MASK, ERROR, IDLE, IN_PROGRESS, INPUT_NEEDED, IS_ARCHIVED, IS_READ

PACKAGE = Path(innkeeper.protocol.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
DECLARED = declarations()
WRAPPERS = {str(word) for word in (ReadOnly, NotRequired, Required)}


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_module_postpones_its_annotations(path: Path) -> None:
    """Postponed annotations falsify `__required_keys__`."""
    assert "from __future__" not in path.read_text("utf-8")


def test_each_module_can_be_imported_first() -> None:
    """No order of imports is hidden in the package: whoever is imported first finds what it needs."""
    code = """
        import importlib, sys
        for name in sys.argv[1:]:
            for loaded in [loaded for loaded in sys.modules if loaded.startswith("innkeeper")]:
                del sys.modules[loaded]
            assert importlib.import_module(name).__doc__, name
        """
    command = [sys.executable, "-c", textwrap.dedent(code), *map(name_of, MODULES)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("name", DECLARED)
def test_every_member_is_read_only(name: str) -> None:
    """Architecture principle 2."""
    hints: dict[str, Any] = get_type_hints(DECLARED[name], include_extras=True)
    for key, hint in hints.items():
        wrappers: list[Any] = []
        while (origin := get_origin(hint)) is not None and str(origin) in WRAPPERS:
            wrappers.append(str(origin))
            (hint, *_) = get_args(hint)
        assert str(ReadOnly) in wrappers, key


def test_every_declaration_says_what_it_is_for() -> None:
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                assert ast.get_docstring(node), f"{path.name}: {node.name}"


def test_nothing_of_ours_is_in_the_protocol() -> None:
    """Architecture §6: own names are `x-innkeeper/…` and live elsewhere."""
    assert all("x-innkeeper" not in path.read_text("utf-8") for path in MODULES)


def test_what_is_required_is_known() -> None:
    assert ChatTurnStartedAction.__required_keys__ == {"type", "turnId", "startedAt", "message"}
    assert {"turns", "resource", "title", "status", "modifiedAt"} == ChatState.__required_keys__
    required = {"provider", "title", "status", "lifecycle", "activeClients", "chats"}
    assert required == SessionState.__required_keys__


@pytest.mark.parametrize(
    ("partial", "whole"), [(PartialChatSummary, ChatSummary), (PartialSessionSummary, SessionSummary)]
)
def test_a_partial_summary_has_the_members_of_the_whole_and_requires_none(partial: type, whole: type) -> None:
    """AHP Appendix A: `Partial<ChatSummary>`, `Partial<SessionSummary>`."""
    assert not partial.__required_keys__  # type: ignore[attr-defined]
    assert get_type_hints(partial) == get_type_hints(whole)


def test_a_chats_summary_has_members_of_its_state() -> None:
    """AHP §9.3: the members they share must be kept equal."""
    state, summary = get_type_hints(ChatState), get_type_hints(ChatSummary)
    assert summary.items() <= state.items()


def test_the_bits_of_a_status() -> None:
    """AHP §7."""
    assert (IDLE, ERROR, IN_PROGRESS, INPUT_NEEDED, IS_READ, IS_ARCHIVED, ACTIVITY_MASK) == (1, 2, 8, 24, 32, 64, 31)
    assert INPUT_NEEDED & IN_PROGRESS
    assert not (IS_READ | IS_ARCHIVED) & ACTIVITY_MASK
