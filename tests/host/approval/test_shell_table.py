"""Each default of the shell table, and what it is not allowed with (reference §5.11, row 10; K16)."""

import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from innkeeper.host.approval import Call, Ground, Standing, decide
from innkeeper.host.approval.shell.grammar import load
from innkeeper.host.approval.shell.programs import DOCKER, GIT, NPM, PROGRAMS, REFUSED
from innkeeper.host.approval.shell.sed import is_harmless
from innkeeper.ports.questions import Intent
from innkeeper.workspace.paths import LocalPaths
from scripted.paths import NamedPaths

PARSE = load()
FACTS = NamedPaths(
    files=["/w/a.py", "/w/b.py", "/w/d/x", "/etc/passwd"], links={"/w/out": "/etc/passwd", "/w/-link": "/etc/passwd"}
)
GROUND = Ground(roots=("/w",), home="/home/ada")


def decided(command: str) -> tuple[str, str]:
    intent = Intent("shell", command=command, language="bash")
    found = decide(Call("shell", intent), Standing(), GROUND, FACTS, PARSE)
    return found.outcome, found.reason.message.removeprefix("approval.")


USES = {
    "command": "command -v ls",
    "node": "node --version",
    "python": "python --version",
    "python3": "python3 --version",
    "sed": "sed -n 1,5p a.py",
    "date": "date +%s",
    "git": "git status",
    "docker": "docker ps",
    "npm": "npm ls",
    "cd": "cd d",
    "test": "test -f a.py",
    "grep": "grep -n x a.py",
    "egrep": "egrep x a.py",
    "fgrep": "fgrep x a.py",
    "rg": "rg x",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_program_of_the_table_runs_without_a_question(name):
    assert decided(USES.get(name, name)) == ("approve", "shell.all")


def git_lines() -> list[str]:
    whole = [name for name, row in GIT.items() if not row.subcommands]
    parts = [f"{name} {inner}" for name, row in GIT.items() for inner in row.subcommands]
    return [f"git {line}" for line in (*whole, *parts)]


@pytest.mark.parametrize(
    "line",
    [
        *git_lines(),
        *(f"docker {name} {next(iter(row.subcommands), '')}" for name, row in DOCKER.items()),
        *(f"npm {name}" for name in NPM if name != "ci"),
        "npm ci --ignore-scripts",
    ],
)
def test_each_subcommand_of_the_table_runs_without_a_question(line):
    assert decided(line) == ("approve", "shell.all")


@pytest.mark.parametrize("name", [name for names in REFUSED.values() for name in names])
def test_each_refused_program_is_asked_about(name):
    assert decided(f"{name} x") in (("ask", "shell.refused"), ("ask", "shell.construct"))


APPROVED = [
    "ls",
    "ls -la /w",
    "ls *.py",
    "cat ./*.py",
    "cat -- a.py",
    "cat a.py | head -n 5 | wc -l",
    "(ls; pwd)",
    "{ ls; }",
    "ls & pwd",
    "ls ; pwd",
    "ls\npwd",
    "ls # a comment",
    "ls && pwd || echo no",
    "ls |& cat",
    "ls \\\n  -la",
    "ls 2>/dev/null",
    "ls > /dev/null 2>&1",
    "ls > out.txt",
    "ls >> d/out.txt 2>&1",
    "cat < a.py",
    "cat <<< 'x'",
    "cat > notes.md <<'EOF'\n$(rm x) `y` $z\nEOF",
    "cat <<EOF > notes.md\nplain words\nEOF\n",
    "cat <<-EOF\n\tplain\n\tEOF\nls",
    'echo "exit: $?"',
    "echo $PWD",
    "echo $(ls | wc -l)",
    'echo "there are $(ls | wc -l) files"',
    "echo 'it''s'",
    'echo "a \\"b\\""',
    "grep -rn 'a|b' d",
    "grep foo\\|bar a.py",
    "grep -rn '/api/v1' d",
    "grep -c --include='*.py' -rn x",
    "find . -name '*.py' -not -path './d/*'",
    "find . \\( -name a -o -name b \\) -print",
    "git log --oneline -5 HEAD~1..HEAD",
    "git show HEAD@{1}:a.py",
    "git diff -- a.py",
    "git --no-pager diff",
    "git branch -vv",
    "git --version",
    "cd d && ls x",
    "cd /w && git status",
    "sed -n '/x/,/y/p' a.py",
    "sed 's/a/b/g' a.py",
    "sed -e 's/a/b/' -e '$d' a.py",
    "npm ls --depth=0",
    "npm ls --depth 0",
    "bash -lc 'ls -la | head'",
    "/bin/bash -c \"git status\"",
    "sort -u a.py | uniq -c",
    "test -f a.py && cat a.py",
]  # fmt: skip

ASKED = [
    ("", "shell.number"),
    ("# nothing", "shell.number"),
    ("ls &&", "shell.unreadable"),
    ("ls 'x", "shell.unreadable"),
    ("ls $(", "shell.unreadable"),
    ("make", "shell.unknown"),
    ("./ls", "shell.unknown"),
    ("/bin/ls", "shell.unknown"),
    ("'ls'", "shell.name"),
    ('"ls"', "shell.name"),
    ("l's'", "shell.name"),
    ("r\\m x", "shell.name"),
    ("$CMD x", "shell.name"),
    ("$(echo ls)", "shell.name"),
    ("r\\\nm x", "shell.continuation"),
    ("ls\\ \\\nx", "shell.continuation"),
    ("ls\u00a0-la", "shell.character"),
    ("ls\r\nrm x", "shell.character"),
    ("ls \u202eabc", "shell.character"),
    ("ls \0", "shell.character"),
    ("ls\x0crm", "shell.character"),
    ("FOO=1 ls", "shell.assignment"),
    ("PATH=. ls", "shell.assignment"),
    ("PATH=.", "shell.construct"),
    ("ls; PATH=.; ls", "shell.construct"),
    ("export PATH=.", "shell.construct"),
    ("ls() { rm x; }; ls", "shell.construct"),
    ("if true; then ls; fi", "shell.construct"),
    ("for f in a; do ls; done", "shell.construct"),
    ("while true; do ls; done", "shell.construct"),
    ("case x in x) ls;; esac", "shell.construct"),
    ("[[ -f a ]] && ls", "shell.construct"),
    ("[ -f a ] && ls", "shell.construct"),
    ("(( x = 1 ))", "shell.construct"),
    ("! ls", "shell.construct"),
    ("cat <(ls)", "shell.construct"),
    ("echo ${x@P}", "shell.construct"),
    ("echo $((1 + 1))", "shell.construct"),
    ("echo $'a\\'b'", "shell.construct"),
    ("echo `ls`", "shell.backquotes"),
    ('echo "`ls`"', "shell.backquotes"),
    ("echo hi!", "shell.sign"),
    ('echo "hi!"', "shell.sign"),
    ("echo $SECRET", "shell.dynamic"),
    ('echo "$SECRET"', "shell.dynamic"),
    ("ls $PWD", "shell.dynamic"),
    ("cat $(ls)", "shell.dynamic"),
    ("echo $(rm x)", "shell.refused"),
    ('echo "$(rm x)"', "shell.refused"),
    ("cat ~/x", "shell.dynamic"),
    ("ls --x=~/y", "shell.dynamic"),
    ("ls {a,b}", "shell.dynamic"),
    ("ls {1..3}", "shell.construct"),
    ("ls [ab]", "shell.dynamic"),
    ("find * -name x", "shell.dynamic"),
    ("sort *.py", "shell.dynamic"),
    ("cat /etc/passwd", "path.outside"),
    ("cat ../x", "path.outside"),
    ("cat out", "path.leadsOutside"),
    ("cat o*", "path.leadsOutside"),
    ("cat -- -link", "path.leadsOutside"),
    ("grep -f out x", "path.leadsOutside"),
    ("grep -fout x", "path.leadsOutside"),
    ("grep -nfout x", "path.leadsOutside"),
    ("grep --file=out x", "path.leadsOutside"),
    ("grep -e x /etc/passwd", "path.outside"),
    ("grep -f /etc/passwd x", "path.outside"),
    ("grep --regexp x /etc/passwd", "path.outside"),
    ("rg x /etc", "path.outside"),
    ("cd d && cat ../../x", "path.outside"),
    ("cd d && ls ..", "path.outside"),
    ("cd d; cd ..; ls ..", "path.outside"),
    ("cd /etc && ls", "path.outside"),
    ("cd", "shell.change"),
    ("cd -", "shell.change"),
    ("cd d d", "shell.change"),
    ("cd d; cd d; cd d; cd d", "shell.changes"),
    ("cd d && git status", "shell.gitElsewhere"),
    ("find . -ex?c x {} +", "shell.dynamic"),
    ("find . -d*", "shell.dynamic"),
    ("uniq a*", "shell.dynamic"),
    ("xxd a?py", "shell.dynamic"),
    ("find . ''*", "shell.dynamic"),
    ('sort ""?o', "shell.dynamic"),
    ("git log -*", "shell.dynamic"),
    ("ls > /etc/x", "path.outside"),
    ("ls > .env", "path.guarded"),
    ("ls > AGENTS.md", "path.always"),
    ("ls > out", "path.leadsOutside"),
    ("> .git/config", "path.guarded"),
    ("> .git/hooks/pre-commit", "path.always"),
    ("ls > $F", "shell.target"),
    ("ls > ~/x", "shell.target"),
    ("ls > a%b", "shell.target"),
    ("ls > a{b", "shell.target"),
    ("ls > *.py", "shell.target"),
    ("ls >& $F", "shell.target"),
    ("ls &> /etc/x", "path.outside"),
    ("ls >| /etc/x", "path.outside"),
    ("cat < /etc/passwd", "path.outside"),
    ("cat < /dev/tcp/example.org/80", "path.outside"),
    ("ls <> a", "shell.unreadable"),
    ("ls > a b", "shell.construct"),
    ("cat <<EOF\n$(ls)\nEOF", "shell.dynamic"),
    ("cat <<EOF\n`ls`\nEOF", "shell.dynamic"),
    ("cat <<A <<B\nA\nB", "shell.unreadable"),
    ("cat <<E*\nx\nE*", "shell.construct"),
    ("cat <<< $X", "shell.dynamic"),
    ("ls | xargs rm", "shell.refused"),
    ("ls | sh", "shell.refused"),
    ("eval ls", "shell.refused"),
    ("bash -c 'rm x'", "shell.refused"),
    ("bash -c 'bash -c ls'", "shell.refused"),
    ("bash script.sh", "shell.refused"),
    ("zsh -c ls", "shell.refused"),
    ("mkfs.ext4 /dev/sda", "shell.refused"),
    ("python", "shell.onlyWith"),
    ("cat a.py | python3", "shell.onlyWith"),
    ("python3 -c x", "shell.onlyWith"),
    ("python3 --version -c x", "shell.option"),
    ("node a.js", "shell.onlyWith"),
    ("command rm x", "shell.onlyWith"),
    ("command rm -v x", "shell.onlyWith"),
    ("find . -delete", "shell.option"),
    ("find . -exec rm {} +", "shell.option"),
    ("find . -fprintf x y", "shell.option"),
    ("rg --pre ./x y", "shell.option"),
    ("rg --pre=./x y", "shell.option"),
    ("rg -z y", "shell.option"),
    ("rg -nz y", "shell.option"),
    ("sort -o x a.py", "shell.option"),
    ("sort -uo x a.py", "shell.option"),
    ("sort --out x a.py", "shell.option"),
    ("sort --compress-prog=./x a.py", "shell.option"),
    ("uniq a.py b.py", "shell.operands"),
    ("xxd a.py out", "shell.operands"),
    ("date -s 1", "shell.option"),
    ("date 01010000", "shell.option"),
    ("tree -o x", "shell.option"),
    ("diff -l a b", "shell.option"),
    ("test -v x", "shell.option"),
    ("sed -i s/a/b/ a.py", "shell.option"),
    ("sed -ni s/a/b/ a.py", "shell.option"),
    ("sed --in-place s/a/b/ a.py", "shell.option"),
    ("sed -f x a.py", "shell.option"),
    ("sed 'w out' a.py", "shell.script"),
    ("sed s/a/b/w", "shell.script"),
    ("sed s/a/ls/e a.py", "shell.script"),
    ("sed 1e a.py", "shell.script"),
    ("sed -n -e p -e 'w x' a.py", "shell.script"),
    ("sed", "shell.script"),
    ("git", "shell.subcommand"),
    ("git push", "shell.subcommand"),
    ("git -c core.pager=x log", "shell.option"),
    ("git --exec-path=. log", "shell.option"),
    ("git --git-dir=x log", "shell.option"),
    ("git log --output=x", "shell.option"),
    ("git log --outp x", "shell.option"),
    ("git grep -O x", "shell.option"),
    ("git grep --open-files=x y", "shell.option"),
    ("git diff --ext-diff", "shell.option"),
    ("git diff --no-index /etc/passwd a.py", "path.outside"),
    ("git branch new", "shell.operands"),
    ("git branch -D x", "shell.option"),
    ("git tag v1", "shell.operands"),
    ("git remote add x y", "shell.operands"),
    ("git stash", "shell.subcommand"),
    ("git stash drop", "shell.subcommand"),
    ("git worktree add x", "shell.subcommand"),
    ("docker run x", "shell.subcommand"),
    ("docker -H tcp://x ps", "shell.option"),
    ("docker image rm x", "shell.subcommand"),
    ("npm install", "shell.subcommand"),
    ("npm run x", "shell.subcommand"),
    ("npm ci", "shell.onlyWith"),
    ("npm ci --ignore-scripts=false", "shell.onlyWith"),
    ("npm ci --ignore-scripts --ignore-scripts=false", "shell.option"),
    ("npm audit fix", "shell.operands"),
    ("npm ls --prefix /etc", "shell.option"),
    ("ls " + "a" * 10_000, "shell.tooLong"),
    (";".join(["ls"] * 51), "shell.number"),
    ("(" * 3000 + "ls" + ")" * 3000, "shell.unreadable"),
]  # fmt: skip


@pytest.mark.parametrize("command", APPROVED)
def test_a_line_that_only_looks_runs_without_a_question(command):
    assert decided(command) == ("approve", "shell.all")


@pytest.mark.parametrize(("command", "why"), ASKED)
def test_a_line_that_may_do_more_is_asked_about_and_says_why(command, why):
    assert decided(command) == ("ask", why)


@pytest.mark.parametrize(
    ("files", "links", "found"),
    [
        (["/w/HEAD", "/w/config"], {}, ("ask", "shell.gitBare")),
        (["/HEAD"], {}, ("ask", "shell.gitBare")),
        (["/w/x"], {"/w/HEAD": "refs/heads/gone"}, ("ask", "shell.gitBare")),
        (["/w/HEAD", "/w/.git"], {}, ("approve", "shell.all")),
        (["/w/d/HEAD", "/w/heads"], {}, ("approve", "shell.all")),
    ],
)
def test_git_asks_where_a_folder_itself_may_be_the_repository(files, links, found):
    """Its `config` is then a file that may be written without a question, and names programs for `git status`."""
    intent = Intent("shell", command="git status", language="bash")
    verdict = decide(Call("shell", intent), Standing(), GROUND, NamedPaths(files=files, links=links), PARSE)
    assert (verdict.outcome, verdict.reason.message.removeprefix("approval.")) == found


def test_git_asks_in_a_bare_repository_of_this_machine(tmp_path):
    place = tmp_path / "with [brackets]"
    for name, options, outcome in (("bare", ["--bare"], "ask"), ("plain", [], "approve")):
        subprocess.run(["git", "init", "--quiet", *options, place / name], check=True)
        intent, ground = Intent("shell", command="git status", language="bash"), Ground(roots=(str(place / name),))
        assert decide(Call("shell", intent), Standing(), ground, LocalPaths(), PARSE).outcome == outcome


HARMLESS = "p|5p|1,5p|$p|/x/p|/x/,/y/d|2,+3p|5q|=|s/a/b/|s,a,b,g|s#a#b#2p|1d;5p|s/[ab]/x/|/x/!d"


@pytest.mark.parametrize("script", [*HARMLESS.split("|"), "s|a|b|g"])
def test_a_script_of_sed_that_prints_is_harmless(script):
    assert is_harmless(script)


HARMFUL = (
    "w x|5w x|r /etc/passwd|e|1e ls|s/a/b/e|s/a/b/w x|s/a/b/gw x|p;w x|p\nw x|s/a/b\n/w x||{p}|s/[/]/p;s/w f/g/"
    "|s/[/]/x/w out|y/a/b/|a x|i\\x|c x|W x|R x|s/a/b/M|F|/[/]p;w x/p"
)


@pytest.mark.parametrize("script", HARMFUL.split("|"))
def test_a_script_of_sed_that_may_do_more_is_not(script):
    assert not is_harmless(script)


def test_several_threads_may_judge_at_once():
    """The host decides in threads."""
    lines = [*APPROVED, *(command for command, _ in ASKED)] * 3
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(decided, lines)) == [decided(line) for line in lines]
