"""The settings service: one contract for the file and its twin in memory, then what only a file can do (M9.2, M9.6)."""

# ruff: noqa: ASYNC240 - small files of a test

import asyncio
import logging
import stat
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from innkeeper.editing.edits import Delete, Insert, Put
from innkeeper.editing.refusals import EditUnsafe, EditUnwritable
from innkeeper.errors import HostError
from innkeeper.ports.settings import Allowance, SettingsConflict, SettingsService, SettingsState
from innkeeper.settings.config import Settings
from innkeeper.settings.memory import MemorySettings
from innkeeper.settings.problems import Problem, SettingsInvalid, ValueRefused, Wrong
from innkeeper.settings.service import FileSettings
from innkeeper.workspace.watches import LocalWatches

pytestmark = pytest.mark.anyio
SECONDS = 5

TEXT = b"""\xef\xbb\xbf# Mine!\r\ntrust_mode = "manual"  # careful\r\n
[limits]  # cold\r\nconnections = 12\r\n
# the shop\r\n[[workspace_allowances]]\r\nworkspace = "/work/a"\r\nallow_mcp = ["files"]\r\n"""


class Both:
    """A service and the file behind it, real or not."""

    def __init__(self, service: Any, read: Callable[[], bytes | None], write: Callable[[bytes | None], None]) -> None:
        self.service: SettingsService = service
        self.read = read
        self.write = write
        self.seen: list[SettingsState] = []
        self._changed = asyncio.Event()
        self.service.subscribe(self._told)

    def _told(self, state: SettingsState) -> None:
        self.seen.append(state)
        self._changed.set()

    async def until(self, holds: Callable[[SettingsState], object]) -> SettingsState:
        """The state once it is as wanted."""
        async with asyncio.timeout(SECONDS):
            while not holds(self.service.current()):
                self._changed.clear()
                await self._changed.wait()
        return self.service.current()


def no_emacs(settings: Settings) -> None:
    for index, preset in enumerate(settings.presets):
        if preset.get("id") == "emacs":
            raise Wrong(Problem("unknown"), "presets", index, "id")


@pytest.fixture(params=["file", "memory"])
async def both(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Both]:
    if request.param == "memory":
        memory = MemorySettings(TEXT, check=no_emacs)
        yield Both(memory, lambda: memory.data, memory.save)
        return
    path = tmp_path / "config.toml"
    path.write_bytes(TEXT)
    service = FileSettings(path, LocalWatches(), check=no_emacs, secrets=tmp_path / "secrets.toml")

    def write(data: bytes | None) -> None:
        if data is None:
            path.unlink()
        else:
            path.write_bytes(data)

    async with service.watching():
        yield Both(service, lambda: path.read_bytes() if path.exists() else None, write)


async def test_what_is_in_force_is_told_with_its_revision(both: Both) -> None:
    state = both.service.current()
    assert state.hot.workspace_allowances == (Allowance("/work/a", allow_mcp=("files",)),)
    assert (state.hot.trust_mode, state.fault, state.after_restart) == ("manual", None, ())
    assert state.revision


async def test_a_change_is_written_byte_exactly_and_in_force_when_it_returns(both: Both) -> None:
    """M9.2, M8.1"""
    before = both.service.current().revision
    edits = [
        Put(("trust_mode",), "all"),
        Insert(("workspace_allowances", 0, "allow_mcp", 1), "git"),
        Insert(("workspace_allowances", 1), {"workspace": "/work/b", "allow_tools": ["a"]}),
    ]
    state = await both.service.change(edits, before)
    assert both.service.current() == state
    assert state.hot.trust_mode == "all"
    assert state.hot.workspace_allowances[1] == Allowance("/work/b", allow_tools=("a",))
    assert state.revision != before
    wanted = TEXT.replace(b'"manual"', b'"all"').replace(b'["files"]', b'["files", "git"]')
    assert both.read() == (wanted + b'\r\n[[workspace_allowances]]\r\nworkspace = "/work/b"\r\nallow_tools = ["a"]\r\n')
    assert [known.hot.trust_mode for known in both.seen] == ["all"]


