"""The page on contributions names every hook, order, setting and service; its example runs (K2, K3b; issue 5)."""

import ast
import importlib.util
import inspect
import re
from pathlib import Path
from typing import Protocol

import pytest

from innkeeper.app.compose import DATABASE, Circumstances, open_host, standard_parts
from innkeeper.contributions.builtin import builtin_kinds
from innkeeper.contributions.dispatch import Services
from innkeeper.contributions.spi import HOOKS, services
from innkeeper.settings.config import FIELDS, Settings
from scripted.world import World

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs/reference/contributions.md").read_text()
EXAMPLE = ROOT / "examples/contributions/house_rules.py"
SOURCES = ROOT / "src/innkeeper/contributions"
CONTRIBUTED = ROOT / "src/innkeeper/ports/contributed.py"


def example():
    spec = importlib.util.spec_from_file_location("house_rules", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.HouseRules


def test_every_hook_order_and_service_is_on_the_page():
    """K2: a test fails when one is undocumented."""
    for hook in HOOKS:
        rows = re.findall(rf"^\| `{hook}` \|", PAGE, re.MULTILINE)
        assert len(rows) == 3, "moment, signature and sequence"
    for kind in builtin_kinds():
        assert re.search(rf"\| {kind.order} \| `{kind.id}` \|", PAGE), kind.id
        for _, service in Services().parameters(kind):
            assert f"| `{service.__name__}` |" in PAGE, service
    for name in services.__all__:
        if inspect.isclass(getattr(services, name)):
            assert f"| `{name}` |" in PAGE, name
    assert inspect.getdoc(Protocol) not in PAGE, "a service says what it is for"


CALLS = {
    "on_incoming_request": "incoming",
    "on_outgoing_turn": "outgoing",
    "on_turn_end": "turn_end",
    "on_did_apply_client_action": "client_action",
    "on_did_dispatch_action": "dispatched",
    "on_hydrate_turns": "hydrate_turns",
    "on_hydrate_chat": "hydrate_chat",
}


def test_each_hook_is_called_where_the_table_says_and_nowhere_else():
    """K1, K2: the call sites are one of three things that are at home in the host."""
    sources = {path: path.read_text() for path in (ROOT / "src/innkeeper/host").rglob("*.py")}
    assert CALLS.keys() == HOOKS.keys()
    for hook, name in CALLS.items():
        calling = [path.stem for path, source in sources.items() if re.search(rf"hooks\.{name}\(", source)]
        assert [f"host.{stem}" for stem in calling] == [HOOKS[hook].site], hook


def test_everything_that_a_built_in_asks_for_can_be_had_from_outside_too():
    """K3b, K7: through `contributions.spi.services`, because nothing else of ours may be imported."""
    public = {getattr(services, name) for name in services.__all__}
    asked = {wanted for kind in builtin_kinds() for _, wanted in Services().parameters(kind)}
    assert asked <= public


def test_every_setting_that_a_contribution_reads_is_on_the_page_and_in_the_schema():
    read = set()
    for source in SOURCES.rglob("*.py"):
        read.update(re.findall(r'^SETTING: Final = "(\w+)"', source.read_text(), re.MULTILINE))
    assert read == {"rich_plan_links", "github_references"}
    for name in (*read, "contributions", "contribution_settings", "generate_titles"):
        assert f"| `{name}` |" in PAGE and name in FIELDS


def test_every_key_that_is_kept_in_a_state_is_documented():
    """Architecture §6: own keys begin with our prefix, and are documented like the rest."""
    keys = set()
    for source in (*SOURCES.rglob("*.py"), *(ROOT / "src/innkeeper/host").glob("*.py"), CONTRIBUTED):
        keys.update(re.findall(r'^[A-Z_]+(?:: Final)? = "x-innkeeper/(\w+)"', source.read_text(), re.MULTILINE))
    assert keys >= {"queuePaused", "chatConfig", "sender"}
    page = (ROOT / "docs/reference/extensions.md").read_text()
    assert [key for key in sorted(keys) if f"`x-innkeeper/{key}`" not in page] == []


def test_every_built_in_says_what_it_does_and_has_a_folder_of_tests():
    """K3."""
    for kind in builtin_kinds():
        folder = kind.__module__.rsplit(".", 1)[-1]
        assert (inspect.getmodule(kind).__doc__ or "").split("\n")[0].endswith("."), kind.id
        tests = list((ROOT / "tests/contributions" / folder).glob("test_*.py"))
        assert tests, f"{kind.id} has no tests in tests/contributions/{folder}"


def test_the_example_is_on_the_page_whole_and_imports_the_interface_alone():
    """K3b."""
    source = EXAMPLE.read_text()
    assert source.strip() in PAGE
    imported = {node.module for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)}
    assert imported == {"innkeeper.contributions.spi"}


@pytest.mark.parametrize(
    ("settings", "instructions"),
    [
        ({}, ()),
        ({"house-rules": {"enabled": False}}, ()),
        ({"house-rules": {"enabled": True, "text": "Be kind."}}, ("Be kind.",)),
    ],
)
async def test_the_example_adds_an_instruction_when_its_setting_is_on(settings, instructions):
    world = await World(contributions=[example()], options=settings).start()
    client = await world.client()
    _, chat = await client.new_session()
    await client.turn(chat, "hello")
    assert world.scripted.requests[-1].instructions == instructions
    await world.close()


def test_the_example_is_loaded_as_an_operator_would_name_it(monkeypatch):
    """K3b: an entry point of the group, named in the configuration."""
    from innkeeper.contributions.builtin import GROUP, activate
    from innkeeper.contributions.dispatch import Registry
    from innkeeper.contributions.dispatch.mementos import Mementos
    from innkeeper.ports.contributed import Configuration

    asked = []

    class Found:
        def load(self):
            return example()

    monkeypatch.setattr("importlib.metadata.entry_points", lambda **query: asked.append(query) or [Found()])
    monkeypatch.setattr("innkeeper.contributions.builtin.builtin_kinds", list)
    registry = Registry(Services({Configuration: object()}), Mementos(lambda chat: None))
    activate(registry, ["house-rules"])
    assert registry.ids == ("house-rules",) and asked == [{"group": GROUP, "name": "house-rules"}]


async def test_every_built_in_is_constructed_by_the_real_root(tmp_path):
    """architecture §3.9: each injected constructor is evaluated and built, not only type-checked."""
    parts = standard_parts(tmp_path / DATABASE, Settings(), quiet=True)
    host = await open_host(parts, Circumstances(Settings(), {}, tmp_path))
    try:
        ids = [kind.id for kind in builtin_kinds()]
        assert list(host.service.contributions.ids) == ids and len(set(ids)) == 18
    finally:
        await host.close(1)


def test_the_orchestration_imports_no_contribution():
    """K1: beside the import contract, which says the same of modules."""
    for source in (ROOT / "src/innkeeper/host").rglob("*.py"):
        for name in re.findall(r"innkeeper\.contributions\.(\w+)", source.read_text()):
            assert name in ("spi", "dispatch"), f"{source}: {name}"
