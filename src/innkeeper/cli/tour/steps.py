"""The steps, as data: each shows one thing and gives the sentence that says what was seen, or raises StepFailed."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from innkeeper.cli.tour.guest import CALL, EXAMPLE, STEP_SECONDS, Company, Guest, calls_of, visit, words_of
from innkeeper.cli.tour.stage import SERVERS, StepFailed
from innkeeper.cli.words import text
from innkeeper.client import Rejected
from innkeeper.client.enablement import set_enabled

DECISION = {"kind": "workspace", "enabled": False}


@dataclass(frozen=True, slots=True)
class Step:
    """`id` names the step under --json and its title in the catalogue (`cli.tour.step.<id>`)."""

    id: str
    show: Callable[[Company], Awaitable[str]]


async def start(company: Company) -> str:
    company.stage.build()
    port = await company.stage.start_host()
    return text("cli.tour.start", port=port)


async def open_session(company: Company) -> str:
    client = await company.doors.enter_async_context(visit(company.stage, "first"))
    uri = await client.create_session(provider="console", working_directories=[company.stage.project.as_uri()])
    company.first, company.session_uri = await Guest.join(client, uri), uri
    return text("cli.tour.open", session=uri)


async def not_unasked(company: Company) -> str:
    """A whole turn has passed, so that whatever starts for a turn would have started."""
    turn = await company.guest.say("hello")
    expect(turn["state"] == "complete" and "hello" in words_of(turn), "cli.tour.noEcho")
    for name in SERVERS:
        state = company.guest.server(name)["state"]["kind"]
        expect(state == "stopped", "cli.tour.startedUnasked", name=name, state=state)
    expect(not company.stage.server_processes(), "cli.tour.startedUnasked", name="?", state="?")
    return text("cli.tour.notUnasked", names=", ".join(SERVERS))


async def connect_servers(company: Company) -> str:
    for name in SERVERS:
        listed = await company.guest.ask("connect", server=name)
        row = next(row for row in listed["items"] if row["name"] == name)
        expect(row["status"] == "connected", "cli.tour.notConnected", name=name, status=row["status"])
    company.running = company.stage.server_processes()
    expect(len(company.running) == len(SERVERS), "cli.tour.noProcess")
    return text("cli.tour.connect", pids=", ".join(map(str, company.running)))


async def second_client(company: Company) -> str:
    client = await company.doors.enter_async_context(visit(company.stage, "second"))
    company.second = await Guest.join(client, company.session_uri)
    return text("cli.tour.second", id=client.client_id)


async def deny(company: Company) -> str:
    turn = await company.guest.say(CALL, decide="deny")
    (call,) = calls_of(turn)
    expect(
        call["status"] == "cancelled" and call.get("reason") == "denied", "cli.tour.notDenied", status=call["status"]
    )
    expect(turn["state"] == "complete", "cli.tour.turnEnded", state=turn["state"])
    return text("cli.tour.deny")


async def allow(company: Company) -> str:
    turn = await company.guest.say(CALL, decide="approve")
    (call,) = calls_of(turn)
    expect(call["status"] == "completed" and bool(call.get("success")), "cli.tour.notAllowed", status=call["status"])
    expect("5" in words_of(turn), "cli.tour.wrongResult", result=words_of(turn))
    return text("cli.tour.allow", label=(call.get("selectedOption") or {}).get("label", "?"))


async def same_transcript(company: Company) -> str:
    first, second = company.guest, company.second
    assert second is not None
    await second.chat.wait_for(lambda chat: chat == first.chat.confirmed, STEP_SECONDS)
    return text("cli.tour.same", n=len(first.chat.confirmed["turns"]))


async def disable(company: Company) -> str:
    guest = company.guest
    outcome = await set_enabled(guest.session, guest.server()["id"], "workspace", False)
    if isinstance(outcome, Rejected):
        raise StepFailed(outcome.reason)
    await guest.session.wait_for(lambda _: guest.server()["state"]["kind"] == "stopped", STEP_SECONDS)
    expect(_decided(guest.server()), "cli.tour.noDecision")
    expect(await company.stage.servers_gone(EXAMPLE), "cli.tour.stillRuns")
    return text("cli.tour.disable", directory=company.stage.project)


async def tool_gone(company: Company) -> str:
    await _without_tool(company.guest)
    return text("cli.tour.gone")


async def kill(company: Company) -> str:
    company.before = company.guest.chat.confirmed
    expect(len(company.stage.server_processes()) == len(SERVERS) - 1, "cli.tour.noProcess")
    await company.stage.kill_host()
    await company.leave()
    expect(await company.stage.servers_gone(), "cli.tour.outlived")
    return text("cli.tour.kill")


async def restart(company: Company) -> str:
    port = await company.stage.start_host()
    client = await company.doors.enter_async_context(visit(company.stage, "later"))
    company.first = await Guest.join(client, company.session_uri)
    now = company.guest.chat.confirmed
    expect(now["turns"] == company.before["turns"], "cli.tour.lost")
    expect(_decided(company.guest.server()), "cli.tour.noDecision")
    await _without_tool(company.guest)
    return text("cli.tour.restart", port=port, n=len(company.before["turns"]))


async def end(company: Company) -> str:
    await company.leave()
    code = await company.stage.end_host()
    expect(code == 0, "cli.tour.endCode", code=code)
    expect(not company.stage.server_processes(), "cli.tour.outlived")
    return text("cli.tour.end")


STEPS = (
    Step("start", start),
    Step("open", open_session),
    Step("notUnasked", not_unasked),
    Step("connect", connect_servers),
    Step("secondClient", second_client),
    Step("deny", deny),
    Step("allow", allow),
    Step("sameTranscript", same_transcript),
    Step("disable", disable),
    Step("toolGone", tool_gone),
    Step("kill", kill),
    Step("restart", restart),
    Step("end", end),
)


async def _without_tool(guest: Guest) -> None:
    """The agent is not offered the tool, and calling it all the same asks nobody and fails."""
    listed = words_of(await guest.say("/tools"))
    expect("example" not in listed, "cli.tour.stillOffered")
    turn = await guest.say(CALL)
    ran = [call for call in calls_of(turn) if call["status"] == "completed" and call.get("success")]
    expect(not ran, "cli.tour.stillCallable")


def _decided(server: Mapping[str, Any]) -> bool:
    return any(DECISION.items() <= decision.items() for decision in server.get("enablement") or ())


def expect(seen: bool, otherwise: str, **values: object) -> None:
    """Raises StepFailed with that text unless it was seen."""
    if not seen:
        raise StepFailed(text(otherwise, **values))