async def test_a_change_made_for_another_revision_is_refused_with_the_current_token(both: Both) -> None:
    """M9.2: compare and swap."""
    first = both.service.current().revision
    second = (await both.service.change([Put(("trust_mode",), "all")], first)).revision
    with pytest.raises(SettingsConflict) as refused:
        await both.service.change([Put(("trust_mode",), "manual")], first)
    assert (refused.value.code, refused.value.current) == ("SETTINGS_CONFLICT", second)
    assert both.service.current().hot.trust_mode == "all"
    again = await both.service.change([Put(("trust_mode",), "manual")], refused.value.current)
    assert (again.hot.trust_mode, both.read()) == ("manual", TEXT)


async def test_of_changes_made_at_once_one_wins(both: Both) -> None:
    revision = both.service.current().revision
    outcomes = await asyncio.gather(
        *(both.service.change([Put(("trusted_workspaces",), [f"/w/{n}"])], revision) for n in range(6)),
        return_exceptions=True,
    )
    won = [outcome for outcome in outcomes if isinstance(outcome, SettingsState)]
    assert len(won) == 1
    assert all(isinstance(outcome, SettingsConflict) for outcome in outcomes if outcome not in won)
    assert both.service.current() == won[0]


@pytest.mark.parametrize(
    ("edit", "code"),
    [
        (Put(("access",), "full"), "SETTING_OPERATOR_ONLY"),
        (Put(("limits", "connections"), 3), "SETTING_OPERATOR_ONLY"),
        (Delete(("limits",)), "SETTING_OPERATOR_ONLY"),
        (Put(("input_values", "a"), "b"), "SETTING_OPERATOR_ONLY"),
        (Put(("serve", "port"), 1), "SETTING_OPERATOR_ONLY"),
        (Put(("web_control",), False), "SETTING_OPERATOR_ONLY"),
        (Put(("trust_mod",), "all"), "SETTING_UNKNOWN"),
        (Put(("trust_mode",), "some"), "SETTING_VALUE"),
        (Put(("trusted_workspaces",), ["relative"]), "SETTING_VALUE"),
        (Put(("workspace_allowances", 0, "allow_everything"), True), "SETTING_VALUE"),
        (Put(("presets",), [{"id": "emacs"}]), "SETTING_VALUE"),
        (Put(("trust_mode", "deeper"), "all"), "EDIT_UNSAFE"),
    ],
)
async def test_what_may_not_be_written_is_refused_and_changes_nothing(both: Both, edit: Any, code: str) -> None:
    """M9.6: UI and CLI write only the hot fields."""
    before = both.service.current()
    with pytest.raises(HostError) as refused:
        await both.service.change([Put(("conflict_policy",), "first-wins"), edit], before.revision)
    assert refused.value.code == code
    assert refused.value.message("zh_Hans") != refused.value.message()
    assert refused.value.remedy()
    assert (both.service.current(), both.read(), both.seen) == (before, TEXT, [])


async def test_a_value_that_is_refused_is_named_by_field_and_expectation(both: Both) -> None:
    with pytest.raises(ValueRefused) as refused:
        await both.service.change([Put(("trusted_workspaces",), ["/a", "b"])], both.service.current().revision)
    assert refused.value.field == "trusted_workspaces[1]"
    assert "absolute path" in refused.value.message()


async def test_a_change_of_hot_settings_by_others_is_in_force(both: Both) -> None:
    """M9.6: a valid change of hot fields applies at once."""
    both.write(TEXT.replace(b"manual", b"all"))
    state = await both.until(lambda state: state.hot.trust_mode == "all")
    assert (state.fault, state.after_restart) == (None, ())
    with pytest.raises(SettingsConflict):
        await both.service.change([Put(("trust_mode",), "manual")], both.seen[0].revision + "x")


async def test_an_operator_only_change_is_reported_as_after_restart(both: Both) -> None:
    """M9.6"""
    both.write(TEXT.replace(b"12", b"13").replace(b"# the shop", b"serve.port = 1"))
    await both.until(lambda state: state.fault is not None)
    both.write(b'language = "zh"\n[limits]\nconnections = 13\nturn_page = 9\n[serve]\nport = 1\n')
    state = await both.until(lambda state: state.after_restart)
    assert set(state.after_restart) == {"language", "limits.connections", "limits.turn_page", "serve.port"}
    both.write(TEXT)
    assert (await both.until(lambda state: not state.after_restart)).fault is None


