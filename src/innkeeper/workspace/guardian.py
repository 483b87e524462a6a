"""The guardian: ends every process group of a host that has died, also by SIGKILL (architecture §5, M5.6).

Run by path as a process of its own (`python -I -S guardian.py`), so it imports the standard library only and as little
of it as it can. Rules

* Its standard input is a socket whose other end only the host holds: `+PID` adds the leader of a group, `*PID` too and
  takes the descriptor that comes with it, `-PID` removes it. End of input means that the host is gone.
* A terminal's descriptor is held until its programs have been found: the host's death hangs no terminal up before that.
  It would end the shell and leave a program in a session of its own with nothing that leads to it.
* At the end of input every registered group, the session of each leader and every descendant get TERM, after
  `GRACE` seconds KILL. It then exits. With nothing registered it exits at once.
* A pid that was given to a stranger in the meantime is left alone: the leader's start time is kept.
* It has a session of its own and ignores TERM, HUP and INT, so a Ctrl-C or a stopped service does not end it first.
"""

import os
import signal
import socket
import time

GRACE = 0.5
"""Seconds between TERM and KILL."""
POLL = 0.02
LIMIT = 3.0
"""Seconds after KILL for which a survivor is tried again."""

Table = dict[int, tuple[int, int, int, str, str]]
"""pid -> parent, group, session, state, start time."""


def read_table() -> Table:
    """Every process of the machine; empty where there is no procfs (there only groups are signalled)."""
    table: Table = {}
    try:
        names = os.listdir("/proc")
    except OSError:
        return table
    for name in names:
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                stat = file.read().decode("latin-1")
        except OSError:
            continue
        fields = stat[stat.rindex(")") + 2 :].split()
        table[int(name)] = (int(fields[1]), int(fields[2]), int(fields[3]), fields[0], fields[19])
    return table


def start_time(pid: int) -> str | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            stat = file.read().decode("latin-1")
    except OSError:
        return None
    return stat[stat.rindex(")") + 2 :].split()[19]


def members(leader: int, started: str | None, table: Table) -> set[int]:
    """The living processes of the leader's group, session and descent; none when its pid is a stranger's now."""
    if leader in table and started is not None and table[leader][4] != started:
        return set()
    found = {leader} if leader in table else set()
    found |= {pid for pid, (_, group, session, _, _) in table.items() if leader in (group, session)}
    grew = True
    while grew:
        children = {pid for pid, row in table.items() if row[0] in found} - found
        found |= children
        grew = bool(children)
    return {pid for pid in found if table[pid][3] not in "ZX"}


def send(number: int, groups: dict[int, str | None], pids: set[int]) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            continue
    if not os.path.isdir("/proc/self"):
        for leader in groups:
            try:
                os.killpg(leader, number)
            except OSError:
                continue


def end(groups: dict[int, str | None]) -> None:
    """TERM, a short wait, KILL; what was seen once stays in the set, though its parent has died."""
    seen: dict[int, str] = {}

    def living() -> set[int]:
        table = read_table()
        for leader, started in groups.items():
            for pid in members(leader, started, table):
                seen.setdefault(pid, table[pid][4])
        same = {pid for pid, started in seen.items() if pid in table and table[pid][4] == started}
        return {pid for pid in same if table[pid][3] not in "ZX"}

    send(signal.SIGTERM, groups, living())
    deadline = time.monotonic() + GRACE
    while living() and time.monotonic() < deadline:
        time.sleep(POLL)
    deadline = time.monotonic() + LIMIT
    while True:
        left = living()
        send(signal.SIGKILL, groups, left)
        if not left or time.monotonic() > deadline:
            return
        time.sleep(POLL)


def main() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    groups: dict[int, str | None] = {}
    held: dict[int, int] = {}
    descriptors: list[int] = []
    host, rest = socket.socket(fileno=0), b""
    while True:
        data, came, _, _ = socket.recv_fds(host, 4096, 64)
        descriptors += came
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            sign, pid = line[:1], int(line[1:])
            if sign == b"-":
                groups.pop(pid, None)
            else:
                groups[pid] = start_time(pid)
            if pid in held:
                os.close(held.pop(pid))
            if sign == b"*" and descriptors:
                held[pid] = descriptors.pop(0)
        if not data:
            break
    if groups:
        end(groups)


if __name__ == "__main__":
    main()
