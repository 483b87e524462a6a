"""Which commands only look, and with which options they do more (reference §5.11, row 10). Our own table.

Rules
* A command is allowed only as far as its row goes: the row names what it does *not* cover. No row, no approval.
* `REFUSED` is asked about on purpose, before anything is allowed, whoever allows it.
* What a row cannot know is not allowed: programs that run what a file in the workspace names (build tools, package
  scripts, tool-chain files), programs that print the environment, programs that take code as an argument.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal

WordKind = Literal["paths", "pattern", "text"]


@dataclass(frozen=True, slots=True)
class Program:
    """One allowed program, or one of its subcommands."""

    words: WordKind = "paths"
    """What its words are: `paths` are read (checked as such), `pattern` is `paths` after one pattern, `text` is not."""
    refuse: Sequence[str] = ()
    """Options that it is not allowed with: `-x` alone or in a cluster, `--long` whole or abbreviated."""
    refuse_words: Sequence[str] = ()
    """Words that it is not allowed with, compared whole."""
    only: Sequence[str] | None = None
    """The only options that it is allowed with; `--long=` takes a value in the same word."""
    begins: Sequence[str] = ()
    """Not empty: its first word is one of these."""
    needs: str | None = None
    """An option without which it is not allowed."""
    most: int | None = None
    """The number of words that are no options, at most."""
    first: str | None = None
    """What a word that is no option begins with."""
    subcommands: Mapping[str, "Program"] = field(default_factory=lambda: MappingProxyType({}))
    """Not empty: its first word is one of these, and no option stands before it but those in `only`."""
    effects: bool = False
    """It changes something, although it is allowed."""

    @property
    def option_free(self) -> bool:
        """No option does harm, so that a file name that looks like one does not either."""
        return not (self.refuse or self.refuse_words or self.begins or self.only is not None or self.most is not None)


LOOKS: Final = Program()
TEXT: Final = Program("text")
VERSION: Final = Program("text", only=("--version",), begins=("--version",), most=0)

_GIT: Final = ("--output", "--ext-diff", "--textconv", "-O", "--open-files-in-pager", "--filters")
GIT_LOOKS: Final = Program(refuse=_GIT)

GIT: Final[Mapping[str, Program]] = MappingProxyType(
    {
        **dict.fromkeys(
            (
                "status", "log", "diff", "show", "blame", "annotate", "describe", "shortlog", "rev-parse", "rev-list",
                "ls-files", "ls-tree", "merge-base", "name-rev", "cat-file", "diff-tree", "diff-index", "show-ref",
                "for-each-ref", "count-objects", "check-ignore", "version", "grep", "whatchanged", "cherry",
                "range-diff",
            ),
            GIT_LOOKS,
        ),
        "branch": Program(
            only=("-a", "--all", "-r", "--remotes", "-v", "-vv", "--list", "--show-current", "--no-color"), most=0
        ),
        "tag": Program(only=("-l", "--list", "-n"), most=0),
        "remote": Program(only=("-v", "--verbose"), most=0),
        "stash": Program(subcommands={"list": Program(refuse=_GIT), "show": Program(refuse=_GIT)}),
        "worktree": Program(subcommands={"list": LOOKS}),
        "reflog": Program(subcommands={"show": Program(refuse=_GIT)}),
    }
)  # fmt: skip

DOCKER: Final[Mapping[str, Program]] = MappingProxyType(
    {
        **dict.fromkeys(("ps", "images", "version", "info", "top", "port", "diff", "history", "logs", "events"), TEXT),
        "container": Program(subcommands=dict.fromkeys(("ls", "list", "ps", "top", "port", "diff", "logs"), TEXT)),
        "image": Program(subcommands=dict.fromkeys(("ls", "list", "history"), TEXT)),
        "volume": Program(subcommands=dict.fromkeys(("ls", "list"), TEXT)),
        "network": Program(subcommands=dict.fromkeys(("ls", "list"), TEXT)),
        "context": Program(subcommands=dict.fromkeys(("ls", "list", "show"), TEXT)),
        "system": Program(subcommands={"df": TEXT}),
    }
)

_NPM_LOOKS: Final = Program(
    "text",
    only=("--all", "--json", "--long", "--parseable", "--depth=", "--omit=", "--include=", "--global",
          "-a", "-l", "-p", "-g"),
)  # fmt: skip
NPM: Final[Mapping[str, Program]] = MappingProxyType(
    {
        **dict.fromkeys(("ls", "list", "explain", "why", "root", "prefix", "query"), _NPM_LOOKS),
        "audit": Program("text", only=("--json", "--omit=", "--audit-level="), most=0),
        "ci": Program(
            "text", only=("--ignore-scripts", "--no-audit", "--no-fund"), needs="--ignore-scripts", most=0, effects=True
        ),
    }
)

FIND: Final = Program(
    refuse_words=("-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprint0", "-fprintf", "-fls",
                  "-files0-from"),
)  # fmt: skip

PROGRAMS: Final[Mapping[str, Program]] = MappingProxyType(
    {
        **dict.fromkeys(
            (
                "ls", "cat", "head", "tail", "wc", "nl", "tac", "rev", "cut", "stat", "du", "df", "readlink",
                "realpath", "paste", "fold", "comm", "cmp", "md5sum", "sha1sum", "sha256sum", "sha512sum", "cksum",
                "od", "hexdump", "column", "expand", "unexpand", "cd", "dir", "vdir",
            ),
            LOOKS,
        ),
        **dict.fromkeys(
            ("echo", "true", "false", "pwd", "whoami", "id", "uname", "arch", "nproc", "uptime", "basename",
             "dirname", "which", "type", "tr", "seq", "sleep", "groups", "tty"),
            TEXT,
        ),
        **dict.fromkeys(("node", "python", "python3"), VERSION),
        "test": Program(refuse=("-v", "-R")),
        "date": Program("text", refuse=("-s", "--set", "-f", "--file", "-r", "--reference"), first="+"),
        "command": Program("text", begins=("-v", "-V")),
        "grep": Program("pattern"),
        "egrep": Program("pattern"),
        "fgrep": Program("pattern"),
        "rg": Program("pattern", refuse=("--pre", "--pre-glob", "--hostname-bin", "-z", "--search-zip")),
        "find": FIND,
        "tree": Program(refuse=("-o", "--output", "-R")),
        "file": Program(refuse=("-C", "--compile", "-z", "-Z", "--uncompress", "--uncompress-noreport", "-m",
                                "--magic-file", "-S", "--no-sandbox")),
        "diff": Program(refuse=("-l", "--paginate")),
        "sort": Program(refuse=("-o", "--output", "--compress-program", "-T", "--temporary-directory",
                                "--files0-from")),
        "uniq": Program(most=1),
        "xxd": Program(most=1, refuse=("-r", "-revert")),
        "sed": Program(only=("-n", "-E", "-r", "-u", "-z", "-e", "--quiet", "--silent", "--regexp-extended",
                             "--expression=", "--expression", "--null-data", "--unbuffered")),
        "git": Program(subcommands=GIT, only=("--no-pager", "--no-optional-locks", "--version")),
        "docker": Program(subcommands=DOCKER, only=("--version",)),
        "npm": Program(subcommands=NPM, only=("--version",)),
    }
)  # fmt: skip

REFUSED: Final[Mapping[str, Sequence[str]]] = MappingProxyType(
    {
        "removal": ("rm", "rmdir", "unlink", "shred", "truncate", "srm"),
        "processes": ("kill", "pkill", "killall", "reboot", "shutdown", "halt", "poweroff", "systemctl", "launchctl"),
        "network": ("curl", "wget", "ssh", "scp", "sftp", "rsync", "nc", "ncat", "netcat", "socat", "telnet", "ftp"),
        "permissions": ("chmod", "chown", "chgrp", "chattr", "setfacl", "setcap"),
        "otherUsers": ("sudo", "su", "doas", "pkexec", "runuser"),
        "rawDisk": ("dd", "mkfs", "fdisk", "parted", "mount", "umount", "losetup", "diskutil", "wipefs"),
        "otherCommands": (
            "xargs", "eval", "exec", "source", ".", "env", "nohup", "nice", "timeout", "setsid", "time", "watch",
            "parallel", "bash", "sh", "zsh", "dash", "fish", "ksh", "csh", "pwsh", "busybox", "script", "trap",
            "coproc",
            "builtin", "alias", "enable", "hash", "awk", "gawk", "mawk", "perl", "ruby", "php", "osascript", "tclsh",
        ),
        "environment": ("export", "declare", "typeset", "local", "readonly", "unset", "set", "shopt", "printenv"),
        "schedules": ("crontab", "at", "batch"),
    }
)  # fmt: skip
