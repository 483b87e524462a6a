"""`innkeeper agents`: the agents of a host, and signing in to one with a key or token (AHP §8, M9.4).

Rules
* Listing looks again, so that what was installed or signed in meanwhile is found.
* A key is read from the terminal without echo, or from standard input; never from the arguments, which other processes
  can see. It goes to the host's `authenticate` and nowhere else: what the host answers is shown without it.
* No connection is held while a person types.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from innkeeper.cli import exit_codes
from innkeeper.cli.options import host_options, json_option
from innkeeper.cli.words import text

if TYPE_CHECKING:
    from innkeeper.cli.reach import Wanted

State = Mapping[str, Any]
UNAVAILABLE: Final = "x-innkeeper/unavailable"
WANTS_KEY: Final = "AGENT_LOGIN_MISSING"
COLUMNS: Final = ("agent", "name", "state", "remedy", "models", "key")


@click.group(invoke_without_command=True, help=text("cli.agents.help"), epilog=text("cli.agents.epilog"))
@json_option
@host_options
@click.pass_context
def agents(context: click.Context, url: str | None, token: str | None, data_dir: Path | None, as_json: bool) -> None:
    """Its help is in the catalogue."""
    from innkeeper.cli.reach import Wanted

    if context.invoked_subcommand is None:
        _list(Wanted(url, token, data_dir), as_json)
        return
    given = {"url": url, "token": token, "data_dir": data_dir, "as_json": as_json or None}
    # What stands before the subcommand counts for it.
    context.default_map = {context.invoked_subcommand: {name: one for name, one in given.items() if one is not None}}


@agents.command("list", help=text("cli.agents.list.help"), epilog=text("cli.agents.list.epilog"))
@json_option
@host_options
def list_agents(url: str | None, token: str | None, data_dir: Path | None, as_json: bool) -> None:
    """Its help is in the catalogue."""
    from innkeeper.cli.reach import Wanted

    _list(Wanted(url, token, data_dir), as_json)


@agents.command("sign-in", help=text("cli.agents.signIn.help"), epilog=text("cli.agents.signIn.epilog"))
@click.argument("agent", metavar=text("cli.metavar.agent"))
@click.option("--resource", help=text("cli.agents.signIn.resource"))
@json_option
@host_options
def sign_in(
    url: str | None, token: str | None, data_dir: Path | None, agent: str, resource: str | None, as_json: bool
) -> int:
    """Its help is in the catalogue."""
    from innkeeper.cli.output import note, print_json
    from innkeeper.cli.reach import Wanted, run

    wanted = Wanted(url, token, data_dir)
    service = _service(_named(run(_looked(wanted)), agent), resource)
    now = run(_signed_in(wanted, agent, str(service["resource"]), _typed(_words_of(service))))
    missing = reason_of(now)
    if as_json:
        print_json({"agent": document(now), "resource": service["resource"]})
    elif missing is None:
        note(text("cli.agents.signedIn", agent=now["displayName"]))
    else:
        note(text("cli.agents.stillMissing", agent=now["displayName"], reason=missing["reason"]))
        note(str(missing["remedy"]))
    return exit_codes.OK if missing is None else exit_codes.FAILED


def reason_of(agent: State) -> State | None:
    """Why the agent cannot be had now: `code`, `reason`, `remedy`; None when it can."""
    found: State | None = (agent.get("_meta") or {}).get(UNAVAILABLE)
    return found


def document(agent: State) -> dict[str, Any]:
    """The agent for `--json`: AHP's `AgentInfo`, and why it cannot be had."""
    return {**agent, "unavailable": reason_of(agent)}


def _list(wanted: "Wanted", as_json: bool) -> None:
    from innkeeper.cli.output import note, print_json, print_pairs, print_table
    from innkeeper.cli.reach import run

    found = run(_looked(wanted))
    heads = [text(f"cli.agents.column.{name}") for name in COLUMNS]
    if as_json:
        print_json({"agents": [document(agent) for agent in found]})
    elif not found:
        note(text("cli.agents.none"))
    elif sys.stdout.isatty():
        # A remedy is a command that is copied: no column of a table breaks it.
        for agent in found:
            print_pairs((head, cell) for head, cell in zip(heads, _row(agent), strict=True) if cell)
            click.echo()
    else:
        print_table(heads, [_row(agent) for agent in found])


