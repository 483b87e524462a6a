"""The two versions that `status` shows side by side: of the code that runs, and of what is installed now.

They differ after an upgrade under a running host: changed code needs a restart (architecture §7). The packaging reads
`__version__` from here. A leaf module; the metadata library is imported late, since it costs a tenth of a start.
"""

from pathlib import Path
from typing import Final

DISTRIBUTION: Final = "innkeeper"
__version__ = "0.1.0"


def running_version() -> str:
    """The version of the imported code, fixed when this module was imported."""
    return __version__


def installed_version() -> str | None:
    """The version of the installed distribution, read now; None when the code runs from a tree that is not installed.

    Reads the metadata anew on each call: a wheel that replaced this one while the process ran is seen.
    """
    from importlib import metadata

    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return None


def installed_from() -> Path:
    """The folder of the running package."""
    return Path(__file__).resolve().parent
