"""What a person can do to the uncommitted changes: commit, discard, checkout (AHP §4 `invokeChangesetOperation`).

Rules
* The operation must be listed and enabled, the target's kind among its scopes, and the target a file of the changeset.
* What would lose work is refused while a turn of any session works in that working tree (`TURN_RUNNING`), and for a
  file that is not as it was shown (`CHANGESET_STALE`): nobody discards what they have not seen.
* What is discarded is kept by a private ref first, which goes with the session.
* Every subscriber sees it run and how it ended. A failure is the request's error, and the operation's.
* AHP's request has no place for a message or a branch: `_meta` has `x-innkeeper/message` and `x-innkeeper/branch`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from innkeeper.errors import HostError
from innkeeper.host.changesets.book import path_of
from innkeeper.host.changesets.catalogue import Name
from innkeeper.host.changesets.checkpoints import Checkpoints, prefix_of
from innkeeper.host.changesets.computing import Computing, Look
from innkeeper.host.changesets.files import JsonFile, changed_file, paths_in
from innkeeper.host.changesets.publishing import same
from innkeeper.host.changesets.repositories import innermost_first
from innkeeper.host.core import Core, act
from innkeeper.host.faults import bad_params
from innkeeper.limits import CHANGESET_FILES
from innkeeper.ports.git import FileChange, GitRepositories, GitTrees, GitWork
from innkeeper.protocol.errors import CONFLICT, NOT_FOUND, RpcError
from innkeeper.protocol.uris import local_path
from innkeeper.texts import Lang, text

Params = Mapping[str, Any]
State = Mapping[str, Any]

ALL: Final = 1_000_000
"""A discard of everything is one of everything, also of what was too much to be shown."""


class OperationGit(GitRepositories, GitTrees, GitWork, Protocol):
    """What operations need of git."""


class Request(NamedTuple):
    """One invocation, checked. `file` is None for the whole changeset."""

    name: Name
    state: State
    file: JsonFile | None
    meta: Params


class Operations:
    """`lang` is that of texts which everybody sees."""

    def __init__(
        self, core: Core, git: OperationGit, computing: Computing, checkpoints: Checkpoints, *, lang: Lang
    ) -> None:
        self._core = core
        self._git = git
        self._computing = computing
        self._checkpoints = checkpoints
        self._lang = lang
        self._run = {"commit": self._commit, "discard": self._discard, "checkout": self._checkout}

    async def invoke(self, name: Name, params: Params) -> dict[str, Any]:
        """AHP's `InvokeChangesetOperationResult`. Raises RpcError and HostError."""
        state = await self._core.load(name.uri)
        if state is None:
            raise RpcError(NOT_FOUND, f"there is no changeset {name.uri[:200]}")
        operation = params["operationId"]
        listed = next((o for o in state.get("operations") or () if o["id"] == operation), None)
        if listed is None or operation not in self._run:
            raise HostError("OPERATION_UNKNOWN", operation=operation[:100])
        file = _target(listed, state, params.get("target"))
        if listed["status"] == "running":
            raise RpcError(CONFLICT, f"{operation} is running already")
        request = Request(name, state, file, params.get("_meta") or {})
        self._say(name, operation, "running")
        try:
            message = await self._run[operation](request)
        except Exception as error:
            told = error if isinstance(error, HostError) else HostError("computeFailed", reason=type(error).__name__)
            self._say(name, operation, "error", {"errorType": told.code, "message": told.message(self._lang)})
            raise
        self._say(name, operation, "idle")
        return {"message": message}

    # -- the operations ------------------------------------------------------------------------------------------

    async def _commit(self, request: Request) -> str:
        look = await self._computing.look(request.name.session)
        message = _text(request.meta, "x-innkeeper/message") or self._title(request.name.session)
        said: list[str] = []
        committed: list[str] = []
        current = await self._current(request, look)
        for root in innermost_first(current):  # what a submodule commits is a change of the repository around it
            changes = current[root]
            if not changes and not (request.file is None and any(inner.startswith(f"{root}/") for inner in committed)):
                continue
            committed.append(root)
            paths = None if request.file is None else _paths(changes)
            commit = await self._git.commit(root, message, paths)
            branch = look.repositories[root].branch or text("changeset.detachedHead", lang=self._lang)
            said.append(text("changeset.committed", lang=self._lang, commit=commit[:10], branch=branch))
        if not said:
            raise HostError("OPERATION_DISABLED", operation="commit")
        return "\n".join(said)

    async def _discard(self, request: Request) -> str:
        look = await self._computing.look(request.name.session)
        current = {root: changes for root, changes in (await self._current(request, look)).items() if changes}
        if not current:
            raise HostError("OPERATION_DISABLED", operation="discard")
        for root, changes in current.items():
            self._refuse_running(root)
            _refuse_stale(request, root, changes)
        said: list[str] = []
        for root, changes in current.items():
            kept = await self._keep(request.name.session, look, root)
            self._refuse_running(root)
            await self._git.discard(root, _paths(changes))
            said.append(text("changeset.discarded", lang=self._lang, n=len(changes), commit=kept[:10]))
        return "\n".join(said)

    async def _checkout(self, request: Request) -> str:
        branch = _text(request.meta, "x-innkeeper/branch")
        if branch is None:
            raise HostError("BRANCH_MISSING")
        look = await self._computing.look(request.name.session)
        if not look.repositories:
            raise HostError("OPERATION_DISABLED", operation="checkout")
        root = next(iter(look.repositories))
        self._refuse_running(root)
        await self._git.checkout(root, branch)
        return text("changeset.checkedOut", lang=self._lang, branch=branch)

    # -- inside --------------------------------------------------------------------------------------------------

    async def _current(self, request: Request, look: Look) -> dict[str, list[FileChange]]:
        """The changes as they are now, of each repository; of the target alone where there is one."""
        wanted = None if request.file is None else {path_of(uri) for uri in paths_in(request.file)}
        found: dict[str, list[FileChange]] = {}
        for root, repository in look.repositories.items():
            if wanted is not None and not any(path.startswith(f"{root}/") for path in wanted):
                continue
            if root not in look.trees:
                look.trees[root] = (await self._git.snapshot(root)).tree
            changes = await self._git.diff(root, repository.head, look.trees[root], limit=ALL)
            found[root] = [
                change
                for change in changes.files
                if wanted is None or {f"{root}/{path}" for path in _paths([change])} & wanted
            ]
        return found

    async def _keep(self, session: str, look: Look, root: str) -> str:
        """A commit of the files as they are, that stays as long as the session."""
        head = look.repositories[root].head
        parents = [] if head is None else [head]
        commit = await self._git.commit_tree(root, look.trees[root], parents, "Innkeeper: before a discard")
        prefix = f"{prefix_of(session)}discarded/"
        number = len(await self._git.refs(root, prefix)) + 1
        await self._git.set_refs(root, {f"{prefix}{number}": commit})
        return commit

    def _refuse_running(self, root: str) -> None:
        if self._checkpoints.working_in(root):
            raise HostError("TURN_RUNNING", directory=root)

    def _title(self, session: str) -> str:
        """Of a commit that nobody named: what the session is called."""
        state = self._core.head(session) or {}
        title = " ".join(str(state.get("title") or "").split())
        directory = next(iter(state.get("workingDirectories") or ()), "")
        return title or f"Changes in {(local_path(directory) or '').rpartition('/')[2] or 'the session'}"

    def _say(self, name: Name, operation: str, status: str, error: Mapping[str, Any] | None = None) -> None:
        action = {"type": "changeset/operationStatusChanged", "operationId": operation, "status": status}
        act(self._core, name.uri, {**action, **({} if error is None else {"error": error})})


