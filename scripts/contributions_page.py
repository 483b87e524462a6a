"""docs/reference/contributions.md: tables from the code, words from contributions_page.md."""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from innkeeper.contributions import moments, spi
from innkeeper.contributions.builtin import builtin_kinds
from innkeeper.contributions.dispatch import Services
from innkeeper.contributions.spi import HOOKS, SPI_VERSION, Contribution, services
from innkeeper.limits import CONTRIBUTION_STAGE_SECONDS
from innkeeper.texts import text

TEMPLATE = Path(__file__).with_suffix(".md")
EXAMPLE = Path(__file__).parent.parent / "examples" / "contributions" / "house_rules.py"
SETTINGS = ("contributions", "contribution_settings", "generate_titles", "rich_plan_links", "github_references")

Table = Callable[[Sequence[str], Iterable[Sequence[str]]], str]


def contributions_page(table: Table) -> str:
    parts = {
        "hooks": table(
            ("hook", "moment", "called in", "kind", "combination", "when it fails"),
            [(f"`{name}`", h.moment, f"`{h.site}`", h.mode, h.combination, h.failure) for name, h in HOOKS.items()],
        ),
        "signatures": table(("hook", "takes and gives"), [(f"`{name}`", f"`{_signature(name)}`") for name in HOOKS]),
        "values": table(("value", "members", "what it is"), _values()),
        "orders": table(("order", "id", "what it does", "hooks"), map(_row, _ordered())),
        "sequences": table(("hook", "sequence"), [(f"`{hook}`", " → ".join(_sequence(hook))) for hook in HOOKS]),
        "settings": table(("setting", "meaning"), [(f"`{name}`", text(f"settings.field.{name}")) for name in SETTINGS]),
        "services": table(("service", "for", "used by"), _services()),
        "seconds": f"{CONTRIBUTION_STAGE_SECONDS:g}",
        "version": ".".join(map(str, SPI_VERSION)),
        "example": EXAMPLE.read_text(encoding="utf-8").strip(),
    }
    page = TEMPLATE.read_text(encoding="utf-8")
    for name, made in parts.items():
        page = page.replace(f"{{{{{name}}}}}", made.rstrip("\n"))
    return page


def _ordered() -> list[type[Contribution]]:
    return sorted(builtin_kinds(), key=lambda kind: kind.order)


def _sequence(hook: str) -> list[str]:
    return [kind.id for kind in _ordered() if hasattr(kind, hook)]


def _signature(hook: str) -> str:
    """As the interface has it, without `self` and module names."""
    protocol = next(one for one in vars(spi).values() if inspect.isclass(one) and hook in vars(one))
    shown = str(inspect.signature(getattr(protocol, hook))).replace("(self, ", "(")
    return re.sub(r"\b(?:\w+\.)+(?=\w)", "", shown)


def _values() -> Iterator[tuple[str, str, str]]:
    """The tuples that hooks take and give."""
    for name, value in vars(moments).items():
        if inspect.isclass(value) and hasattr(value, "_fields") and value.__module__ == moments.__name__:
            said = (inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " ")
            yield f"`{name}`", ", ".join(f"`{field}`" for field in value._fields), said


def _row(kind: type[Contribution]) -> tuple[str, ...]:
    module = inspect.getmodule(kind)
    said = (inspect.getdoc(module) or "").split("\n\n")[0].replace("\n", " ")
    return (str(kind.order), f"`{kind.id}`", said, ", ".join(f"`{hook}`" for hook in HOOKS if hasattr(kind, hook)))


def _services() -> Iterator[tuple[str, str, str]]:
    users: dict[type, list[str]] = {}
    for kind in _ordered():
        for _, wanted in Services().parameters(kind):
            users.setdefault(wanted, []).append(kind.id)
    public = {getattr(services, name) for name in services.__all__ if inspect.isclass(getattr(services, name))}
    for wanted in sorted(users.keys() | public, key=lambda one: one.__name__):
        said = (inspect.getdoc(wanted) or "").split("\n\n")[0].replace("\n", " ")
        yield f"`{wanted.__name__}`", said, ", ".join(users.get(wanted, ())) or "those from outside"
