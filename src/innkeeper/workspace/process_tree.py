"""Which processes belong to a child that this host started (M5.6).

Rules
* A tree is the leader's group, its session and every descendant: a wrapper script, a helper that changed its group and
  one whose parent has died are all in it as long as one of the three holds, or held when the tree was looked at.
* A process is known by pid and start time, so a pid that was given to a stranger is never signalled.
* A zombie counts as dead: who must reap it is not ours to wait for.
"""

import contextlib
import os
import signal
from collections.abc import Iterable

import psutil


def find_tree(leader: int, *, reaped: bool) -> set[psutil.Process]:
    """The living processes of the tree. `reaped` says that the leader has been waited for: a process with its pid is
    then a stranger, and so is that stranger's group."""
    pids = psutil.pids()
    if reaped and leader in pids:
        return set()
    found: set[psutil.Process] = set()
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError, psutil.Error):
            if os.getpgid(pid) == leader or os.getsid(pid) == leader:
                found.add(psutil.Process(pid))
    for process in tuple(found):
        with contextlib.suppress(psutil.Error):
            found.update(process.children(recursive=True))
    return living(found)


def living(processes: Iterable[psutil.Process]) -> set[psutil.Process]:
    return {process for process in processes if _lives(process)}


def send(number: signal.Signals, processes: Iterable[psutil.Process]) -> None:
    """Signal each; one that has gone, or may not be signalled, is skipped and stays visible to `living`."""
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.send_signal(number)


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True
