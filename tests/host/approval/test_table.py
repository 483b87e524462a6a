"""The table of the approval rules, row by row (reference §5.11, M6.3b, S21-S25, K16; docs/reference/approvals.md)."""

from dataclasses import replace

import pytest

from innkeeper.host.approval import ROWS, Call, Ground, Inline, Standing, Verdict, decide
from innkeeper.host.approval.shell.grammar import load
from innkeeper.host.approval.values import CommandRule, FileRule, Tables
from innkeeper.ports.questions import Intent
from scripted.paths import NamedPaths

PARSE = load()
FACTS = NamedPaths(
    files=[
        "/w/src/app.ts",
        "/w/a.py",
        "/w/b.py",
        "/etc/passwd",
        "/home/ada/.bashrc",
        "/data/attachments/s1/notes.md",
        "/data/attachments/s2/notes.md",
        "/second/x",
        "/real/root/in",
    ],
    links={
        "/w/out": "/etc",
        "/w/within": "src",
        "/w/nowhere": "gone",
        "/w/circle": "circle",
        "/second/link.py": "/etc/passwd",
        "/linked": "/real/root",
    },
    closed=["/w/closed"],
)
GROUND = Ground(
    roots=("/w", "/second"),
    home="/home/ada",
    attachment_area="/data/attachments",
    attached_here="/data/attachments/s1",
)
PLAIN = Standing()


def verdict(intent: Intent, standing: Standing = PLAIN, ground: Ground = GROUND, tool: str = "tool") -> Verdict:
    return decide(Call(tool, intent), standing, ground, FACTS, PARSE)


def shell(command: str, *, language: str | None = "bash", directory: str | None = None) -> Intent:
    return Intent("shell", command=command, language=language, directory=directory)


def read(*paths: str) -> Intent:
    return Intent("read", paths=paths)


def write(*paths: str) -> Intent:
    return Intent("write", paths=paths)


FULL = Standing(full_access="operator")
ALLOWED = Standing(allowed=True)
PLAN = Standing(mode="plan")
INLINE = replace(GROUND, inline=Inline("/w/src/app.ts"))