def _target(operation: State, state: State, target: Params | None) -> JsonFile | None:
    """The file that the target names; None for the whole changeset."""
    id, scopes = operation["id"], operation["scopes"]
    kind = "changeset" if target is None else str(target.get("kind"))
    if kind not in scopes:
        raise HostError("OPERATION_TARGET", operation=id, reason=f"{kind[:40]} is none of {', '.join(scopes)}")
    if target is None:
        return None
    side, resource = target.get("side"), target["resource"]
    if side not in (None, "before", "after"):
        raise bad_params("params.target.side must be before or after")
    for file in state.get("files") or ():
        sides = [file["edit"].get(side)] if side else [file["edit"].get("before"), file["edit"].get("after")]
        if any(found is not None and found["uri"] == resource for found in sides):
            shown: JsonFile = file
            return shown
    raise HostError("OPERATION_TARGET", operation=id, reason="the changeset has no such file")


def _refuse_stale(request: Request, root: str, changes: Sequence[FileChange]) -> None:
    """A file that was not shown as it is now, or not at all although there was room."""
    shown = {file["id"]: file for file in request.state.get("files") or ()}
    for change in changes:
        now = changed_file(request.name.session, root, change)
        seen = shown.get(now["id"])
        if (seen is None and len(shown) < CHANGESET_FILES) or (seen is not None and not same(seen, now)):
            raise HostError("CHANGESET_STALE", file=change.path)


def _paths(changes: Sequence[FileChange]) -> list[str]:
    """Of a rename both."""
    return [path for change in changes for path in (change.old_path, change.path) if path is not None]


def _text(meta: Params, key: str) -> str | None:
    value = meta.get(key)
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip() or len(value) > 10_000:
        raise bad_params(f"params._meta.{key} must be a text of at most 10,000 characters")
    return value.strip()
