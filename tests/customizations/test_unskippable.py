"""Resolution cannot be skipped: each way around it is a type error (C5.1, architecture §3.7, §3.11; issue 4 item 2).

One run of mypy over one file of wrong lines, and of right ones as the control.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from innkeeper.customizations.discovery.items import LOADED, DiscoveredPlugin
from innkeeper.customizations.eligibility import eligible
from innkeeper.customizations.enablement import Overlay
from innkeeper.customizations.publishing import publish
from innkeeper.customizations.testing import everything_on

PREAMBLE = """
from collections.abc import Sequence
from innkeeper.customizations.discovery.items import DiscoveredServer
from innkeeper.customizations.edits import Replace, apply
from innkeeper.customizations.eligibility import eligible
from innkeeper.customizations.enablement import ClientBase, Overlay, Target, resolve, set_client_base
from innkeeper.customizations.identity import LeafIdentity, key_of
from innkeeper.customizations.items import RawItem, ServerItem
from innkeeper.customizations.places import Place
from innkeeper.customizations.publishing import Published, publish
from innkeeper.customizations.resolution import Context, Resolution, ScopedEnablement
from innkeeper.customizations.testing import everything_on
from innkeeper.ports.customizations import Eligible
from innkeeper.protocol.session.state import Customization

def launch(customizations: Eligible) -> None: ...
def emit(customizations: Published) -> None: ...

raw: Sequence[RawItem] = ()
server: ServerItem
found: DiscoveredServer
wire: Customization
context: Context
base: ClientBase
overlay: Overlay
target: Target
place: Place
"""

WRONG = {
    "an unresolved item handed to a provider": "launch(server)",
    "a discovered child handed to a provider": "launch(found)",
    "a list of unresolved items handed to a provider": "launch(raw)",
    "a published item handed to a provider": "launch(wire)",
    "a resolution handed to a provider": "launch(Resolution(raw, everything_on()))",
    "an unresolved item published": "emit(server)",
    "a list of unresolved items published": "emit(raw)",
    "a published list made of unresolved items": "emit(Published(raw))",
    "a published list made of wire items": "emit(Published([wire]))",
    "items resolved without enablement": "Resolution(raw)",
    "items published without enablement": "publish(raw)",
    "items handed over without enablement": "eligible(raw)",
    "a base for enablement": "Resolution(raw, base)",
    "an overlay for enablement": "Resolution(raw, overlay)",
    "enablement without decisions": "ScopedEnablement(context)",
    "a context without the owner map": "Context(session='s', place=place, provider='console')",
    "a base update on the durable store": "set_client_base(overlay, target, True)",
    "a base as the overlay": "resolve(target, place, base, base)",
    "the overlay as the base": "resolve(target, place, overlay, overlay)",
    "a base update that gives an overlay": "kept: Overlay = set_client_base(base, target, True)",
    "a key that key_of did not make": "key_of(LeafIdentity('plugin/x', 'skill', 'y'))",
    "an edit stored in a base": "apply('x', Replace(()), Resolution(raw, everything_on()), base, '')",
}
RIGHT = [
    "launch(eligible(raw, ScopedEnablement(context, overlay)))",
    "launch(eligible(raw, everything_on()))",
    "emit(publish(raw, everything_on()))",
    "emit(Published(Resolution(raw, everything_on())))",
    "other: ClientBase = set_client_base(base, target, True)",
    "apply('x', Replace(()), Resolution(raw, everything_on()), overlay, '')",
]


@pytest.fixture(scope="module")
def complaints(tmp_path_factory: pytest.TempPathFactory) -> dict[int, list[str]]:
    """mypy's errors by line of the file of wrong and right lines."""
    folder = tmp_path_factory.mktemp("types")
    source = folder / "skipping.py"
    source.write_text("\n".join([PREAMBLE, *WRONG.values(), *RIGHT]) + "\n", encoding="utf-8")
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(folder / "cache"), str(source)]
    done = subprocess.run(command, cwd=root / "src", capture_output=True, text=True, timeout=120, check=False)
    errors: dict[int, list[str]] = {}
    for line in done.stdout.splitlines():
        if match := re.match(r".*skipping\.py:(\d+): error: (.*)", line):
            errors.setdefault(int(match[1]), []).append(match[2])
    assert done.returncode == 1, done.stdout + done.stderr
    return errors


def line_of(statement: str) -> int:
    return [PREAMBLE, *WRONG.values(), *RIGHT].index(statement) + PREAMBLE.count("\n") + 1


@pytest.mark.timeout(180)
@pytest.mark.parametrize("way", WRONG)
def test_way_around_resolution_does_not_type_check(way: str, complaints: dict[int, list[str]]) -> None:
    found = complaints.get(line_of(WRONG[way]), [])
    assert any(re.search(r"\[(arg-type|call-arg|assignment)\]", error) for error in found), (way, found)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("statement", RIGHT)
def test_way_through_resolution_type_checks(statement: str, complaints: dict[int, list[str]]) -> None:
    assert line_of(statement) not in complaints


def test_only_eligibility_builds_what_providers_get() -> None:
    """The classes are below `customizations`, because `providers.spi` is; so their makers are counted instead."""
    source = Path(__file__).resolve().parents[2] / "src" / "innkeeper"
    names = {"Eligible", "EligiblePlugin", "EligibleServer", "EligibleLeaf"}
    makers = {
        str(path.relative_to(source))
        for path in source.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names
    }
    assert makers == {"customizations/eligibility.py"}


def test_only_is_on_reads_a_published_items_enablement() -> None:
    """C1.4b: it answers for every type. The others read what clients send: their plugins, and toggles."""
    source = Path(__file__).resolve().parents[2] / "src" / "innkeeper" / "customizations"
    readers = {
        path.name
        for path in source.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "get"
        and node.args
        and isinstance(node.args[0], ast.Constant)
        and node.args[0].value in ("enablement", "enabled")
    }
    assert readers == {"publishing.py", "clients.py", "edits.py"}


def test_everything_on_decides_nothing_whatever_is_said() -> None:
    item = DiscoveredPlugin(
        uri="file:///p", name="p", path="/p", format="claude", source="host", load=LOADED, children=()
    )
    nothing = everything_on("ahp-session:/x", "file:///repo")
    (published,) = publish([item], nothing).items
    assert "enablement" not in published
    assert [one.name for one in eligible([item], nothing).plugins] == ["p"]
    assert eligible([item], nothing).complete
    assert Overlay().decisions.decisions == ()
