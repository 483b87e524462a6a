"""Choice of the protocol version, and what a peer of a version knows (AHP §2.2).

A host holds baselines and serves every version that its peers may call compatible with one: the caret rule of semantic
versions. The highest fitting offer wins, whatever the client prefers, and is returned letter by letter.
"""

import re
from collections.abc import Sequence
from typing import Final, TypeAlias

from innkeeper.protocol.actions import ACTIONS
from innkeeper.protocol.errors import INVALID_PARAMS, RpcError, unsupported_protocol_version

Version: TypeAlias = tuple[int, int, int]

BASELINES: Final = ("1.0.0", "0.9.0")
"""What this host serves, newest first."""

NEWEST: Final = "1.0.0"
"""What our own client offers first."""

_STRICT = re.compile(r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)", re.ASCII)
_MAX_LENGTH = 64


class MalformedVersion(RpcError):
    """An offer that is not `MAJOR.MINOR.PATCH`; the whole request is refused (-32602)."""

    def __init__(self, position: int) -> None:
        super().__init__(INVALID_PARAMS, f"params.protocolVersions[{position}]: expected MAJOR.MINOR.PATCH")


class UnsupportedVersions(RpcError):
    """No offer fits (-32005); `data.supportedVersions` says what would."""

    def __init__(self, supported: Sequence[str]) -> None:
        error = unsupported_protocol_version(supported)
        super().__init__(error.code, error.message, error.data)
        self.supported = tuple(supported)


def parse(text: object) -> Version | None:
    """The three numbers of a strict version (no leading zeros, no pre-release); None for anything else."""
    if type(text) is not str or len(text) > _MAX_LENGTH:
        return None
    match = _STRICT.fullmatch(text)
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


def fits(version: Version, baseline: Version) -> bool:
    """Whether a version is at least the baseline and promises to be compatible with it (caret rule)."""
    if version < baseline:
        return False
    if baseline[0] > 0:
        return version[0] == baseline[0]
    if baseline[1] > 0:
        return version[:2] == baseline[:2]
    return version == baseline


def choose(offered: Sequence[str], baselines: Sequence[str] = BASELINES) -> str:
    """The highest offer that fits a baseline, exactly as offered.

    Raises `MalformedVersion` if any entry is malformed, else `UnsupportedVersions` if none fits.
    """
    held = [_require(text, position) for position, text in enumerate(baselines)]
    best: tuple[Version, str] | None = None
    for position, text in enumerate(offered):
        version = _require(text, position)
        if any(fits(version, baseline) for baseline in held) and (best is None or version > best[0]):
            best = (version, text)
    if best is None:
        raise UnsupportedVersions(baselines)
    return best[1]


def _require(text: str, position: int) -> Version:
    version = parse(text)
    if version is None:
        raise MalformedVersion(position)
    return version


_SINCE: Final = {spec.type: parse(spec.since) for spec in ACTIONS.values()}


def known_at(version: str, action_type: str) -> bool:
    """Whether a peer of this version knows an action type, capabilities apart.

    Types outside the standard (`x-…`) and versions that cannot be read count as known: their owners ask for them.
    """
    since = _SINCE.get(action_type)
    peer = parse(version)
    return since is None or peer is None or peer >= since
