"""What an agent's process is started with (issue 6 §5).

Rules
* Of the host's environment it gets what every child gets, the keys of its own login, and nothing else.
* Its own folders are the host's, unless the operator shares their login with it.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from innkeeper.ports.environment import inherited
from innkeeper.ports.processes import Command
from innkeeper.providers.acp.profiles import Profile


def command(
    profile: Profile, environment: Mapping[str, str], directory: Path, cwd: str, *, share_login: bool
) -> Command:
    """Makes the folders. Raises OSError."""
    assert profile.program is not None
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    given = {**inherited(environment), **profile.settings}
    given.update({name: environment[name] for name in profile.keys if environment.get(name)})
    if not share_login:
        for name, folder in profile.home.items():
            path = directory / folder
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            given[name] = os.fspath(path)
    return Command(profile.program, profile.arguments, given, cwd)