async def test_a_broken_save_keeps_the_last_good_settings_and_says_where(
    both: Both, caplog: pytest.LogCaptureFixture
) -> None:
    """M9.6: SETTINGS_INVALID with file, line, field and remedy; never the value."""
    caplog.set_level(logging.INFO)
    both.write(TEXT.replace(b'"manual"', b'"hunter2"'))
    state = await both.until(lambda state: state.fault is not None)
    fault = state.fault
    assert fault is not None
    assert (fault.line, fault.field, fault.error.code) == (2, "trust_mode", "SETTINGS_INVALID")
    for part in (fault.file, "line 2", "`trust_mode`", "one of manual, all"):
        assert part in fault.error.message()
    assert "第 2 行" in fault.error.message("zh_Hans")
    assert fault.error.remedy()
    assert state.hot.trust_mode == "manual"
    assert [record.levelname for record in caplog.records if "SETTINGS_INVALID" in record.message] == ["WARNING"]
    assert "hunter2" not in caplog.text + fault.error.message() + repr(both.seen)
    with pytest.raises(HostError):
        await both.service.change([Put(("trust_mode",), "all")], state.revision)
    both.write(TEXT.replace(b"manual", b"all"))
    assert (await both.until(lambda state: state.fault is None)).hot.trust_mode == "all"


async def test_a_broken_file_is_not_edited(both: Both) -> None:
    both.write(TEXT + b"= broken\n")
    await both.until(lambda state: state.fault is not None)
    with pytest.raises((SettingsInvalid, SettingsConflict)):
        await both.service.change([Put(("trust_mode",), "all")], both.service.current().revision)
    assert both.read() == TEXT + b"= broken\n"


async def test_a_file_that_is_removed_means_the_defaults(both: Both) -> None:
    both.write(None)
    state = await both.until(lambda state: not state.hot.workspace_allowances)
    assert state.revision == "none"
    state = await both.service.change([Put(("trust_mode",), "all")], "none")
    assert both.read() == b'trust_mode = "all"\n'


async def test_who_ended_a_subscription_is_told_nothing_more(both: Both) -> None:
    seen: list[SettingsState] = []
    end = both.service.subscribe(seen.append)
    end()
    end()
    await both.service.change([Put(("trust_mode",), "all")], both.service.current().revision)
    assert seen == []
    assert len(both.seen) == 1


async def test_nothing_but_a_comment_changed_tells_the_new_revision_only(both: Both) -> None:
    before = both.service.current()
    both.write(TEXT + b"# one more\n")
    state = await both.until(lambda state: state.revision != before.revision)
    assert state.hot == before.hot


# -- what only a file can do ---------------------------------------------------------------------------------------


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    path = tmp_path / "config" / "config.toml"
    path.parent.mkdir()
    path.write_bytes(TEXT)
    return path


async def test_every_way_in_which_editors_save_is_seen(path: Path) -> None:
    """In place, by rename, with a backup, in two steps, and through a link to a folder of dotfiles."""
    service = FileSettings(path, LocalWatches())
    async with service.watching():
        both = Both(service, path.read_bytes, path.write_bytes)
        path.write_bytes(b'trusted_workspaces = ["/1"]\n')
        await both.until(lambda state: state.hot.trusted_workspaces == ("/1",))
        new = path.with_name("config.toml.new")
        new.write_bytes(b'trusted_workspaces = ["/2"]\n')
        new.replace(path)
        await both.until(lambda state: state.hot.trusted_workspaces == ("/2",))
        path.rename(path.with_name("config.toml~"))
        path.write_bytes(b'trusted_workspaces = ["/3"]\n')
        await both.until(lambda state: state.hot.trusted_workspaces == ("/3",))
        with path.open("wb") as file:
            file.flush()
            file.write(b'trusted_workspaces = ["/4"]\n')
        await both.until(lambda state: state.hot.trusted_workspaces == ("/4",))
        dotfiles = path.parent.parent / "dotfiles"
        dotfiles.mkdir()
        (dotfiles / "mine.toml").write_bytes(b'trusted_workspaces = ["/5"]\n')
        path.unlink()
        path.symlink_to(dotfiles / "mine.toml")
        await both.until(lambda state: state.hot.trusted_workspaces == ("/5",))
        (dotfiles / "mine.toml").write_bytes(b'trusted_workspaces = ["/6"]\n')
        await both.until(lambda state: state.hot.trusted_workspaces == ("/6",))
        state = await service.change([Put(("trusted_workspaces", 0), "/7")], service.current().revision)
        assert path.is_symlink()
        assert (dotfiles / "mine.toml").read_bytes() == b'trusted_workspaces = ["/7"]\n'
        assert state.hot.trusted_workspaces == ("/7",)
    assert all(known.hot.trusted_workspaces for known in both.seen), "never the defaults in between"


