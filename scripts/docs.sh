#!/usr/bin/env bash
# Builds the documentation; a warning is a failure. The site goes to site/, which git ignores.
set -euo pipefail
cd "$(dirname "$0")/.."
output=$(zensical build --clean --strict 2>&1) || { printf '%s\n' "$output"; exit 1; }
printf '%s\n' "$output"
if grep -qi 'warning' <<<"$output"; then
  echo "docs: the build warned" >&2
  exit 1
fi
towncrier build --draft --version next >/dev/null
