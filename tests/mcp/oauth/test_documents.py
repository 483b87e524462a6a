"""docs/reference/authentication.md names what there is: commands, reasons, codes, files, limits."""

from pathlib import Path
from typing import get_args

import pytest

from innkeeper.host.authentication import AUTHENTICATION_METHODS
from innkeeper.limits import QUESTION_SECONDS
from innkeeper.mcp.oauth.files import FILE_NAME
from innkeeper.mcp.oauth.tokens import EARLY
from innkeeper.protocol.session.mcp import McpAuthRequiredReason

REFERENCE = Path(__file__).resolve().parents[3] / "docs" / "reference"


@pytest.mark.parametrize(
    "word",
    [
        *sorted(AUTHENTICATION_METHODS),
        *get_args(get_args(McpAuthRequiredReason)[0]),
        "AUTH_REQUIRED",
        "UNSUPPORTED_OAUTH",
        "UNSUPPORTED_AUTH_HELPER",
        "auth/required",
        "chat/toolCallAuthRequired",
        "chat/toolCallAuthResolved",
        "toolAuthentication",
        FILE_NAME,
    ],
)
def test_page_names(word: str) -> None:
    assert f"`{word}`" in (REFERENCE / "authentication.md").read_text(encoding="utf-8")


def test_page_has_the_figures_of_the_code() -> None:
    page = (REFERENCE / "authentication.md").read_text(encoding="utf-8")
    assert f"{EARLY:g} seconds" in page
    assert QUESTION_SECONDS == 600 and "ten minutes" in page


def test_own_commands_are_on_their_page() -> None:
    page = (REFERENCE / "extensions.md").read_text(encoding="utf-8")
    own = [method for method in AUTHENTICATION_METHODS if method.startswith("x-innkeeper/")]
    assert own and all(f"| `{method}` |" in page for method in own)
