"""Hooks of files and inline definitions (C7.1)."""

import json

import pytest

from innkeeper.customizations.discovery.hooks import HookSource, HooksRead, read_hooks_file, with_tokens
from innkeeper.customizations.discovery.items import DiscoveredHook, HookCommand

HERE = HookSource("file:///h.json", "h:", tokens=(("PLUGIN_ROOT", "/p"),))
SETTINGS = HookSource("file:///s.json", flat=False)


def read(value: object, source: HookSource = HERE) -> HooksRead:
    return read_hooks_file(json.dumps(value, indent=1).encode(), source)


def run(**commands: str) -> HookCommand:
    return HookCommand(commands=commands)


def test_a_matcher_is_kept_and_names_the_hook() -> None:
    """C7.1."""
    found = read({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "x"}]}]}})

    assert found.problems == ()
    hook = found.hooks[0]
    assert (hook.name, hook.event, hook.matcher, hook.runs) == (
        "h:PreToolUse(Bash)",
        "PreToolUse",
        "Bash",
        (run(default="x"),),
    )


def test_entries_of_one_event_and_matcher_are_one_hook() -> None:
    entry = {"matcher": "A", "hooks": [{"command": "1"}, {"command": "2"}]}
    found = read({"hooks": {"Stop": [entry, {"matcher": "A", "command": "3"}, {"command": "4"}]}})

    assert [(hook.name, len(hook.runs)) for hook in found.hooks] == [("h:Stop(A)", 3), ("h:Stop", 1)]


@pytest.mark.parametrize(
    ("written", "event"),
    [
        ("preToolUse", "PreToolUse"),
        ("userPromptSubmitted", "UserPromptSubmit"),
        ("agentStop", "Stop"),
        ("ERROROCCURRED", "ErrorOccurred"),
        ("Notification", "Notification"),
    ],
)
def test_an_event_has_one_spelling_and_an_unknown_one_its_own(written: str, event: str) -> None:
    assert read({"hooks": {written: [{"command": "x"}]}}).hooks[0].event == event


def test_a_flat_file_has_its_events_at_the_top_and_other_keys_do_not_count() -> None:
    found = read({"version": 1, "sessionStart": [{"bash": "a", "powershell": "b", "timeoutSec": 5}]})

    assert found.hooks[0].runs == (HookCommand(commands={"default": "a", "windows": "b"}, timeout=5.0),)


def test_a_settings_file_has_its_hooks_below_hooks_only() -> None:
    assert read({"Stop": [{"command": "x"}], "permissions": {}}, SETTINGS) == HooksRead()
    assert len(read({"hooks": {"Stop": [{"command": "x"}]}, "permissions": {}}, SETTINGS).hooks) == 1


def test_disable_all_hooks_gives_none() -> None:
    assert read({"disableAllHooks": True, "hooks": {"Stop": [{"command": "x"}]}}) == HooksRead()


def test_commands_have_platforms_seconds_directory_and_variables() -> None:
    entry = {
        "command": "a",
        "linux": "b",
        "windows": "c",
        "osx": "d",
        "timeout": 2,
        "cwd": "~/x",
        "env": {"K": "v", "N": 1},
    }
    hook = read({"hooks": {"Stop": [entry]}}).hooks[0].runs[0]

    assert hook.commands == {"default": "a", "linux": "b", "windows": "c", "osx": "d"}
    assert (hook.timeout, hook.cwd, hook.env) == (2.0, "~/x", {"K": "v"})
    assert "v" not in repr(hook).replace("env", ""), "a value of the environment is never shown"


@pytest.mark.parametrize("timeout", [-1, 0, True, "5", 1e300, None])
def test_a_limit_that_is_no_number_of_seconds_is_left_out(timeout: object) -> None:
    assert read({"hooks": {"Stop": [{"command": "x", "timeout": timeout}]}}).hooks[0].runs[0].timeout is None


def test_root_tokens_are_replaced_in_what_is_run() -> None:
    entry = {"command": "${PLUGIN_ROOT}/x ${OTHER}", "cwd": "${PLUGIN_ROOT}", "env": {"A": "${PLUGIN_ROOT}"}}
    hook = read({"hooks": {"Stop": [entry]}}).hooks[0].runs[0]

    assert (hook.commands["default"], hook.cwd, hook.env) == ("/p/x ${OTHER}", "/p", {"A": "/p"})


def test_a_root_that_looks_like_a_token_is_not_replaced_again() -> None:
    assert with_tokens("${A}${B}", (("A", "${B}"), ("B", "b"))) == "${B}b"


def test_what_is_no_command_has_an_item_and_nothing_to_run() -> None:
    assert read({"hooks": {"Stop": [{"type": "prompt", "prompt": "x"}]}}).hooks[0].runs == ()


def test_the_line_of_an_event_is_known_when_the_text_has_it_once() -> None:
    hook = read({"hooks": {"Stop": [{"command": "x"}]}}).hooks[0]

    assert hook.range == {"start": {"line": 2, "character": 2}, "end": {"line": 2, "character": 8}}
    assert read({"a": {"Stop": 1}, "hooks": {"Stop": [{"command": "x"}]}}).hooks[0].range is None


@pytest.mark.parametrize(
    ("value", "fault"),
    [([], "it is not a JSON object"), ({"hooks": []}, "hooks is not an object"), ("x", "it is not a JSON object")],
)
def test_a_file_of_the_wrong_form_is_a_fault(value: object, fault: str) -> None:
    assert read(value) == HooksRead(fault=fault)


def test_a_file_that_is_no_json_is_a_fault() -> None:
    assert "not valid JSON" in (read_hooks_file(b"{", HERE).fault or "")
    assert read_hooks_file(b"\xef\xbb\xbf{}", HERE) == HooksRead()


def test_entries_of_the_wrong_form_are_told_once_and_the_others_stay() -> None:
    found = read({"hooks": {"Stop": [1, 2, {"command": "x"}], "PreCompact": {}}})

    assert found.problems == ("a hook is not an object", "an event's value is not a list")
    assert [hook.name for hook in found.hooks] == ["h:Stop"]
    assert all(isinstance(hook, DiscoveredHook) for hook in found.hooks)