TABLE = [
    # intent, standing, ground, outcome, row
    (Intent("tool"), Standing(denied_by="session", full_access="operator", allowed=True), GROUND, "deny", "deniedTool"),
    (Intent("tool"), Standing(denied_by="operator"), GROUND, "deny", "deniedTool"),
    (write("/data/attachments/s1/notes.md"), FULL, GROUND, "deny", "attachmentArea"),
    (shell("echo x > /data/attachments/s1/notes.md"), FULL, GROUND, "deny", "attachmentArea"),
    (write("/w/src/app.ts"), Standing(managed=True, full_access="operator"), GROUND, "ask", "managedPolicy"),
    (replace(write("/w/src/app.ts"), managed=True), ALLOWED, GROUND, "ask", "managedPolicy"),
    (replace(shell("ls"), leaves_sandbox=True), FULL, GROUND, "ask", "sandbox"),
    (Intent("tool"), FULL, GROUND, "approve", "fullAccess"),
    (shell("rm -rf /"), Standing(full_access="autoApprove"), GROUND, "approve", "fullAccess"),
    (write("/w/.env"), Standing(full_access="agentMode"), GROUND, "approve", "fullAccess"),
    (write("/w/src/app.ts"), PLAN, GROUND, "ask", "planMode"),
    (write("/w/src/app.ts"), Standing(mode="plan", allowed=True), GROUND, "ask", "planMode"),
    (write("/w/src/app.ts"), Standing(mode="plan", full_access="operator"), GROUND, "approve", "fullAccess"),
    (shell("echo x > notes.md"), PLAN, GROUND, "ask", "planMode"),
    (shell("make"), PLAN, GROUND, "ask", "planMode"),
    (Intent("mcp", tool="mcp__a__b"), PLAN, GROUND, "ask", "planMode"),
    (shell("ls && git log"), PLAN, GROUND, "approve", "shell"),
    (read("/w/src/app.ts"), PLAN, GROUND, "approve", "read"),
    (Intent("tool"), PLAN, GROUND, "ask", "otherwise"),
    (Intent("tool"), ALLOWED, GROUND, "approve", "allowedTool"),
    (shell("rm -rf /"), ALLOWED, GROUND, "approve", "allowedTool"),
    (write("/etc/passwd"), ALLOWED, GROUND, "approve", "allowedTool"),
    (write("/w/src/app.ts"), PLAIN, INLINE, "approve", "inlineEditor"),
    (read("/w/src/app.ts"), PLAIN, INLINE, "approve", "inlineEditor"),
    (write("/w/within/app.ts"), PLAIN, INLINE, "approve", "inlineEditor"),
    (write("/w/a.py"), PLAIN, INLINE, "ask", "inlineEditor"),
    (write("/w/src/app.ts", "/w/a.py"), PLAIN, INLINE, "ask", "inlineEditor"),
    (read("/w/a.py"), PLAIN, INLINE, "approve", "read"),
    (read("/etc/passwd"), PLAIN, INLINE, "ask", "read"),
    (shell("ls"), PLAIN, INLINE, "ask", "inlineEditor"),
    (Intent("mcp"), PLAIN, INLINE, "ask", "inlineEditor"),
    (Intent("tool"), PLAIN, INLINE, "ask", "otherwise"),
    (read("/w/a.py"), PLAIN, replace(GROUND, inline=Inline(None)), "ask", "inlineEditor"),
    (read("/w/src/app.ts"), PLAIN, GROUND, "approve", "read"),
    (read("src/app.ts"), PLAIN, GROUND, "approve", "read"),
    (read("/w/.env"), PLAIN, GROUND, "approve", "read"),
    (read("/w/a.py", "/second/x"), PLAIN, GROUND, "approve", "read"),
    (read("/w/src/../../etc/passwd"), PLAIN, GROUND, "ask", "read"),
    (read("/etc/passwd"), PLAIN, GROUND, "ask", "read"),
    (read("/w/a.py", "/etc/passwd"), PLAIN, GROUND, "ask", "read"),
    (read("/w/out/passwd"), PLAIN, GROUND, "ask", "read"),
    (read("/w/within/app.ts"), PLAIN, GROUND, "approve", "read"),
    (read("/w/closed/x"), PLAIN, GROUND, "ask", "read"),
    (read("/w/circle"), PLAIN, GROUND, "ask", "read"),
    (read(), PLAIN, GROUND, "ask", "read"),
    (read("/data/attachments/s1/notes.md"), PLAIN, GROUND, "approve", "read"),
    (read("/data/attachments/s2/notes.md"), PLAIN, GROUND, "ask", "read"),
    (read("/data/attachments/s1/../s2/notes.md"), PLAIN, GROUND, "ask", "read"),
    (read("/data/attachments/s1/notes.md"), PLAIN, replace(GROUND, attached_here=None), "ask", "read"),
    (read("/etc/passwd"), PLAIN, replace(GROUND, attachments=frozenset({"/etc/passwd"})), "approve", "read"),
    (read("/linked/in"), PLAIN, replace(GROUND, roots=("/linked",)), "approve", "read"),
    (read("/real/root/in"), PLAIN, replace(GROUND, roots=("/linked",)), "approve", "read"),
    (read("a.py"), PLAIN, replace(GROUND, roots=()), "ask", "read"),
    (write("/w/src/app.ts"), PLAIN, GROUND, "approve", "write"),
    (write("/w/new/deep/file.ts"), PLAIN, GROUND, "approve", "write"),
    (write("/w/.env"), PLAIN, GROUND, "ask", "write"),
    (write("/w/a.py", "/w/.env"), PLAIN, GROUND, "ask", "write"),
    (write("/w/out/new"), PLAIN, GROUND, "ask", "write"),
    (write("/w/nowhere"), PLAIN, GROUND, "ask", "write"),
    (write("/w/closed/x"), PLAIN, GROUND, "ask", "write"),
    (write("/etc/passwd"), PLAIN, GROUND, "ask", "write"),
    (write("/w/a\0b"), PLAIN, GROUND, "ask", "write"),
    (write("/w/a\nb"), PLAIN, GROUND, "ask", "write"),
    (write("/w/a:stream"), PLAIN, GROUND, "ask", "write"),
    (write("/w/src\\app.ts"), PLAIN, GROUND, "ask", "write"),
    (write("//server/share/x"), PLAIN, GROUND, "ask", "write"),
    (write("/w/CON"), PLAIN, GROUND, "ask", "write"),
    (write("/w/lpt1.txt"), PLAIN, GROUND, "ask", "write"),
    (write("/w/name."), PLAIN, GROUND, "ask", "write"),
    (write("/w/name "), PLAIN, GROUND, "ask", "write"),
    (write("/home/ada/.bashrc"), PLAIN, replace(GROUND, roots=("/home/ada",)), "ask", "write"),
    (write("/home/ada/Library/x"), PLAIN, replace(GROUND, roots=("/home/ada",)), "ask", "write"),
    (write("/home/ada/x/.hidden"), PLAIN, replace(GROUND, roots=("/home/ada",)), "approve", "write"),
    (write("/home/ada/.local/w/x"), PLAIN, replace(GROUND, roots=("/home/ada/.local/w",)), "approve", "write"),
    (write(), PLAIN, GROUND, "ask", "write"),
    (shell("ls"), PLAIN, GROUND, "approve", "shell"),
    (shell("ls", language="sh"), PLAIN, GROUND, "approve", "shell"),
    (shell("ls", language="zsh"), PLAIN, GROUND, "ask", "shell"),
    (shell("ls", language=None), PLAIN, GROUND, "ask", "shell"),
    (shell("ls"), PLAIN, replace(GROUND, tables=Tables(shell=False)), "ask", "shell"),
    (shell("ls"), PLAIN, replace(GROUND, roots=()), "ask", "shell"),
    (shell("cat passwd", directory="/etc"), PLAIN, GROUND, "ask", "shell"),
    (shell("cat app.ts", directory="/w/src"), PLAIN, GROUND, "approve", "shell"),
    (Intent("url", urls=("https://example.org/",)), PLAIN, GROUND, "ask", "otherwise"),
    (Intent("mcp", tool="mcp__a__b"), PLAIN, GROUND, "ask", "otherwise"),
    (Intent("tool"), PLAIN, GROUND, "ask", "otherwise"),
]


