"""Customizations as a person reads them."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from innkeeper.cli.words import text

Item = Mapping[str, Any]


def print_tree(items: Sequence[Item]) -> None:
    """One line an item, children below their container: state, the scope that decides, where it comes from."""
    for item in items:
        _print_row(item, "")
        for child in item.get("children") or ():
            _print_row(child, "  ")


def print_chain(item: Item) -> None:
    """Why an item is on, off or undecided: every scope, then what stands above and after it."""
    click.echo(f"{_mark(item['on'])} {item['name']}  {_type(item)}  {_state(item)}")
    click.echo(f"  {text('cli.why.id')}: {item['id']}")
    for step in item.get("scopes") or ():
        click.echo(f"  {_scope_line(step)}")
    if item.get("client") is not None:
        click.echo(f"  {text('cli.why.client', value=_value(item['client']))}")
    container = item.get("container")
    if container is not None:
        click.echo(
            f"  {text('cli.why.container', name=container['name'], value=_value(not container.get('withheld')))}"
        )
    provider = item.get("provider")
    if provider is not None:
        told = text(f"cli.why.told.{provider['told']}")
        click.echo(f"  {text('cli.why.provider', name=provider['provider'], told=told)}")
        if provider.get("detail"):
            click.echo(f"    {provider['detail']}")
    click.echo(f"  {text('cli.why.owner')}: {item['owner']}")
    if item.get("key"):
        click.echo(f"  {text('cli.why.key')}: {item['key']}")
    if item.get("error"):
        click.echo(f"  {item['error']}")


def print_history(records: Sequence[Item]) -> None:
    """The records about an item, oldest first."""
    for record in records:
        at, about = record.get("at", "?"), record.get("session", "")
        if record.get("kind") == "exposure":
            offered, withheld = ", ".join(record["offered"]), ", ".join(record["withheld"])
            click.echo(f"{at}  {about}  {text('cli.why.exposure', offered=offered or '-', withheld=withheld or '-')}")
            continue
        for item in record["items"]:
            told = text(f"cli.why.told.{item['told']}")
            reason = f" ({text('cli.why.withheld.' + item['reason'])})" if item.get("reason") else ""
            click.echo(f"{at}  {about}  {text('cli.why.occasion.' + record['occasion'])}: {told}{reason}")


def _print_row(item: Item, indent: str) -> None:
    words = [f"{indent}{_mark(item['on'])} {item['name']}", _type(item), _state(item)]
    if item.get("source"):
        words.append(str(item["source"]))
    click.echo("  ".join(words))
    if item.get("fault"):
        click.echo(f"{indent}    {item['fault']}")


def _state(item: Item) -> str:
    words = _value(item["on"])
    scope = item.get("scope") or item.get("decidedBy")
    if scope is not None:
        words += f" ({text(f'cli.why.by.{scope}')})"
    reason = item.get("withheld")
    return words if reason in (None, "own") else f"{words}: {text(f'cli.why.withheld.{reason}')}"


def _scope_line(step: Item) -> str:
    name = text(f"cli.why.by.{step['scope']}")
    if step.get("target") is None:
        return f"{name}: {text('cli.why.noScope')}"
    if "stored" not in step:
        inherited = text("cli.why.inherits", value=_value(step["inherited"]))
        return f"{name}: {inherited}" + (f", {text('cli.why.follows')}" if step.get("followsClient") else "")
    notes = [text(f"cli.why.{note}") for note in ("pinned", "overridesClient") if step.get(note)]
    return f"{name}: " + ", ".join([_value(step["stored"]), *notes, str(step.get("decidedAt", ""))])


def _type(item: Item) -> str:
    return text(f"cli.why.type.{item['type']}")


def _value(on: object) -> str:
    return text("cli.word.on" if on else "cli.word.off")


def _mark(on: object) -> str:
    return click.style("●", fg="green") if on else click.style("○", fg="red")
