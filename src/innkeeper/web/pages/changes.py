"""What the drawer of changes loads and does: diffs, review marks, commit, discard, checkout (issue 7 B.1; AHP §4, §7).

Rules
* Only changesets of the session in the address are served, and only files that stand in them.
* An operation is the host's (`invokeChangesetOperation`); its refusal is told as it is, with what helps.
"""

from collections.abc import Mapping
from typing import Any

from innkeeper.client.changesets import operation_params
from innkeeper.web.asking import Actions, Ask, Done, Fragment, Pages, Problem
from innkeeper.web.diffs import diff_of
from innkeeper.web.names import session_path, session_uri
from innkeeper.web.tool_cards import plain

State = Mapping[str, Any]
BRANCH_OPERATIONS = ("commit", "discard", "checkout")


def _channel(ask: Ask, given: str) -> str:
    """The changeset that a form or an address names, of this session. Raises Problem."""
    session = session_uri(ask.params["session"])
    if session is None or not given.startswith(f"{session}/changeset/"):
        raise Problem(ask.reader.t("web.not_found"), status=404)
    return given


async def _file(ask: Ask, channel: str, id: str) -> State:
    state = await ask.link.state(channel)
    file: State | None = next((one for one in state.get("files") or () if one["id"] == id), None)
    if file is None:
        raise Problem(ask.reader.t("web.changes.gone"), status=404)
    return file


async def show_diff(ask: Ask) -> Fragment:
    """The diff of one file."""
    file = await _file(ask, _channel(ask, ask.query.get("set", "")), ask.query.get("file", ""))
    meta = file.get("_meta") or {}
    if meta.get("x-innkeeper/binary"):
        return Fragment(ask.render("diff.html", rows=(), more=0, problem="binary", path=file["id"]))
    return Fragment(await diff_of(ask, file["edit"]))


async def review(ask: Ask) -> Done:
    """Marks a file as reviewed, or all of them, or takes the mark away."""
    channel = _channel(ask, ask.field("set"))
    if ask.field("all"):
        state = await ask.link.state(channel)
        files = [str(one["id"]) for one in state.get("files") or ()]
    else:
        files = [str((await _file(ask, channel, ask.field("file")))["id"])]
    reviewed = ask.field("reviewed") == "1"
    await ask.link.dispatch(channel, {"type": "changeset/filesReviewChanged", "files": files, "reviewed": reviewed})
    return Done(session_path(session_uri(ask.params["session"]) or ""))


async def operate(ask: Ask) -> Done:
    """Commit, discard or check out: of all files, or of one."""
    channel, operation = _channel(ask, ask.field("set")), ask.field("operation")
    if operation not in BRANCH_OPERATIONS:
        raise Problem(ask.reader.t("web.not_found"), status=404)
    file = await _file(ask, channel, ask.field("file")) if ask.field("file") else None
    words = {"commit": "message", "checkout": "branch"}.get(operation, "")
    given = {words: ask.field(words).strip()} if words and ask.field(words).strip() else {}
    params = operation_params(channel, operation, file, **given)
    answer = await ask.link.request("invokeChangesetOperation", params, timeout=600.0)
    said = plain((answer or {}).get("message"))
    return Done(session_path(session_uri(ask.params["session"]) or ""), answer={"said": said} if said else None)


PAGES: Pages = (("/s/{session}/changes/diff", show_diff),)
ACTIONS: Actions = (("/s/{session}/changes/review", review), ("/s/{session}/changes/operate", operate))
