"""`just drift`: what is made from the code must equal what is in the tree; `--write` updates it.

Compares texts, never git's state, so that it also holds in a tree with uncommitted work.
"""

import difflib
import os
import subprocess
import sys
from pathlib import Path

os.environ["LC_ALL"] = "C"  # pages are English whatever the developer's language is

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from pages import pages  # noqa: E402


def differences(path: Path, wanted: str) -> str:
    found = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = difflib.unified_diff(
        found.splitlines(), wanted.splitlines(), str(path.relative_to(ROOT)), "made from the code", "", "", 1, ""
    )
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    write = arguments == ["--write"]
    if arguments and not write:
        print(__doc__)
        return 2
    stale = 0
    for name, wanted in pages().items():
        path = ROOT / "docs" / name
        found = differences(path, wanted)
        if found and write:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted, encoding="utf-8")
            print(f"drift: wrote docs/{name}")
        elif found:
            stale += 1
            print(found)
    protocol = ROOT / "scripts" / "drift_protocol.py"
    code = subprocess.run([sys.executable, str(protocol)], check=False).returncode if protocol.exists() else 0
    print(f"drift: {stale} stale pages" + ("; run just drift --write" if stale else ""))
    return 1 if stale or code else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