async def test_what_changed_before_the_watch_began_is_taken_over(path: Path) -> None:
    service = FileSettings(path, LocalWatches())
    path.write_bytes(TEXT.replace(b"manual", b"all"))
    assert service.current().hot.trust_mode == "manual"
    async with service.watching():
        assert service.current().hot.trust_mode == "all"


async def test_a_host_starts_without_a_file_and_sees_it_come(tmp_path: Path) -> None:
    path = tmp_path / "not" / "yet" / "config.toml"
    service = FileSettings(path, LocalWatches())
    async with service.watching():
        both = Both(service, path.read_bytes, path.write_bytes)
        path.write_bytes(b'trust_mode = "all"\n')
        await both.until(lambda state: state.hot.trust_mode == "all")
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_changed_secrets_hold_after_a_restart_and_are_told_by_name_alone(path: Path) -> None:
    secrets = path.with_name("secrets.toml")
    service = FileSettings(path, LocalWatches(), secrets=secrets)
    async with service.watching():
        both = Both(service, path.read_bytes, path.write_bytes)
        secrets.write_text("[input_values]\nkey = 'hunter2'\n", encoding="utf-8")
        state = await both.until(lambda state: state.after_restart)
        assert state.after_restart == ("input_values",)
        assert "hunter2" not in repr(state)
        secrets.unlink()
        await both.until(lambda state: not state.after_restart)


async def test_a_start_with_a_broken_file_fails_as_it_always_did(path: Path) -> None:
    path.write_bytes(b"= broken")
    with pytest.raises(SettingsInvalid) as refused:
        FileSettings(path, LocalWatches())
    assert refused.value.code == "CONFIG_INVALID"


async def test_writers_in_two_hosts_on_one_file_do_not_lose_a_change(path: Path) -> None:
    """Both name the revision they saw; who was late tries again on what the other wrote."""
    hosts = [FileSettings(path, LocalWatches()) for _ in range(2)]

    async def add(service: FileSettings, workspace: str) -> int:
        tries, revision = 0, service.current().revision
        while True:
            tries += 1
            try:
                await service.change([Insert(("trusted_workspaces", 99), workspace)], revision)
                return tries
            except SettingsConflict as conflict:
                revision = conflict.current

    async with asyncio.timeout(SECONDS):
        tries = await asyncio.gather(*(add(hosts[n % 2], f"/w/{n}") for n in range(8)))
    assert set(FileSettings(path, LocalWatches()).current().hot.trusted_workspaces) == {f"/w/{n}" for n in range(8)}
    assert max(tries) > 1


async def test_a_form_that_cannot_be_kept_is_refused_in_words(path: Path) -> None:
    path.write_bytes(b'presets = [{ id = "a", fields.url = "u", fields.env = "e" }]\n')
    service = FileSettings(path, LocalWatches())
    with pytest.raises(EditUnsafe) as refused:
        await service.change([Put(("presets", 0, "fields", "args"), "a")], service.current().revision)
    assert "line 1" in refused.value.message()


async def test_a_file_that_may_not_be_written_is_refused_with_its_path(path: Path) -> None:
    service = FileSettings(path, LocalWatches())
    revision = service.current().revision
    path.unlink()
    path.symlink_to("/dev/zero")
    with pytest.raises(EditUnwritable) as refused:
        await service.change([Put(("trust_mode",), "all")], revision)
    assert str(path) in refused.value.message()
    assert service.current().hot.trust_mode == "manual"


async def test_a_file_that_becomes_unreadable_is_a_fault(path: Path) -> None:
    service = FileSettings(path, LocalWatches())
    async with service.watching():
        both = Both(service, path.read_bytes, path.write_bytes)
        path.unlink()
        path.mkdir()
        state = await both.until(lambda state: state.fault is not None)
        assert "cannot be read" in str(state.fault and state.fault.error)
        assert state.hot.trust_mode == "manual"