def _row(agent: State) -> Sequence[str]:
    """The cells of `COLUMNS`; models are those that policy does not rule out."""
    missing: State = reason_of(agent) or {"reason": text("cli.agents.ready"), "remedy": ""}
    models = [str(model["id"]) for model in agent["models"] if model.get("policyState") != "disabled"]
    services = [_words_of(service) for service in agent.get("protectedResources") or ()]
    name, state, remedy = str(agent["displayName"]), str(missing["reason"]), str(missing["remedy"])
    return (str(agent["provider"]), name, state, remedy, ", ".join(models), ", ".join(services))


def _words_of(service: State) -> str:
    name = service.get("resource_name")
    return f"{name} ({service['resource']})" if name else str(service["resource"])


def _named(found: Sequence[State], provider: str) -> State:
    """Raises HostError PROVIDER_UNKNOWN, which names those there are."""
    from innkeeper.errors import HostError

    agent = next((one for one in found if one["provider"] == provider), None)
    if agent is None:
        known = ", ".join(str(one["provider"]) for one in found)
        raise HostError("PROVIDER_UNKNOWN", provider=provider, known=known or "-")
    return agent


def _service(agent: State, resource: str | None) -> State:
    """What the key is for. Raises HostError AGENT_WITHOUT_KEY, CliError where no key would help, UsageProblem."""
    from innkeeper.cli.failures import CliError, UsageProblem
    from innkeeper.errors import HostError

    name, missing = agent["displayName"], reason_of(agent)
    services: Sequence[State] = agent.get("protectedResources") or ()
    if not services:
        raise HostError("AGENT_WITHOUT_KEY", agent=name)
    if missing is not None and missing["code"] != WANTS_KEY:
        reason = text("cli.agents.noHelp", agent=name, reason=missing["reason"])
        raise CliError(reason, code=str(missing["code"]), remedy=str(missing["remedy"]))
    meant = [one for one in services if resource in (None, one["resource"])]
    if len(meant) != 1:
        known = ", ".join(str(one["resource"]) for one in services)
        raise UsageProblem(text("cli.agents.whichResource", agent=name, known=known))
    return meant[0]


def _typed(where: str) -> str:
    """The key. Raises UsageProblem when there is none, or something that is none."""
    from innkeeper.cli.failures import UsageProblem

    try:
        if sys.stdin.isatty():
            key = click.prompt(text("cli.agents.prompt", where=where), hide_input=True, err=True).strip()
        else:
            key = sys.stdin.read().strip()
    except UnicodeDecodeError:
        key = ""
    if not key or not key.isprintable():
        raise UsageProblem(text("cli.agents.noKey"))
    return str(key)


async def _looked(wanted: "Wanted") -> Sequence[State]:
    from innkeeper.cli.reach import connection
    from innkeeper.protocol.uris import ROOT

    async with connection(wanted) as client:
        found: Sequence[State] = (await client.request("x-innkeeper/agents/look", {"channel": ROOT}))["agents"]
        return found


async def _signed_in(wanted: "Wanted", provider: str, resource: str, key: str) -> State:
    """The agent as it is afterwards. Raises HostError AGENT_KEY_REFUSED, RpcFailure; neither has the key."""
    from innkeeper.cli.reach import connection
    from innkeeper.client import RpcFailure
    from innkeeper.errors import HostError
    from innkeeper.protocol.errors import AUTH_REQUIRED
    from innkeeper.protocol.uris import ROOT

    async with connection(wanted) as client:
        try:
            await client.request("authenticate", {"channel": ROOT, "resource": resource, "token": key})
        except RpcFailure as error:
            # An answer may repeat what was given.
            reason = error.message.replace(key, "…")
            if error.code == AUTH_REQUIRED:
                raise HostError("AGENT_KEY_REFUSED", agent=provider, reason=reason) from None
            raise RpcFailure(error.method, error.code, reason, None) from None
        found = await client.request("x-innkeeper/agents/look", {"channel": ROOT})
    return _named(found["agents"], provider)
