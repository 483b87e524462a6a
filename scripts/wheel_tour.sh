#!/usr/bin/env bash
# Installs a wheel as a stranger would (fresh environment, no tree beside it) and runs the main job from it.
# usage: wheel_tour.sh WHEEL
set -euo pipefail
wheel=$(realpath "$1")
tree=$(cd "$(dirname "$0")/.." && pwd)
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
cd "$room"

uv venv --quiet env
uv export --quiet --project "$tree" --frozen --no-dev --no-emit-project --no-hashes --output-file locked.txt >/dev/null
uv pip install --quiet --python env/bin/python --constraint locked.txt "$wheel"
env/bin/python - <<'PY'
import pathlib

import innkeeper
from innkeeper.texts import LANGUAGES, text

folder = pathlib.Path(innkeeper.__file__).parent
assert "site-packages" in folder.parts, folder
assert (folder / "py.typed").is_file()
assert len({text("error.STORAGE_FULL.remedy", lang=lang) for lang in LANGUAGES}) == len(LANGUAGES)
PY
env/bin/innkeeper --version

# The tour is the main job; an innkeeper without it cannot be released.
INNKEEPER_HOME="$room/home" env/bin/innkeeper tour --json
