import pytest

from innkeeper.host.config import complete_values, host_properties, problem, whole_schema
from innkeeper.protocol.check import check
from innkeeper.protocol.errors import RpcError
from innkeeper.protocol.session.state import SessionConfigSchema
from innkeeper.protocol.uris import local_path


def test_the_hosts_properties_cannot_be_redefined_by_an_agent():
    schema = whole_schema(
        {"type": "object", "properties": {"mode": {"type": "number", "title": "M"}}, "required": ["mode"]}
    )
    assert schema["properties"]["mode"] == host_properties()["mode"] and "required" not in schema
    check(SessionConfigSchema, schema)


@pytest.mark.parametrize(
    ("schema", "value", "path"),
    [
        ({"type": "string"}, 1, "p takes a string"),
        ({"type": "number"}, True, "p takes a number"),
        ({"type": "boolean"}, 1, "p takes a boolean"),
        ({"type": "string", "enum": ["a"]}, "b", "p takes one of a"),
        ({"type": "array", "minItems": 1}, [], "p takes at least 1 items"),
        ({"type": "array", "maxItems": 1}, [1, 2], "p takes at most 1 items"),
        ({"type": "array", "items": {"type": "string"}}, ["a", 1], "p[1] takes a string"),
        ({"type": "object", "required": ["x"]}, {}, "p.x is missing"),
        ({"type": "object", "properties": {"x": {"type": "string"}}}, {"x": 1}, "p.x takes a string"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, {"y": 1}, "p.y takes a string"),
    ],
)
def test_a_value_that_does_not_fit_is_named_by_its_path(schema, value, path):
    assert problem("p", schema, value) == path


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "number"}, 1.5),
        ({"type": "string", "enum": ["a"], "enumDynamic": True}, "b"),
        ({"type": "array", "items": {"type": "string"}}, []),
        ({"type": "object"}, {"x": 1}),
        ({}, object()),
    ],
)
def test_a_value_that_fits_is_no_problem(schema, value):
    assert problem("p", schema, value) is None


def test_values_are_complete_known_and_checked():
    """AHP §4: defaults filled in."""
    schema = whole_schema({"properties": {"depth": {"type": "number", "title": "Depth"}}})
    values = complete_values(schema, {"mode": "plan", "depth": 3, "isolation": "folder", "autoApprove": None})
    assert values == {
        "autoApprove": "default",
        "permissions": {"allow": [], "deny": []},
        "mode": "plan",
        "depth": 3,
    }
    with pytest.raises(RpcError, match=r"config\.permissions\.deny\[0\]"):
        complete_values(schema, {"permissions": {"deny": [{}]}})


def test_an_old_auto_approve_of_autopilot_becomes_the_mode():
    """§5.6."""
    schema = whole_schema({})
    values = complete_values(schema, {"autoApprove": "autopilot"})
    assert (values["autoApprove"], values["mode"]) == ("default", "autopilot")
    assert complete_values(schema, {"autoApprove": "autopilot", "mode": "plan"})["mode"] == "plan"


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///a%20b", "/a b"),
        ("file://localhost/a", "/a"),
        ("file://elsewhere/a", None),
        ("vscode-remote://x/a", None),
    ],
)
def test_only_files_of_this_machine_have_a_path(uri, path):
    assert local_path(uri) == path
