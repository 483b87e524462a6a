"""Which shell a terminal runs, how it is started, and how a command is typed into it.

Rules
* It is the person's: `SHELL` of the host's environment, else the account's, else bash, else sh.
* bash, zsh and POSIX shells are instructed. Another one (fish, nu) is started as it is; where an agent's commands are
  to run, bash or sh takes its place, because nobody could tell there when a command has ended.
* A command is one line for the shell, whatever it contains: several lines, or characters that an editing line would
  act upon, are quoted and evaluated.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple

from innkeeper.workspace.terminals import scripts

Kind = Literal["bash", "zsh", "posix", "other"]

KINDS: Final[Mapping[str, Kind]] = {
    "bash": "bash",
    "zsh": "zsh",
    "sh": "posix",
    "dash": "posix",
    "ash": "posix",
    "ksh": "posix",
    "mksh": "posix",
    "busybox": "posix",
}
FALLBACKS: Final = ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/bin/sh")
LINE_BYTES: Final = 4000
"""What a terminal that edits no line itself takes of one (POSIX: MAX_CANON; 4,096 on Linux)."""
FOLDER_PREFIX: Final = "innkeeper-shell-"


class Shell(NamedTuple):
    path: str
    kind: Kind


class Launch(NamedTuple):
    """How an instructed shell is started; `folder` has its scripts, None when there are none."""

    arguments: Sequence[str]
    environment: Mapping[str, str]
    folder: Path | None


def find_shell(environment: Mapping[str, str], *, agent: bool) -> Shell:
    """The shell to start. Raises FileNotFoundError when this machine has none."""
    for path in (environment.get("SHELL"), _of_account(), *FALLBACKS):
        if not path or not os.path.isabs(path) or not os.access(path, os.X_OK):
            continue
        kind = KINDS.get(os.path.basename(path), "other")
        if kind != "other" or not agent:
            return Shell(path, kind)
    raise FileNotFoundError("there is no shell on this machine")


def launch(shell: Shell, nonce: str, environment: Mapping[str, str], *, private: bool) -> Launch:
    """Write the shell's scripts into a folder that nobody else can read. Raises OSError."""
    if shell.kind == "other":
        return Launch((shell.path, "-i"), environment, None)
    import shutil
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX))
    given = dict(environment)

    def write(name: str, script: str) -> str:
        path = folder / name
        path.write_text(scripts.filled(script, folder=os.fspath(folder), nonce=nonce, private=private), "utf-8")
        return os.fspath(path)

    try:
        if shell.kind == "bash":
            return Launch((shell.path, "--init-file", write("bashrc", scripts.BASH), "-i"), given, folder)
        if shell.kind == "zsh":
            write(".zshenv", scripts.ZSH_ENV)
            write(".zshrc", scripts.ZSH_RC)
            given |= {"INNKEEPER_ZDOTDIR": given.get("ZDOTDIR", ""), "ZDOTDIR": os.fspath(folder)}
            return Launch((shell.path, "-i"), given, folder)
        given |= {"INNKEEPER_ENV": given.get("ENV", ""), "ENV": write("shrc", scripts.POSIX)}
        return Launch((shell.path, "-i"), given, folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def typed_command(kind: Kind, command: str) -> bytes | None:
    """What to type at the prompt of an instructed shell; None when it cannot be typed."""
    if not _is_typable(command):
        return None
    if kind == "posix":
        return _line(f"__ink_run {quoted(command)}")
    if "\n" in command or "\t" in command:
        return f"__ink_run {_ansi_quoted(command)}\r".encode()
    return f"{command}\r".encode()


def typed_with_marks(command: str, nonce: str) -> bytes | None:
    """What to type into a shell that is not instructed: the line prints the marks."""
    if not _is_typable(command):
        return None
    begins, ends = f"'\\033]633;C;{nonce}\\007'", f"'\\033]633;D;%s;{nonce}\\007'"
    return _line(f'printf {begins}; eval {quoted(command)}; printf {ends} "$?"')


def quoted(text: str) -> str:
    """One word of any shell of the POSIX family."""
    return "'" + text.replace("'", "'\\''") + "'"


def _ansi_quoted(text: str) -> str:
    escapes = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t"}
    return "$'" + "".join(escapes.get(c, c) for c in text) + "'"


def _line(text: str) -> bytes | None:
    data = text.encode()
    if any(len(line) > LINE_BYTES for line in data.split(b"\n")):
        return None
    return data + b"\r"


def _is_typable(command: str) -> bool:
    return bool(command.strip()) and all(c in "\n\t" or (c >= " " and c != "\x7f") for c in command)


def _of_account() -> str | None:
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_shell
    except KeyError:
        return None
