"""A host whose pages nobody opens pays nothing for them (issue 7 B; the start is measured)."""

import subprocess
import sys

import pytest

HEAVY = ("jinja2", "markdown_it", "pygments", "nh3", "innkeeper.web.site", "innkeeper.client.client")


@pytest.mark.parametrize("module", HEAVY)
def test_a_start_imports_nothing_of_the_web_ui(module: str) -> None:
    code = f"import sys, innkeeper.app.serve, innkeeper.edge.asgi; print({module!r} in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "False"
