# The verbs of this repository. `just ci` is what CI runs; see CONTRIBUTING.md.

set shell := ["bash", "-euo", "pipefail", "-c"]
export PATH := justfile_directory() / ".venv/bin:" + env("PATH")
export UV_PYTHON_DOWNLOADS := "never"

workers := env("INNKEEPER_TEST_WORKERS", "2")

# What there is
default:
    @just --list --unsorted

# The environment of a developer, from the lock file
setup:
    uv sync --frozen

# Write the code as it should look
fmt:
    ruff check --fix --quiet
    ruff format --quiet

# Style, layers, dependencies
lint:
    ruff check
    ruff format --check
    lint-imports --no-cache
    deptry src

# Types, strictly
types:
    mypy
    mypy scripts

# The tests, or some of them: `just test tests/reduce -k toggled`
test *arguments:
    pytest -n {{ workers }} {{ arguments }}

# The gate: its own tests cover reduce/ to the last line and branch. Nothing else is measured: it doubles the time of a run
gate:
    #!/usr/bin/env bash
    set -euo pipefail
    data=$(mktemp -d)
    trap 'rm -rf "$data"' EXIT
    export COVERAGE_FILE="$data/data"
    coverage run -m pytest -n {{ workers }} tests/reduce tests/conformance
    coverage combine --quiet
    coverage report --include='src/innkeeper/reduce/*' --fail-under=100

# All tests under coverage, for the whole figure
cov:
    #!/usr/bin/env bash
    set -euo pipefail
    # Some tests run a part of themselves as another user, who measures too: the data is where everybody may write.
    data=$(mktemp -d)
    trap 'rm -rf "$data"' EXIT
    chmod 1777 "$data"
    export COVERAGE_FILE="$data/data"
    coverage run -m pytest -n {{ workers }}
    coverage combine --quiet
    coverage report --format=total

# Generated pages and tables: fails on any difference; `just drift --write` updates
drift *arguments:
    python scripts/drift.py {{ arguments }}

# The texts catalogue: both languages, used, compiled
i18n:
    python scripts/i18n.py check

# The documentation, without a warning
docs:
    bash scripts/docs.sh

# sdist and wheel; the wheel passes the tour in an environment of its own
dist:
    rm -rf dist
    uv build --quiet
    bash scripts/wheel_tour.sh dist/*.whl

# The long versions: 200 kill rounds instead of 20
soak *arguments:
    INNKEEPER_SOAK=1 pytest -n {{ workers }} --timeout 1800 {{ arguments }}

# The figures: every benchmark, or those named: `just bench store`
bench *names:
    for name in {{ if names == "" { "$(ls benchmarks/bench_*.py | sed 's/.*bench_//; s/[.]py$//')" } else { names } }}; do \
        echo "== $name"; python "benchmarks/bench_$name.py"; \
    done

# Everything that must hold; every test runs once
ci: lint types i18n drift gate (test "--ignore=tests/reduce" "--ignore=tests/conformance") docs dist
