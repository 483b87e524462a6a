"""The pull request of a branch, from the local `gh` program (contributions `githubReferences`).

Rules
* `gh` asks GitHub with its own login; this host gives it no token and reads none. It may not ask anybody anything.
* Whatever goes wrong, no program, no login, no answer within the time, is no pull request; the log says which.
"""

import asyncio
import json
import logging
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final
from urllib.parse import urlsplit

from innkeeper.ports.pull_requests import PullRequest
from innkeeper.protocol.uris import local_path

log = logging.getLogger(__name__)

SECONDS: Final = 20.0
ANSWER_BYTES: Final = 64 * 1024
FIELDS: Final = ("number", "title", "url", "state")


class GhPullRequests:
    """`environment` is the host's own, for the login of `gh`."""

    def __init__(self, environment: Mapping[str, str], *, program: str = "gh", seconds: float = SECONDS) -> None:
        self._environment = {**environment, "GH_PROMPT_DISABLED": "1", "GH_NO_UPDATE_NOTIFIER": "1", "NO_COLOR": "1"}
        self._program = program
        self._seconds = seconds

    async def of_branch(self, directory: str) -> PullRequest | None:
        path = local_path(directory)
        if path is None:
            return None
        try:
            process = await asyncio.create_subprocess_exec(
                *(self._program, "pr", "view", "--json", ",".join(FIELDS)),
                cwd=path,
                env=self._environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                limit=ANSWER_BYTES,
                start_new_session=True,
            )
        except OSError as error:
            log.info("no pull request is looked up: %s", error.strerror)
            return None
        return await self._answer(process)

    async def _answer(self, process: asyncio.subprocess.Process) -> PullRequest | None:
        try:
            async with asyncio.timeout(self._seconds):
                out, _ = await process.communicate()
        except TimeoutError:
            log.info("gh did not answer in %g s", self._seconds)
            return None
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        if process.returncode != 0:
            log.debug("gh knows no pull request of this branch (exit code %d)", process.returncode)
            return None
        return read_answer(out)


def read_answer(out: bytes) -> PullRequest | None:
    """What `gh` printed; None for anything else than a pull request."""
    try:
        found: Any = json.loads(out)
        number, title, url, state = (found[name] for name in FIELDS)
    except (ValueError, KeyError, TypeError):
        return None
    web = isinstance(url, str) and urlsplit(url).scheme == "https"
    if not (isinstance(number, int) and isinstance(title, str) and web and isinstance(state, str)):
        return None
    return PullRequest(number, title[:500], url, state)
