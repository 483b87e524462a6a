"""What a shell is started with so that it marks its prompts and commands (OSC 633). Pure.

Rules
* The person's own start-up files are read first, as they would be; then the marks are added around what they made.
* Every mark ends with the nonce. It is a variable of the shell, in no environment, so that no program it runs has it;
  the folder of the scripts is removed by the shell as soon as it has read them.
* In a private shell nothing is written to the person's history, and `!` is no history expansion.
* Shells that cannot say when a command begins (dash, ksh, an old bash) say in their prompt how the last one ended;
  `__ink_run` says the rest.
"""

from typing import Final

LONGEST_LINE: Final = 8_000
"""Characters of a command line that a mark tells; escaped it is at most four times as long."""

BASH: Final = r"""[ -r ~/.bashrc ] && . ~/.bashrc
command rm -rf -- '@FOLDER@'
__ink_nonce='@NONCE@'
if [ '@PRIVATE@' = 1 ]; then
    builtin unset HISTFILE
    HISTCONTROL= HISTIGNORE=
    builtin set +H
fi
__ink_run() { builtin eval "$1"; }
__ink_mark() { builtin printf '\033]633;%s;%s\007' "$1" "$__ink_nonce"; }
__ink_escaped() {
    local LC_ALL=C text=${1:0:@LONGEST@} bs='\'
    text=${text//"$bs"/"$bs$bs"}
    text=${text//;/"${bs}x3b"}
    text=${text//$'\n'/"${bs}x0a"}
    text=${text//$'\r'/"${bs}x0d"}
    text=${text//$'\e'/"${bs}x1b"}
    text=${text//$'\a'/"${bs}x07"}
    builtin printf '%s' "$text"
}
__ink_last() {
    local HISTTIMEFORMAT= last
    last=$(builtin history 1)
    [[ $last =~ ^[[:space:]]*([0-9]+)[*\ ]\ (.*)$ ]] || builtin return
    if [ "$1" = number ]; then
        builtin printf '%s' "${BASH_REMATCH[1]}"
    elif [ "${BASH_REMATCH[1]}" != "$__ink_number" ]; then
        builtin printf '%s' "${BASH_REMATCH[2]}"
    fi
}
__ink_begins() {
    __ink_mark "E;$(__ink_escaped "$(__ink_last)")"
    __ink_mark C
}
__ink_before() {
    local code=$?
    __ink_mark "D;$code"
    __ink_mark "P;Cwd=$(__ink_escaped "$PWD")"
    __ink_number=$(__ink_last number)
    builtin return "$code"
}
__ink_prompt() {
    if [ "$PS1" != "$__ink_ps1" ]; then
        __ink_ps1='\[\033]633;A;@NONCE@\007\]'"$PS1"'\[\033]633;B;@NONCE@\007\]'
        PS1=$__ink_ps1
    fi
    if [ "$PS2" != "$__ink_ps2" ]; then
        __ink_ps2='\[\033]633;F;@NONCE@\007\]'"$PS2"
        PS2=$__ink_ps2
    fi
}
if (( BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404 )); then
    PS0='$(__ink_begins)'"$PS0"
fi
if (( BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 501 )); then
    PROMPT_COMMAND=(__ink_before "${PROMPT_COMMAND[@]}" __ink_prompt)
else
    PROMPT_COMMAND="__ink_before${PROMPT_COMMAND:+
$PROMPT_COMMAND}
__ink_prompt"
fi
"""

ZSH_ENV: Final = r"""__ink_own=$ZDOTDIR
if [[ -n $INNKEEPER_ZDOTDIR ]]; then ZDOTDIR=$INNKEEPER_ZDOTDIR; else unset ZDOTDIR; fi
unset INNKEEPER_ZDOTDIR
[[ -r ${ZDOTDIR:-$HOME}/.zshenv ]] && . "${ZDOTDIR:-$HOME}/.zshenv"
__ink_theirs=$ZDOTDIR
ZDOTDIR=$__ink_own
"""

ZSH_RC: Final = r"""if [[ -n $__ink_theirs ]]; then ZDOTDIR=$__ink_theirs; else unset ZDOTDIR; fi
unset __ink_own __ink_theirs
[[ -r ${ZDOTDIR:-$HOME}/.zshrc ]] && . "${ZDOTDIR:-$HOME}/.zshrc"
command rm -rf -- '@FOLDER@'
typeset -g __ink_nonce='@NONCE@' __ink_ps1= __ink_ps2=
if [[ '@PRIVATE@' == 1 ]]; then
    unset HISTFILE
    unsetopt BANG_HIST PROMPT_SP
fi
__ink_run() { builtin eval "$1" }
__ink_mark() { builtin printf '\033]633;%s;%s\007' "$1" "$__ink_nonce" }
__ink_escaped() {
    emulate -L zsh
    local text=${1:0:@LONGEST@} bs='\'
    text=${text//$bs/$bs$bs}
    text=${text//;/${bs}x3b}
    text=${text//$'\n'/${bs}x0a}
    text=${text//$'\r'/${bs}x0d}
    text=${text//$'\e'/${bs}x1b}
    text=${text//$'\a'/${bs}x07}
    builtin printf '%s' "$text"
}
__ink_begins() {
    __ink_mark "E;$(__ink_escaped "${1:-$3}")"
    __ink_mark C
}
__ink_before() {
    local code=$?
    __ink_mark "D;$code"
    __ink_mark "P;Cwd=$(__ink_escaped "$PWD")"
    return $code
}
__ink_prompt() {
    if [[ $PS1 != $__ink_ps1 ]]; then
        __ink_ps1=$'%{\e]633;A;@NONCE@\a%}'$PS1$'%{\e]633;B;@NONCE@\a%}'
        PS1=$__ink_ps1
    fi
    if [[ $PS2 != $__ink_ps2 ]]; then
        __ink_ps2=$'%{\e]633;F;@NONCE@\a%}'$PS2
        PS2=$__ink_ps2
    fi
}
precmd_functions=(__ink_before $precmd_functions __ink_prompt)
preexec_functions+=(__ink_begins)
"""

POSIX: Final = r"""if [ -n "$INNKEEPER_ENV" ]; then ENV=$INNKEEPER_ENV; . "$ENV"; else unset ENV; fi
unset INNKEEPER_ENV
command rm -rf -- '@FOLDER@'
[ '@PRIVATE@' = 1 ] && unset HISTFILE
__ink_run() {
    __ink_mark C
    eval "$1"
}
__ink_mark() { printf '\033]633;%s;@NONCE@\007' "$1"; }
PS1="$(__ink_mark A)${PS1:-\$ }$(__ink_mark B)"
PS1="$(__ink_mark 'D;$?')$(__ink_mark 'P;Cwd=$PWD')$PS1"
"""


def filled(script: str, *, folder: str, nonce: str, private: bool) -> str:
    """The script of one shell. `folder` has no quotes; `nonce` is letters and digits."""
    values = {"FOLDER": folder, "NONCE": nonce, "PRIVATE": "1" if private else "0", "LONGEST": str(LONGEST_LINE)}
    for name, value in values.items():
        script = script.replace(f"@{name}@", value)
    return script
