"""The composition root: one composition for every mode, no state shared between hosts (architecture §3.9)."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from innkeeper.app.compose import DATABASE, SWAPPED, Circumstances, Host, Parts, open_host, standard_parts
from innkeeper.client import Client, connect
from innkeeper.client.memory import MemoryTransport
from innkeeper.edge.memory import MemoryDoor
from innkeeper.errors import HostError
from innkeeper.ports.questions import Intent
from innkeeper.settings.config import Settings, parse_settings

pytestmark = pytest.mark.anyio
PLAIN = (str, bytes, int, float, bool, type(None), Path, frozenset)


def circumstances(folder: Path) -> Circumstances:
    return Circumstances(Settings(), {}, folder)


async def build(folder: Path, *, quiet: bool) -> Host:
    return await open_host(standard_parts(folder / DATABASE, Settings(), quiet=quiet), circumstances(folder))


def graph(root: object) -> dict[str, str]:
    """The services reachable from an object, by the path of attributes that leads there first, and their classes."""
    found: dict[str, str] = {}
    seen: set[int] = set()
    waiting: list[tuple[str, object]] = [("host", root)]
    while waiting:
        path, value = waiting.pop(0)
        if id(value) in seen or isinstance(value, (*PLAIN, type)):
            continue
        seen.add(id(value))
        if type(value).__module__.startswith("innkeeper."):
            found[path] = f"{type(value).__module__}.{type(value).__qualname__}"
        waiting.extend((f"{path}.{name}", child) for name, child in children(value))
    return found


def children(value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        yield from ((str(key), child) for key, child in value.items())
    elif isinstance(value, (list, tuple)):
        yield from ((str(index), child) for index, child in enumerate(value))
    elif type(value).__module__.startswith("innkeeper."):
        slots = [name for cls in type(value).__mro__ for name in getattr(cls, "__slots__", ())]
        names = [*getattr(value, "__dict__", {}), *slots]
        yield from ((name, getattr(value, name)) for name in names if hasattr(value, name))
        for name, attribute in list(getattr(value, "__dict__", {}).items()):
            for cell in getattr(attribute, "__closure__", None) or ():
                yield f"{name}()", cell.cell_contents


async def test_quiet_swaps_the_listed_parts_and_nothing_else(tmp_path: Path) -> None:
    """Issue 2, section 5: a test compares both service graphs and allows only that list."""
    loud_parts = standard_parts(tmp_path / "a.db", Settings(), quiet=False)
    quiet_parts = standard_parts(tmp_path / "b.db", Settings(), quiet=True)
    differing = {
        name
        for name in Parts.__dataclass_fields__
        if type(getattr(loud_parts, name)) is not type(getattr(quiet_parts, name))
    }
    assert differing <= SWAPPED
    loud, quiet = await build(tmp_path / "loud", quiet=False), await build(tmp_path / "quiet", quiet=True)
    try:
        one, other = without_agents(graph(loud)), without_agents(graph(quiet))
        assert len(one) > 40
        assert one == other
    finally:
        await loud.close(1)
        await quiet.close(1)


def without_agents(found: dict[str, str]) -> dict[str, str]:
    """The graph without the agents beside the console, which are the difference."""
    agent = re.compile(r"innkeeper\.providers\.(?!console\.|spi\.)")
    theirs = tuple(path for path, kind in found.items() if agent.match(kind))
    return {path: kind for path, kind in found.items() if not path.startswith(theirs)}


async def test_two_hosts_in_one_process_share_nothing(tmp_path: Path) -> None:
    """Architecture §3.9: no global registries; a second copy widens nothing."""
    first, second = await build(tmp_path / "1", quiet=True), await build(tmp_path / "2", quiet=True)
    try:
        async with connect(MemoryTransport(MemoryDoor(first.attach).accept)) as client:
            await client.create_session("ahp-session:/only-here", provider="console")
            assert await listed(client) == ["ahp-session:/only-here"]
        async with connect(MemoryTransport(MemoryDoor(second.attach).accept)) as client:
            assert await listed(client) == []
        shared = services(first) & services(second)
        assert shared == set()
    finally:
        await first.close(1)
        await second.close(1)


async def listed(client: Client) -> list[str]:
    return [summary["resource"] async for summary in client.list_sessions()]


def services(host: Host) -> set[int]:
    """Identities of the objects that can change; values may be shared."""
    found: set[int] = set()
    waiting: list[object] = [host]
    while waiting:
        value = waiting.pop()
        if id(value) in found or isinstance(value, (*PLAIN, tuple, type)) or not _is_service(value):
            continue
        found.add(id(value))
        waiting.extend(child for _, child in children(value))
    return found


def _is_service(value: Any) -> bool:
    if isinstance(value, (dict, list, set)):
        return True
    parameters = getattr(type(value), "__dataclass_params__", None)
    return type(value).__module__.startswith("innkeeper.") and not (parameters is not None and parameters.frozen)


async def test_a_second_host_on_the_same_data_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    """Architecture §7: one host a data directory."""
    first = await build(tmp_path, quiet=True)
    try:
        with pytest.raises(HostError) as refused:
            await build(tmp_path, quiet=True)
        assert refused.value.code == "DATA_DIR_LOCKED"
        async with connect(MemoryTransport(MemoryDoor(first.attach).accept)) as client:
            assert await listed(client) == []
    finally:
        await first.close(1)


async def test_a_database_that_is_none_is_refused_with_its_code_and_left_untouched(tmp_path: Path) -> None:
    """Issue 2, section 4."""
    (tmp_path / DATABASE).write_bytes(b"this is no database at all, but somebody's only copy")
    with pytest.raises(HostError) as refused:
        await build(tmp_path, quiet=True)
    assert refused.value.code == "DATABASE_UNREADABLE"
    assert (tmp_path / DATABASE).read_bytes() == b"this is no database at all, but somebody's only copy"


async def test_state_survives_an_orderly_restart(tmp_path: Path) -> None:
    """Architecture §7."""
    first = await build(tmp_path, quiet=True)
    async with connect(MemoryTransport(MemoryDoor(first.attach).accept)) as client:
        await client.create_session("ahp-session:/kept", provider="console")
    await first.close(1)
    second = await build(tmp_path, quiet=True)
    try:
        async with connect(MemoryTransport(MemoryDoor(second.attach).accept)) as client:
            assert await listed(client) == ["ahp-session:/kept"]
    finally:
        await second.close(1)


async def test_the_approval_rules_are_joined(tmp_path: Path) -> None:
    """Reference §5.11: the operator's own, where the host keeps attachments, and what is a session's of it (T19)."""
    settings = parse_settings("[approvals]\ndeny = ['Danger']\n", tmp_path / "config.toml")
    parts = standard_parts(tmp_path / DATABASE, settings, quiet=True)
    host = await open_host(parts, Circumstances(settings, {"HOME": str(tmp_path)}, tmp_path))
    try:
        approvals = host.service._turns._parts.approvals
        assert approvals.rules("ahp-session:/s", "Danger").denied_by == "operator"
        area = str(tmp_path / "attachments")
        kept = f"{area}/{host.service._joined.outside.attachments.folder('ahp-session:/s')}/1/notes.md"
        written = await approvals.verdict("ahp-session:/s", "write", Intent("write", paths=[kept]))
        assert (written.outcome, written.row) == ("deny", "attachmentArea")
        for session, outcome in (("ahp-session:/s", "approve"), ("ahp-session:/other", "ask")):
            verdict = await approvals.verdict(session, "read", Intent("read", paths=[kept]))
            assert verdict.outcome == outcome, session
    finally:
        await host.close(1)
