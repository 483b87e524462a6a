"""The one decision whether a tool call runs, is asked about, or is denied (reference §5.11, M6.3b, M6.8). Pure.

Rules
* The first row of `ROWS` that decides counts. What denies or asks on purpose stands before what approves, but full
  access, which only policy and a request to leave the sandbox stand before.
* In plan mode only what looks is approved; a remembered allow does not change that, full access does.
* What the call does not say about itself is not assumed: without an intent only its name can approve it.
* Facts about paths come through a port, the parser as a function: the decision itself reads nothing.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from innkeeper.host.approval.paths import absolute, in_attachment_area, odd, reading, writing
from innkeeper.host.approval.shell.grammar import Parse
from innkeeper.host.approval.values import Call, Ground, Row, Standing, Step, Verdict, reason
from innkeeper.ports.paths import PathFacts, Real
from innkeeper.ports.questions import Reason

if TYPE_CHECKING:
    from innkeeper.host.approval.shell.judge import Judged


def decide(call: Call, standing: Standing, ground: Ground, facts: PathFacts, parse: Parse | None = None) -> Verdict:
    """The decision about a call. `parse` is None where the grammar is missing: then no command line is approved."""
    if standing.denied_by is not None:
        return Verdict("deny", "deniedTool", reason(f"deniedTool.{standing.denied_by}", tool=call.tool))
    look = _Look(call, ground, _Remembered(facts), parse)
    if look.writes_attachments():
        return Verdict("deny", "attachmentArea", reason("attachmentArea"), look.steps)
    if standing.managed or call.intent.managed:
        return Verdict("ask", "managedPolicy", reason("managedPolicy"))
    if call.intent.leaves_sandbox:
        return Verdict("ask", "sandbox", reason("sandbox"))
    if standing.full_access is not None:
        return Verdict("approve", "fullAccess", reason(f"fullAccess.{standing.full_access}"))
    if standing.mode == "plan" and look.may_change():
        return Verdict("ask", "planMode", reason("planMode"), look.steps)
    if standing.allowed:
        return Verdict("approve", "allowedTool", reason("allowedTool", tool=call.tool))
    return _by_kind(call, ground, look)


def asks_of_tool(standing: Standing, ground: Ground) -> Sequence[Reason]:
    """Which rules ask on purpose about a tool of a project's MCP server, of which only the name is known (M6.8)."""
    if standing.managed:
        return (reason("managedPolicy"),)
    if standing.mode == "plan":
        return (reason("planMode"),)
    return (reason("inline.other"),) if ground.inline is not None else ()


def _by_kind(call: Call, ground: Ground, look: "_Look") -> Verdict:
    kind = call.intent.kind
    if ground.inline is not None:
        return look.inline()
    if kind in ("read", "write"):
        row: Row = "read" if kind == "read" else "write"
        return look.by_steps(row)
    return look.shell_verdict() if kind == "shell" else _otherwise(call)


def _otherwise(call: Call) -> Verdict:
    return Verdict("ask", "otherwise", reason("otherwise", tool=call.tool))


def _judge(call: Call, ground: Ground, facts: PathFacts, parse: Parse | None) -> "Judged":
    """With the first command line come the tables of programs: a host that starts has none to look at."""
    from innkeeper.host.approval.shell.judge import judge

    return judge(call.intent, ground, facts, parse)


class _Remembered:
    """Facts that stay the same within one decision."""

    def __init__(self, facts: PathFacts) -> None:
        self._facts = facts
        self._known: dict[tuple[str, bool], Real] = {}

    def look(self, path: str, *, pattern: bool = False) -> Real:
        if (path, pattern) not in self._known:
            self._known[(path, pattern)] = self._facts.look(path, pattern=pattern)
        return self._known[(path, pattern)]


class _Look:
    """What can be found out about one call, each thing at most once."""

    def __init__(self, call: Call, ground: Ground, facts: PathFacts, parse: Parse | None) -> None:
        self._call = call
        self._ground = ground
        self._facts = facts
        intent = call.intent
        self._judged: Judged | None = _judge(call, ground, facts, parse) if intent.kind == "shell" else None
        self._paths = [(path, absolute(path, intent.directory, ground)) for path in intent.paths]
        self.steps: Sequence[Step] = self._judged.steps if self._judged is not None else self._file_steps()

    def writes_attachments(self) -> bool:
        if self._judged is not None:
            return self._judged.writes_attachments
        return self._call.intent.kind == "write" and any(
            path is not None and in_attachment_area(path, self._ground, self._facts) for _, path in self._paths
        )

    def may_change(self) -> bool:
        """Whether the call may change something, as far as plan mode goes: files, commands, tools of servers."""
        if self._judged is not None:
            return not self._judged.approved or self._judged.effects
        return self._call.intent.kind in ("write", "mcp")

    def by_steps(self, row: Row) -> Verdict:
        """Every path must be approved, and there must be one."""
        asked = next((step for step in self.steps if step.outcome == "ask"), None)
        if asked is not None:
            return Verdict("ask", row, asked.reason, self.steps)
        if not self.steps:
            return Verdict("ask", row, reason("path.none"))
        return Verdict("approve", row, self.steps[0].reason, self.steps)

    def shell_verdict(self) -> Verdict:
        judged = self._judged or _judge(self._call, self._ground, self._facts, None)
        if judged.trouble is not None:
            return Verdict("ask", "shell", judged.trouble, judged.steps)
        asked = next((step for step in judged.steps if step.outcome == "ask"), None)
        if asked is not None:
            return Verdict("ask", "shell", asked.reason, judged.steps)
        return Verdict("approve", "shell", reason("shell.all"), judged.steps)

    def inline(self) -> Verdict:
        """An editor's inline chat: its one file, and reading what may be read anyway."""
        inline, kind = self._ground.inline, self._call.intent.kind
        target = None if inline is None else inline.target
        if target is None:
            return Verdict("ask", "inlineEditor", reason("inline.noTarget"), self.steps)
        if kind in ("read", "write") and self._paths and all(self._is(path, target) for _, path in self._paths):
            return Verdict("approve", "inlineEditor", reason("inline.target", path=target))
        if kind in ("write", "shell", "mcp"):
            return Verdict("ask", "inlineEditor", reason("inline.other"), self.steps)
        return self.by_steps("read") if kind == "read" else _otherwise(self._call)

    def _is(self, path: str | None, target: str) -> bool:
        """Whether both are one file, really."""
        if path is None or odd(path) is not None:
            return False
        one, two = self._facts.look(path), self._facts.look(target)
        return one.problem is None and two.problem is None and bool(one.paths) and one.paths == two.paths

    def _file_steps(self) -> list[Step]:
        kind, steps = self._call.intent.kind, []
        if kind not in ("read", "write"):
            return []
        for given, path in self._paths:
            if path is None:
                steps.append(Step(given, "ask", reason("path.noDirectory", path=given), kind == "write"))
            elif kind == "read":
                steps.append(reading(path, self._ground, self._facts))
            else:
                steps.append(writing(path, self._ground, self._facts))
        return steps