@pytest.mark.parametrize(("intent", "standing", "ground", "outcome", "row"), TABLE)
def test_each_row_decides_what_it_says(intent, standing, ground, outcome, row):
    """§5.11: the first row that decides counts."""
    found = verdict(intent, standing, ground)
    assert (found.outcome, found.row) == (outcome, row), found.reason


def test_the_table_has_every_row():
    assert {row for *_, row in TABLE} == set(ROWS)


def test_a_question_of_a_rule_is_on_purpose_and_the_last_row_is_not():
    """M6.8."""
    assert verdict(write("/w/.env")).on_purpose
    assert not verdict(Intent("tool")).on_purpose
    assert not verdict(write("/w/a.py")).on_purpose


def test_s21_env_files_are_asked_about_and_sources_are_not():
    assert verdict(write("/w/.env")).outcome == "ask"
    assert verdict(write("/w/src/app.ts")).outcome == "approve"


def test_s22_a_link_in_the_root_that_points_outside_is_asked_about():
    found = verdict(write("/w/out/x"))
    assert found.outcome == "ask"
    assert found.reason.message == "approval.path.leadsOutside"
    assert found.reason.values == {"path": "/w/out/x", "real": "/etc/x"}


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("ls && rm -rf /", "approval.shell.refused"),
        ("echo x > $F", "approval.shell.target"),
        ("FOO=1 ls", "approval.shell.assignment"),
    ],
)
def test_s23_three_ways_to_hide_something_are_asked_about(command, message):
    found = verdict(shell(command))
    assert (found.outcome, found.reason.message) == ("ask", message)


def test_s24_without_the_parser_every_command_asks():
    """K16: fail closed."""
    for command in ("ls", "git status", "true", "echo hi"):
        found = decide(Call("t", shell(command)), PLAIN, GROUND, FACTS, None)
        assert (found.outcome, found.reason.message) == ("ask", "approval.shell.noParser")


def test_a_library_that_cannot_be_imported_is_a_missing_parser(monkeypatch):
    """K16."""
    monkeypatch.setitem(__import__("sys").modules, "tree_sitter_bash", None)
    assert load() is None


@pytest.mark.parametrize(
    ("command", "outcome"),
    [
        ("make test", "approve"),
        ("make test -j4", "approve"),
        ("make", "ask"),
        ("make testing", "ask"),
        ("make test $X", "ask"),
        ("make test > /etc/x", "ask"),
        ("make test && make", "ask"),
        ("npm run lint", "approve"),
        ("npm run lint; echo x", "ask"),
        ("ls --secret", "ask"),
        ("ls", "approve"),
        ("rm x", "ask"),
        ("tool a | tool b", "approve"),
        ("tool a | tool c", "ask"),
    ],
)
def test_an_operators_rules_allow_and_refuse_commands(command, outcome):
    """§5.11: a word is a prefix, /regex/ a pattern; what refuses comes first."""
    rules = (
        CommandRule("make test", True),
        CommandRule("/npm run [a-z]+/", True),
        CommandRule("echo", False),
        CommandRule("/--secret/", False),
        CommandRule("rm", True),
        CommandRule("/tool a \\| tool b/", True, whole_line=True),
    )
    assert verdict(shell(command), ground=replace(GROUND, tables=Tables(commands=rules))).outcome == outcome


@pytest.mark.parametrize(
    ("path", "outcome"),
    [
        ("/w/package.json", "approve"),
        ("/w/sub/package.json", "ask"),
        ("/w/src/generated.ts", "ask"),
        ("/w/src/app.ts", "approve"),
        ("/w/AGENTS.md", "ask"),
    ],
)
def test_an_operators_file_rules_change_the_table_but_not_what_is_always_asked_about(path, outcome):
    rules = (FileRule("package.json", True), FileRule("**/generated.ts", False), FileRule("**/agents.md", True))
    assert verdict(write(path), ground=replace(GROUND, tables=Tables(files=rules))).outcome == outcome
