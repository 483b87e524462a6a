"""Which Copilot there is on this machine, and whether it has what we need (M7.8).

Rules
* Looking starts no process and imports nothing of the SDK.
* The SDK brings no agent, and its own download is never used: the agent is npm's `@github/copilot`, by the operator's
  choice or on the PATH. Of npm's package the program itself is started, not the script that only looks for it.
* Versions in `TESTED` are used as they are. Any other is used if the SDK has what is called here and the agent knows
  the calls that are made; it is never refused for its number.
"""

import importlib.util
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from innkeeper.providers.spi import Unavailable
from innkeeper.texts import text

AGENT: Final = "Copilot"
PACKAGE: Final = "github-copilot-sdk"
MODULE: Final = "copilot"
NPM: Final = "@github/copilot"
INSTALL: Final = "pip install 'innkeeper[copilot]'"
INSTALL_AGENT: Final = f"npm install -g {NPM}"
TESTED: Final = frozenset({("1.0.27", "1.0.102")})
"""Pairs of SDK and agent."""


def sdk_version() -> str | None:
    """The installed SDK's; None where the extra is missing."""
    from importlib import metadata

    try:
        return metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        return None


def find(program: str | None, environment: Mapping[str, str]) -> Path | Unavailable:
    """The agent's program: the operator's choice, else the one on the PATH of `environment`."""
    if importlib.util.find_spec(MODULE) is None:
        reason = text("error.AGENT_EXTRA_MISSING.meaning", agent=AGENT, package=PACKAGE)
        return Unavailable("AGENT_EXTRA_MISSING", reason, INSTALL)
    chosen = os.path.expanduser(program) if program is not None else "copilot"
    found = shutil.which(chosen, path=environment.get("PATH", os.defpath))
    if found is None:
        remedy = INSTALL_AGENT if program is None else text("copilot.programRemedy", program=program)
        return Unavailable("AGENT_BINARY_MISSING", text("error.AGENT_BINARY_MISSING.meaning", agent=AGENT), remedy)
    return _itself(Path(found))


def _itself(program: Path) -> Path:
    """The native program that npm's script would start; the script where that is not beside it."""
    script = program.resolve()
    if script.suffix != ".js":
        return program
    natives = sorted(script.parent.parent.glob("copilot-*/copilot"))
    runnable = [native for native in natives if os.access(native, os.X_OK)]
    return runnable[0] if len(runnable) == 1 else program


def agent_version(program: Path) -> str | None:
    """What npm wrote beside the program; None where it is not known without starting it."""
    try:
        found = json.loads((program.resolve().parent / "package.json").read_bytes())
    except (OSError, ValueError):
        return None
    named = isinstance(found, dict) and str(found.get("name", "")).startswith(NPM)
    return str(found["version"]) if named and found.get("version") else None
