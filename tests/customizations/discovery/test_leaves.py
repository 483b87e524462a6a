"""Agents, skills, prompts, rules out of one file (C7.1, C7.2)."""

from typing import cast

import pytest

from innkeeper.customizations.discovery.items import (
    DiscoveredAgent,
    DiscoveredPrompt,
    DiscoveredRule,
    DiscoveredSkill,
)
from innkeeper.customizations.discovery.leaves import LeafType, Subject, Syntax, read_leaf, split_list
from innkeeper.customizations.discovery.limits import NAME_CHARACTERS, TEXT_CHARACTERS

HERE = Subject("file:///x", "x")


def head(text: str) -> bytes:
    return f"---\n{text}\n---\nDo it.\n".encode()


def agent(text: str) -> DiscoveredAgent:
    return cast(DiscoveredAgent, read_leaf(head(text), "agent", "markdown", HERE))


def rule(text: str, always: bool | None = None) -> DiscoveredRule:
    return cast(DiscoveredRule, read_leaf(head(text), "rule", "markdown", Subject("file:///x", "x", always)))


def test_an_agent_has_all_its_fields() -> None:
    found = agent(
        "name: Reviewer\ndescription: Reads\nmodel: [opus, sonnet]\ntools: Read, Grep\n"
        "user-invocable: false\ndisable-model-invocation: true"
    )

    assert found == DiscoveredAgent(
        uri="file:///x",
        name="Reviewer",
        description="Reads",
        model="opus",
        tools=("Read", "Grep"),
        disable_model_invocation=True,
        disable_user_invocation=True,
    )


def test_what_an_agent_does_not_say_is_unknown_and_not_off() -> None:
    assert agent("description: d") == DiscoveredAgent(uri="file:///x", name="x", description="d")
    assert agent("tools: []").tools == ()


@pytest.mark.parametrize(
    ("text", "disabled"),
    [
        ("infer: false", True),
        ("infer: true", False),
        ("infer: true\ndisable-model-invocation: true", False),
        ("disable-model-invocation: true", True),
        ("disable-model-invocation: false", False),
    ],
)
def test_infer_is_the_inverted_older_form_and_wins(text: str, disabled: bool) -> None:
    assert agent(text).disable_model_invocation is disabled


def test_a_skill_has_its_flags() -> None:
    found = read_leaf(head("name: s\ndescription: d\nuser-invocable: no way"), "skill", "markdown", HERE)

    assert isinstance(found, DiscoveredSkill)
    assert (found.name, found.description, found.disable_user_invocation) == ("s", "d", None)
    assert found.load["kind"] == "degraded"


def test_a_prompt_takes_its_name_from_its_file_where_the_ecosystem_wants_it() -> None:
    found = read_leaf(head("name: other\ndescription: d"), "prompt", "markdown", Subject("u", "deploy", None, False))

    assert found == DiscoveredPrompt(uri="u", name="deploy", description="d")


@pytest.mark.parametrize(
    ("text", "globs"),
    [
        ("globs: '*.py'", ("*.py",)),
        ("globs: *.py,*.{ts,tsx}", ("*.py", "*.{ts,tsx}")),
        ("applyTo: '**'", ("**",)),
        ("paths:\n  - a/**\n  - b", ("a/**", "b")),
        ("globs:", None),
        ("description: x", None),
    ],
)
def test_a_rule_has_its_patterns_under_each_of_their_names(text: str, globs: tuple[str, ...] | None) -> None:
    assert rule(text).globs == globs


@pytest.mark.parametrize(
    ("text", "place", "always"),
    [
        ("alwaysApply: true", False, True),
        ("alwaysApply: false", True, False),
        ("description: x", True, True),
        ("description: x", False, False),
        ("description: x", None, None),
        ("paths: a", True, False),
        ("paths: a", None, None),
        ("alwaysApply: true\nglobs: a", True, True),
    ],
)
def test_a_rule_applies_always_as_it_says_else_as_its_place_says(
    text: str, place: bool | None, always: bool | None
) -> None:
    assert rule(text, place).always_apply is always


def test_a_file_without_front_matter_is_fine() -> None:
    assert read_leaf(b"Do it.", "prompt", "markdown", HERE) == DiscoveredPrompt(uri="file:///x", name="x")


@pytest.mark.parametrize("type", ["agent", "skill", "prompt", "rule"])
@pytest.mark.parametrize(
    ("data", "message"),
    [(b"\0\1", "it is binary"), (b"\xff\xfe", "it is not UTF-8"), (b"---\nname: \xe9\n---", "UTF-8")],
)
def test_what_is_no_text_is_listed_in_error(type: LeafType, data: bytes, message: str) -> None:
    found = read_leaf(data, type, "markdown", HERE)

    assert found.load["kind"] == "error"
    assert message in cast(dict[str, str], found.load)["message"]
    assert (found.type, found.name) == (type, "x")


def test_a_mark_at_the_beginning_is_not_part_of_the_text() -> None:
    assert read_leaf(b"\xef\xbb\xbf" + head("name: a"), "skill", "markdown", HERE).name == "a"


@pytest.mark.parametrize("name", ["a" * (NAME_CHARACTERS + 1), '"a\\nb"', "[a, b]"])
def test_a_name_that_cannot_be_shown_is_not_taken(name: str) -> None:
    found = agent(f"name: {name}")
    assert (found.name, found.load["kind"]) == ("x", "degraded")


def test_a_long_description_is_cut() -> None:
    assert agent(f"description: {'d' * 9_000}").description == "d" * TEXT_CHARACTERS


def test_too_many_tools_are_cut_and_told() -> None:
    found = agent(f"tools: {','.join(map(str, range(999)))}")
    assert (len(found.tools or ()), found.load["kind"]) == (256, "degraded")


def test_broken_front_matter_degrades_and_keeps_the_item() -> None:
    found = agent("name: a: b")
    assert (found.name, found.load["kind"]) == ("x", "degraded")


def toml(text: str, type: LeafType = "agent", syntax: Syntax = "toml") -> object:
    return read_leaf(text.encode(), type, syntax, HERE)


def test_an_agent_of_codex_is_toml() -> None:
    found = toml('name = "r"\ndescription = "d"\nmodel = "gpt"\ndeveloper_instructions = """\nx"""\n[mcp_servers.a]\n')
    assert found == DiscoveredAgent(uri="file:///x", name="r", description="d", model="gpt")


@pytest.mark.parametrize("text", ["a = ", "a = 1\na = 2", "[" * 9_999, "a = 99999999999999-01-01"])
def test_broken_toml_is_an_error(text: str) -> None:
    found = cast(DiscoveredAgent, toml(text))
    assert found.load == {"kind": "error", "message": "it is not valid TOML"}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", [""]),
        ("a,b", ["a", "b"]),
        ("*.{a,b},c", ["*.{a,b}", "c"]),
        ("Bash(a,b)", ["Bash(a,b)"]),
        ("},a", ["}", "a"]),
    ],
)
def test_commas_inside_of_braces_do_not_divide(text: str, parts: list[str]) -> None:
    assert list(split_list(text)) == parts
