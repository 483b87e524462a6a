"""`config.toml` becomes one value, or an error that says where (M9.6)."""

import os
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from innkeeper.editing.toml.places import line_of
from innkeeper.errors import HostError
from innkeeper.limits import LIMITS
from innkeeper.settings.config import FIELDS, HOT, SERVE_FIELDS, Allowance, Settings, parse_settings, read_settings
from innkeeper.settings.problems import SettingsInvalid
from innkeeper.settings.schema import all_settings, shown

PATH = Path("/etc/innkeeper/config.toml")
DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"


def problem(text: str) -> SettingsInvalid:
    with pytest.raises(SettingsInvalid) as caught:
        parse_settings(text, PATH)
    return caught.value


def test_nothing_said_means_the_defaults(tmp_path: Path) -> None:
    """M9.6 names them"""
    settings = read_settings(tmp_path / "config.toml")
    assert settings == parse_settings("", PATH) == Settings()
    assert settings.enabled_builtins == ("root", "vscode", "codex", "cursor", "gemini")
    assert (settings.trust_mode, settings.conflict_policy, settings.gate_timeout) == ("manual", "error", 600)
    assert (settings.questions, settings.gate_child_agents, settings.access) == (True, False, None)


def test_every_field_is_read(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(
        b"""\xef\xbb\xbf# with a byte order mark
enabled_builtins = ["codex", "root"]
trust_mode = "all"
trusted_workspaces = ["/work/a", "~/b"]
conflict_policy = "first-wins"
language = "zh"
access = "full"
gate_timeout = 90
gate_child_agents = true
questions = false
durability = "full"

[limits]
connections = 12
handshake_seconds = 2.5

[serve]
port = 0
token_file = "~/.token"
log = "debug:/tmp/x.log"

[[workspace_allowances]]
workspace = "/work/a"
allow_mcp = ["files"]

[[workspace_allowances]]
workspace = "/work/b"
allow_tools = ["files.read"]
"""
    )
    settings = read_settings(path)
    home = os.path.expanduser("~")
    assert settings.enabled_builtins == ("codex", "root"), "in the order given: M1.3"
    assert settings.trusted_workspaces == ("/work/a", f"{home}/b")
    assert settings.workspace_allowances == (
        Allowance("/work/a", allow_mcp=("files",)),
        Allowance("/work/b", allow_tools=("files.read",)),
    )
    assert settings.limits["connections"] == 12
    assert settings.limits["handshake_seconds"] == 2.5
    assert settings.limits["outbox_bytes"] == 8 * 1024 * 1024
    assert settings.serve == {"port": 0, "token_file": Path(home) / ".token", "log": "debug:/tmp/x.log"}
    assert (settings.trust_mode, settings.conflict_policy) == ("all", "first-wins")
    assert (settings.language, settings.access, settings.durability) == ("zh", "full", "full")
    assert (settings.gate_timeout, settings.gate_child_agents, settings.questions) == (90.0, True, False)


@pytest.mark.parametrize(
    ("text", "line", "field", "says"),
    [
        ('\n\ntrust_mod = "all"\n', 3, "trust_mod", "did you mean `trust_mode`?"),
        ("zzz = 1\n", 1, "zzz", "no such setting"),
        ('trust_mode = "some"\n', 1, "trust_mode", "one of manual, all"),
        ("trust_mode = 1\n", 1, "trust_mode", "one of manual, all"),
        ('questions = "yes"\n', 1, "questions", "true or false"),
        ("# c\n[limits]\n\nconnections = 0\n", 4, "limits.connections", "whole number above 0"),
        ("[limits]\nconnections = true\n", 2, "limits.connections", "whole number above 0"),
        ("[limits]\nconnections = 1.5\n", 2, "limits.connections", "whole number above 0"),
        ("[limits]\nconections = 1\n", 2, "limits.conections", "did you mean `connections`?"),
        ("limits.connections = -1\n", 1, "limits.connections", "whole number above 0"),
        ("gate_timeout = inf\n", 1, "gate_timeout", "seconds"),
        ("gate_timeout = nan\n", 1, "gate_timeout", "seconds"),
        ("gate_timeout = 0\n", 1, "gate_timeout", "seconds"),
        ('trusted_workspaces = "/a"\n', 1, "trusted_workspaces", "list of absolute paths"),
        ('trusted_workspaces = [\n "/a",\n "b"]\n', 3, "trusted_workspaces[1]", "absolute path"),
        ('enabled_builtins = ["root", "emacs"]\n', 1, "enabled_builtins", "root, vscode"),
        ("limits = 3\n", 1, "limits", "a table"),
        ("workspace_allowances = {}\n", 1, "workspace_allowances", "list of tables"),
        (
            '[[workspace_allowances]]\nworkspace = "/a"\n[[workspace_allowances]]\nworkspace = "/b"\nallow_mcp = "x"\n',
            5, "workspace_allowances[1].allow_mcp", "list of texts",
        ),
        ('[[workspace_allowances]]\nallow_mcp = ["x"]\n', 1, "workspace_allowances[0].workspace", "absolute path"),
        ('[serve]\nport = 65536\n', 2, "serve.port", "0 to 65535"),
        ('[serve]\nlog = "loud"\n', 2, "serve.log", "a level (debug"),
        ('[serve]\ntoken = "hunter2-hunter2"\n', 2, "serve.token", "token_file"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_line_and_field(text: str, line: int, field: str, says: str) -> None:
    error = problem(text)
    assert (error.code, error.line, error.field) == ("CONFIG_INVALID", line, field)
    for part in (str(PATH), f"line {line},", f"`{field}`", says):
        assert part in error.message()
    assert error.remedy()
    assert "hunter2" not in f"{error} {error.message('zh_Hans')}"
    assert f"第 {line} 行" in error.message("zh_Hans")


@pytest.mark.parametrize(("text", "line"), [("a = 1\nb = [1,\nc=2", 3), ("x =\n\n", 1), ("[a]\nx=1\n[a]\n", 3)])
def test_a_syntax_error_is_told_with_its_line(text: str, line: int) -> None:
    error = problem(text)
    assert error.line == line
    assert "not valid TOML" in error.message()


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"# ok\n# caf\xe9\n")
    with pytest.raises(SettingsInvalid) as caught:
        read_settings(tmp_path / "latin")
    assert (caught.value.line, caught.value.problem.kind) == (2, "encoding")
    with pytest.raises(SettingsInvalid) as caught:
        read_settings(tmp_path)
    assert caught.value.problem.kind == "unreadable"
    with pytest.raises(HostError):
        parse_settings("x = " + "[" * 20_000, PATH)


def test_settings_cannot_be_changed() -> None:
    settings: Any = parse_settings("[serve]\nport = 1\n", PATH)
    with pytest.raises(AttributeError):
        settings.trust_mode = "all"
    with pytest.raises(TypeError):
        settings.limits["connections"] = 1
    with pytest.raises(TypeError):
        settings.serve["port"] = 2


def test_the_reference_page_names_every_field_and_whether_it_is_hot() -> None:
    """Documentation is checked (style anchors, example 8)."""
    page = DOCUMENT.read_text(encoding="utf-8")
    hot, _, cold = page.partition("## Settings of the operator")
    assert set(FIELDS) == {entry.name for entry in fields(Settings)}
    for name in FIELDS:
        if name not in ("serve", "limits"):
            assert f"\n| `{name}` |" in (hot if name in HOT else cold)
            assert f"\n| `{name}` |" not in (cold if name in HOT else hot)
    assert all(f"\n| `serve.{name}` |" in cold for name in SERVE_FIELDS)
    assert "limits.md" in page
    assert all(limit.name.lower() in Settings().limits for limit in LIMITS)


def test_every_setting_has_a_type_a_meaning_and_a_default_that_it_takes() -> None:
    for setting in all_settings():
        for lang in ("en", "zh_Hans"):
            assert setting.type(lang), setting.name
            assert setting.meaning(lang) or setting.name.startswith("limits."), setting.name
        if setting.default is not None and setting.name != "limits":
            text = f"{setting.name} = {shown(setting.default)}"
            assert parse_settings(text, PATH) == (Settings() if "serve." not in text else parse_settings(text, PATH))


def test_the_example_of_the_reference_page_is_valid() -> None:
    page = DOCUMENT.read_text(encoding="utf-8")
    example = page.partition("```toml\n")[2].partition("```")[0]
    assert parse_settings(example, PATH).trusted_workspaces == ("/home/me/shop",)
    servers = page.partition("## Servers of the whole host")[2].partition("```toml\n")[2].partition("```")[0]
    assert list(parse_settings(servers, PATH).host_servers) == ["search", "wiki"]


@pytest.mark.parametrize(
    ("path", "line"),
    [(("a",), 1), (("b", "c"), 3), (("b", "d", "e"), 4), (("t", 1, "x"), 8), (("t", 0, "y"), 5), (("zz",), None)],
)
def test_lines_are_found_by_path(path: tuple[str | int, ...], line: int | None) -> None:
    text = 'a = 1\n[b]\nc = 2\n"d".e = 3\n[[t]]\nx = 1\n[[t]]\nx = 2\n'
    assert line_of(text, path) == line


def test_agents_are_chosen_one_by_one() -> None:
    """Issue 6 §5"""
    agents = parse_settings('[agents.claude]\nshare_login = true\nprogram = "/opt/claude"\n', PATH).agents
    assert agents["claude"].share_login and agents["claude"].enabled
    assert str(agents["claude"].program) == "/opt/claude"
    with pytest.raises(SettingsInvalid, match=r"agents\.claude\.shared"):
        parse_settings("[agents.claude]\nshared = true\n", PATH)
