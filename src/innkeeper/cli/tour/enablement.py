"""The recipe that shows enablement at work: boot, switch off, ask a new session (docs/reference/enablement.md).

The proof is the tool list that reaches the agent, never its words about itself. In each step another server's tool is
there, because without this control a missing tool proves nothing.
"""

from typing import Any

from innkeeper.cli.tour.guest import EXAMPLE, STEP_SECONDS, Company, Guest, visit, words_of
from innkeeper.cli.tour.stage import StepFailed
from innkeeper.cli.tour.steps import Step, end, expect, open_session, start
from innkeeper.cli.words import text
from innkeeper.client import Rejected
from innkeeper.client.enablement import set_enabled

CONTROL = "other"


async def control(company: Company) -> str:
    """Both servers are connected, and the agent has the tools of both."""
    for name in (EXAMPLE, CONTROL):
        await company.guest.ask("connect", server=name)
    offered = await _tools(company.guest)
    expect(_has(offered, EXAMPLE) and _has(offered, CONTROL), "cli.tour.enablement.noControl")
    return text("cli.tour.enablement.control", n=len(offered))


async def switch_off(company: Company) -> str:
    guest = company.guest
    outcome = await set_enabled(guest.session, guest.server()["id"], "global", False)
    if isinstance(outcome, Rejected):
        raise StepFailed(outcome.reason)
    answer = await _why(guest)
    step = next(step for step in answer["items"][0]["scopes"] if step["scope"] == "global")
    expect(step.get("stored") is False, "cli.tour.noDecision")
    expect(await company.stage.servers_gone(EXAMPLE), "cli.tour.stillRuns")
    return text("cli.tour.enablement.off", key=step["key"])


async def ask_new_session(company: Company) -> str:
    """A session that was never told of the decision: its first request has no such tool, and the server is not started,
    not even by hand."""
    client = await company.doors.enter_async_context(visit(company.stage, "new"))
    uri = await client.create_session(provider="console", working_directories=[company.stage.project.as_uri()])
    company.second = guest = await Guest.join(client, uri)
    await guest.session.wait_for(lambda state: state.get("customizations"), STEP_SECONDS)
    await guest.ask("connect", server=CONTROL)
    listed = await guest.ask("connect", server=EXAMPLE)
    row = next(row for row in listed["items"] if row["name"] == EXAMPLE)
    expect(row["status"] == "disabled", "cli.tour.notConnected", name=EXAMPLE, status=row["status"])
    offered = await _tools(guest)
    expect(_has(offered, CONTROL), "cli.tour.enablement.noControl")
    expect(not _has(offered, EXAMPLE), "cli.tour.stillOffered")
    expect(not company.stage.server_processes(EXAMPLE), "cli.tour.startedUnasked", name=EXAMPLE, state="?")
    return text("cli.tour.enablement.new", offered=", ".join(offered))


async def ask_old_session(company: Company) -> str:
    offered = await _tools(company.guest)
    expect(_has(offered, CONTROL), "cli.tour.enablement.noControl")
    expect(not _has(offered, EXAMPLE), "cli.tour.stillOffered")
    return text("cli.tour.enablement.old")


async def switch_on(company: Company) -> str:
    """The decision is given up: the new session has the tool again, so nothing else kept it away."""
    guest = company.second
    assert guest is not None
    await set_enabled(guest.session, guest.server()["id"], "global", None)
    await guest.ask("connect", server=EXAMPLE)
    offered = await _tools(guest)
    expect(_has(offered, EXAMPLE), "cli.tour.enablement.notBack")
    return text("cli.tour.enablement.on")


ENABLEMENT_STEPS = (
    Step("start", start),
    Step("open", open_session),
    Step("enablementControl", control),
    Step("enablementOff", switch_off),
    Step("enablementNew", ask_new_session),
    Step("enablementOld", ask_old_session),
    Step("enablementOn", switch_on),
    Step("end", end),
)


async def _tools(guest: Guest) -> list[str]:
    """The tool list of a request that is made now, by its exposure record, which the agent's own list must equal."""
    listed = words_of(await guest.say("/tools"))
    exposures = [record for record in (await _why(guest))["history"] if record.get("kind") == "exposure"]
    expect(bool(exposures), "cli.tour.enablement.noRecord")
    offered = [str(tool) for tool in exposures[-1]["offered"]]
    for name in (EXAMPLE, CONTROL):
        expect(_has(offered, name) == (f"{name}:" in listed.splitlines()), "cli.tour.enablement.differs", name=name)
    return offered


async def _why(guest: Guest) -> Any:
    params = {"channel": guest.session.uri, "name": EXAMPLE, "history": True}
    return await guest.client.request("x-innkeeper/customizations/why", params, STEP_SECONDS)


def _has(offered: list[str], server: str) -> bool:
    return any(tool.startswith(f"mcp__{server}__") for tool in offered)
