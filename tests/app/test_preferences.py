"""The settings as trust, gate and loader get them, live (M5.8, M9.6)."""

from pathlib import Path

import pytest

from innkeeper.app.preferences import Preferences, check_presets
from innkeeper.settings.config import parse_settings
from innkeeper.settings.memory import MemorySettings
from innkeeper.settings.problems import Wrong

PATH = Path("config.toml")
TEXT = b"""access = "full"
gate_child_agents = true
enabled_builtins = ["cursor", "root"]
conflict_policy = "last-wins"
trusted_workspaces = ["/t"]

[[workspace_allowances]]
workspace = "/w"
allow_mcp = ["files"]
allow_tools = ["mcp__files__read"]

[[presets]]
id = "team"
extends = "root"
files = ["tools/mcp.json"]
"""


def test_every_setting_reaches_the_mcp_side() -> None:
    service = MemorySettings(TEXT)
    given = Preferences(service, service.started, {"key": "hunter2"}, {})()
    assert (given.trust_mode, given.conflict_policy, given.full_access) == ("manual", "last-wins", True)
    assert given.trusts("file:///t") and not given.trusts("file:///w")
    assert given.allows_server("file:///w", "files") and given.allows_tool("file:///w", "mcp__files__read")
    assert [preset.id for preset in given.presets] == ["cursor", "root", "team"]
    assert (given.gate_child_agents, dict(given.input_values)) == (True, {"key": "hunter2"})
    assert "hunter2" not in repr(given)


def test_a_change_of_hot_settings_is_there_at_the_next_call_and_cold_ones_stay() -> None:
    service = MemorySettings(TEXT)
    preferences = Preferences(service, service.started, {}, {})
    before = preferences()
    assert preferences() is before
    service.save(b'trust_mode = "all"\nenabled_builtins = []\n')
    assert (preferences().trust_mode, preferences().presets) == ("all", ())
    assert preferences().full_access is True, "operator-only settings are those of the start"
    service.save(b"= broken")
    assert preferences().trust_mode == "all"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('[[presets]]\nid = "a"\nextends = "nothing"\n', ("presets", 0, "extends")),
        ('[[presets]]\nid = "a"\nextends = "root"\n[[presets]]\nid = "a"\nextends = "root"\n', ("presets", 1, "id")),
        ('[[presets]]\nid = "a"\nextends = "root"\nfils = []\n', ("presets", 0, "fils")),
    ],
)
def test_a_preset_that_the_loader_refuses_is_refused_by_its_path(text: str, path: tuple[str | int, ...]) -> None:
    """M9.2: the same resolver."""
    with pytest.raises(Wrong) as refused:
        check_presets(parse_settings(text, PATH))
    assert refused.value.path == path
    assert refused.value.problem.describe("zh_Hans") != refused.value.problem.describe()
