"""The adapter of `ports.git` over the installed git program.

`LocalGit` is all that others need.
"""

from innkeeper.workspace.git.local import LocalGit

__all__ = ["LocalGit"]
