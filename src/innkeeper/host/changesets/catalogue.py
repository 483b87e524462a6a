"""Which changesets there are, and their channels (AHP §7, Appendix A: `Changeset.uriTemplate`). Pure.

Rules
* `<session>/changeset/session`, `…/uncommitted`, `…/turn/{turnId}`, `…/compare/{originalTurnId}/{modifiedTurnId}`, ids
  percent-encoded. A chat's catalogue lists the two templates, of the same channels: a turn's id is unique in a session.
* Without a repository: session and turn, from what tools reported; never uncommitted, never compare (S18).
* Labels are in the operator's language: state is shared by all clients.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias
from urllib.parse import unquote

from innkeeper.protocol.types import URI
from innkeeper.protocol.uris import changeset_uri
from innkeeper.texts import Lang, text

Kind: TypeAlias = Literal["session", "uncommitted", "turn", "compare"]
_TURNS: Mapping[Kind, int] = {"compare": 2, "turn": 1, "session": 0, "uncommitted": 0}
"""How many turns each names. A turn may be called `changeset` too, so the one that names most is looked for first."""


@dataclass(frozen=True, slots=True)
class Name:
    """A changeset of a session. `turns`: none, the turn, or the original and the modified one."""

    session: str
    kind: Kind
    turns: tuple[str, ...] = ()

    @property
    def uri(self) -> URI:
        return changeset_uri(self.session, self.kind, *self.turns)


def name_of(uri: str) -> Name | None:
    """The changeset that a channel's URI names; None for any other URI."""
    parts = uri.split("/")
    for kind, count in _TURNS.items():
        at = len(parts) - count - 2
        turns = parts[at + 2 :]
        if at > 0 and parts[at : at + 2] == ["changeset", kind] and all(turns):
            return Name("/".join(parts[:at]), kind, tuple(map(unquote, turns)))
    return None


def session_catalogue(session: str, lang: Lang, *, git: bool, left_out: Mapping[str, int]) -> list[dict[str, Any]]:
    """What the session offers. `left_out`: kind to the number of files that are not shown for their number."""
    entries = [_entry(session, "session", lang)]
    if git:
        entries.append(_entry(session, "uncommitted", lang))
    entries.extend(chat_catalogue(session, lang, git=git))
    for entry in entries:
        if (more := left_out.get(entry["changeKind"], 0)) > 0:
            entry["description"] = text("changeset.leftOut", lang=lang, n=more)
    return entries


def chat_catalogue(session: str, lang: Lang, *, git: bool) -> list[dict[str, Any]]:
    """What a chat offers."""
    base = changeset_uri(session)
    turn = {**_entry(session, "turn", lang), "uriTemplate": f"{base}/turn/{{turnId}}"}
    if not git:
        return [turn]
    compare = {
        "label": text("changeset.compare", lang=lang),
        "uriTemplate": f"{base}/compare/{{originalTurnId}}/{{modifiedTurnId}}",
        "changeKind": "compare-turns",
    }
    return [turn, compare]


def _entry(session: str, kind: Kind, lang: Lang) -> dict[str, Any]:
    labels: Mapping[str, str] = {
        "session": text("changeset.session", lang=lang),
        "uncommitted": text("changeset.uncommitted", lang=lang),
        "turn": text("changeset.turn", lang=lang),
    }
    return {
        "label": labels[kind],
        "uriTemplate": changeset_uri(session, kind),
        "changeKind": kind,
        "capabilities": {"review": {}},
    }


def operations(kind: Kind, lang: Lang, *, files: int, blocked: bool) -> Sequence[dict[str, Any]] | None:
    """What can be done to a changeset of that many files; `blocked`: a turn works in the repository, so that what would
    lose work is disabled. None: nothing."""
    if kind != "uncommitted":
        return None
    idle, risky = ("idle" if files else "disabled"), ("idle" if files and not blocked else "disabled")
    return [
        {
            "id": "commit",
            "label": text("changeset.commit", lang=lang),
            "scopes": ["changeset", "resource"],
            "icon": "git-commit",
            "status": idle,
        },
        {
            "id": "discard",
            "label": text("changeset.discard", lang=lang),
            "scopes": ["changeset", "resource"],
            "confirmation": text("changeset.discardConfirmation", lang=lang),
            "icon": "discard",
            "status": risky,
        },
        {
            "id": "checkout",
            "label": text("changeset.checkout", lang=lang),
            "description": text("changeset.checkoutDescription", lang=lang),
            "scopes": ["changeset"],
            "icon": "git-branch",
            "status": "disabled" if blocked else "idle",
        },
    ]
