#!/usr/bin/env bash
# Builds the documentation; a warning is a failure. The site goes to site/, which git ignores.
set -euo pipefail
cd "$(dirname "$0")/.."
export NO_COLOR=1
output=$(zensical build --clean --strict 2>&1) || { printf '%s\n' "$output"; exit 1; }
printf '%s\n' "$output"
if grep -Eqi 'warning|[1-9][0-9]* issues? found' <<<"$output"; then
  echo "docs: the build warned" >&2
  exit 1
fi
towncrier build --draft --version next >/dev/null
