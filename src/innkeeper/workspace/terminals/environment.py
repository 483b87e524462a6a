"""What a terminal's shell finds in its environment (contributions reference §5.10). Pure.

Rules
* It is the environment of the host without what is the host's own: its options, which hold its token, the variables in
  which it was given the values of `input` variables, and what other terminals said about themselves.
* Text is UTF-8, whatever the host was started with.
* Where an agent's commands run, that is said (`AI_AGENT`), and nothing waits for a person: no pager, no question of git
  or apt.
"""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final

OWN_PREFIX: Final = "INNKEEPER_"
FOREIGN: Final = ("VSCODE_", "ITERM_", "KITTY_", "WEZTERM_", "GHOSTTY_", "TERM_PROGRAM", "VTE_VERSION", "TMUX", "STY")
"""What another terminal told its own shells, by the beginning of the name."""
PLACE: Final = frozenset({"COLUMNS", "LINES", "OLDPWD", "WINDOWID", "SHLVL", "_"})
"""What was true of the place where the host was started."""

QUIET: Final[Mapping[str, str]] = MappingProxyType(
    {
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        "GH_PAGER": "cat",
        "MANPAGER": "cat",
        "SYSTEMD_PAGER": "cat",
        "BAT_PAGER": "cat",
        "AWS_PAGER": "",
        "GIT_TERMINAL_PROMPT": "0",
        "GCM_INTERACTIVE": "never",
        "DEBIAN_FRONTEND": "noninteractive",
        "AI_AGENT": "innkeeper",
    }
)


def shell_environment(
    host: Mapping[str, str], *, directory: str, shell: str, agent: bool, withheld: Collection[str] = ()
) -> dict[str, str]:
    """The whole environment of a shell in `directory`; `withheld` are names of variables with secrets of the host."""
    kept = {name: value for name, value in host.items() if name not in withheld and not _is_dropped(name)}
    kept |= {"TERM": "xterm-256color", "PWD": directory, "SHELL": shell, "TERM_PROGRAM": "innkeeper"}
    if not _is_utf8(kept):
        kept.pop("LC_ALL", None)
        kept["LC_CTYPE"] = "C.UTF-8"
    if agent:
        kept |= QUIET
    return kept


def _is_dropped(name: str) -> bool:
    return name in PLACE or name.startswith((OWN_PREFIX, *FOREIGN))


def _is_utf8(environment: Mapping[str, str]) -> bool:
    effective = next((environment[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if environment.get(name)), "")
    return "utf8" in effective.lower().replace("-", "")
