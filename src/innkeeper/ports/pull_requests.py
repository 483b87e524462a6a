"""The pull request that belongs to the branch of a directory."""

from typing import NamedTuple, Protocol


class PullRequest(NamedTuple):
    number: int
    title: str
    url: str
    state: str
    """As the service says: OPEN, MERGED, CLOSED."""


class PullRequests(Protocol):
    """Pull requests, as a local program knows them."""

    async def of_branch(self, directory: str) -> PullRequest | None:
        """`directory` is a URI. None where there is none, or it cannot be known; never raises for that."""
        ...


class NoPullRequests:
    """Nothing is looked up."""

    async def of_branch(self, directory: str) -> PullRequest | None:
        return None
