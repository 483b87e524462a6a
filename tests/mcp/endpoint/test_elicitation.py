"""What a server asks while it works goes to a person, or is refused by a rule (issue 3, item 7; AHP §9.8)."""

import asyncio
import json
from typing import Any

import pytest

from innkeeper.mcp.endpoint.elicitation import request_of, result_of
from innkeeper.ports.mcp import ElicitationRefused
from innkeeper.ports.questions import Caller
from innkeeper.providers.spi import InputAnswer

pytestmark = pytest.mark.anyio

S = "session:/s"


@pytest.fixture(params=["--legacy", "--log-nothing"])
def switches(request: pytest.FixtureRequest) -> list[str]:
    """Servers of both protocol generations."""
    return ["--legacy"] if request.param == "--legacy" else []


async def test_question_of_a_server_goes_to_the_person_whose_agent_calls(
    inn: Any, agent_of: Any, mode: str, switches: list[str]
) -> None:
    """Elicitation, AHP §9.8."""
    inn.with_elicitation()
    offer = await inn.talking(*switches)
    given = {"name": {"kind": "text", "value": "Ada"}, "age": {"kind": "number", "value": 3.0}}
    answers = {id: {"state": "submitted", "value": value} for id, value in given.items()}
    answers["color"] = {"state": "skipped"}
    async with agent_of(offer, mode) as agent:
        inn.answer = InputAnswer("accept", answers)  # type: ignore[arg-type]
        found = json.loads(await agent.text("ask"))
        assert found == {"action": "accept", "content": {"name": "Ada", "age": 3}}
        for response in ("decline", "cancel"):
            inn.answer = InputAnswer(response)  # type: ignore[arg-type]
            assert json.loads(await agent.text("ask"))["action"] == response
        inn.answer = InputAnswer("accept")
        assert json.loads(await agent.text("link"))["action"] == "accept"
    (caller, form), *_, (_, link) = inn.asked
    assert caller == Caller(S, "chat:/c", "t1", "call1")
    assert form["message"] == "talk: Who?"
    assert [(q["id"], q["kind"], q.get("required", False)) for q in form["questions"]] == [
        ("name", "text", True),
        ("age", "integer", False),
        ("color", "single-select", False),
    ]
    assert form["questions"][0]["max"] == 9
    assert form["questions"][2]["options"] == [{"id": "r", "label": "Red"}, {"id": "g", "label": "Green"}]
    assert (link["message"], link["url"], "questions" in link) == ("talk: Log in", "https://example.com/x", False)


async def test_where_nobody_can_be_asked_the_server_is_told_so_before(
    inn: Any, agent_of: Any, switches: list[str]
) -> None:
    async with agent_of(await inn.talking(*switches)) as agent:
        result = await agent.call("ask")
        assert inn.host.log("talk", "capability") == [{**inn.host.log("talk", "capability")[0], "elicitation": False}]
        assert result.is_error or "Elicitation not supported" in result.content[0].text
    assert inn.asked == []


async def test_question_without_an_addressee_is_refused(inn: Any, agent_of: Any) -> None:
    """While calls of two chats run nobody can say whose the question is (a first-generation server names no call)."""
    inn.with_elicitation()
    offer = await inn.talking("--legacy")
    async with agent_of(offer) as agent:
        holding = asyncio.create_task(agent.client.call_tool("hold", {}))
        await inn.host.until(lambda: bool(inn.host.log("talk", "call")))
        inn.callers[S, None] = Caller(S, "chat:/other", "t2", "call2")
        assert "only while calls of one chat" in await agent.text("ask")
        holding.cancel()
        await asyncio.wait([holding])
    assert inn.asked == []


def test_what_cannot_be_asked_faithfully_is_refused() -> None:
    nested = {"message": "x", "requestedSchema": {"properties": {"a": {"type": "object"}}}}
    with pytest.raises(ElicitationRefused, match="'object'"):
        request_of(nested, "s", "1")


def test_every_kind_of_property_has_its_question_and_its_value() -> None:
    properties = {
        "text": {"type": "string", "format": "email", "minLength": 1, "default": "a@b"},
        "number": {"type": "number", "minimum": 0.5, "maximum": 2, "description": "How much?"},
        "flag": {"type": "boolean", "default": False},
        "one": {"type": "string", "oneOf": [{"const": "a", "title": "A"}, {"const": "b"}]},
        "many": {"type": "array", "minItems": 1, "items": {"anyOf": [{"const": "a", "title": "A"}]}},
        "some": {"type": "array", "items": {"type": "string", "enum": ["x", "y"]}},
    }
    params = {"message": "m", "requestedSchema": {"properties": properties, "required": ["flag"]}}
    request = request_of(params, "s", "1")
    text, number, flag, one, many, some = request["questions"]
    assert text == {
        "id": "text",
        "title": "text",
        "message": "text",
        "min": 1,
        "kind": "text",
        "format": "email",
        "defaultValue": "a@b",
    }
    assert (number["kind"], number["min"], number["max"], number["message"]) == ("number", 0.5, 2, "How much?")
    assert flag == {
        "id": "flag",
        "title": "flag",
        "message": "flag",
        "required": True,
        "kind": "boolean",
        "defaultValue": False,
    }
    assert (one["kind"], [o["label"] for o in one["options"]]) == ("single-select", ["A", "b"])
    assert (many["kind"], many["min"], [o["id"] for o in some["options"]]) == ("multi-select", 1, ["x", "y"])
    values = {
        "text": {"kind": "text", "value": "t"},
        "number": {"kind": "number", "value": 1.5},
        "flag": {"kind": "boolean", "value": True},
        "one": {"kind": "selected", "value": "a"},
        "many": {"kind": "selected-many", "value": ["a"]},
    }
    answers: Any = {id: {"state": "draft", "value": value} for id, value in values.items()}
    assert result_of(InputAnswer("accept", answers), params) == {
        "action": "accept",
        "content": {"text": "t", "number": 1.5, "flag": True, "one": "a", "many": ["a"]},
    }
