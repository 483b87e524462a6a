"""The operator's OAuth clients: which server, which secret (M2.5, M9.6)."""

from pathlib import Path

import pytest

from innkeeper.app.oauth_clients import registered_clients
from innkeeper.mcp.oauth.values import OAuthClient
from innkeeper.settings.config import parse_settings
from innkeeper.settings.problems import SettingsInvalid

CONFIG = """
[[oauth_clients]]
url = "https://one.example"
client_id = "wide"

[[oauth_clients]]
url = "https://one.example/mcp"
client_id = "narrow"
callback_port = 8123
scopes = ["read", "write"]
secret_input = "key"
"""


def test_longest_address_counts_and_the_secret_is_an_inputs_value() -> None:
    found = registered_clients(parse_settings(CONFIG, Path("config.toml")), {"key": "s3cret"})
    assert found("https://one.example/mcp/x") == OAuthClient("narrow", "s3cret", 8123, ("read", "write"))
    assert found("https://one.example/else") == OAuthClient("wide")
    assert found("https://two.example/") is None


@pytest.mark.parametrize("inputs", [{}, {"key": ""}])
def test_client_whose_secret_is_missing_is_not_used(inputs: dict[str, str], caplog: pytest.LogCaptureFixture) -> None:
    """M2.4: an empty credential is never used."""
    found = registered_clients(parse_settings(CONFIG, Path("config.toml")), inputs)
    assert found("https://one.example/mcp") == OAuthClient("wide")
    assert "narrow" in caplog.text and "key" in caplog.text


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ('client_id = "c"', "oauth_clients[0].url"),
        ('url = "https://h"', "oauth_clients[0].client_id"),
        ('url = "https://h"\nclient_id = "c"\ncallback_port = 70000', "oauth_clients[0].callback_port"),
        ('url = "https://h"\nclient_id = "c"\nclient_secret = "s3cret"', "oauth_clients[0].client_secret"),
    ],
)
def test_mistake_names_its_field(line: str, field: str) -> None:
    """A secret has no field of its own: it would stand in the file."""
    with pytest.raises(SettingsInvalid) as refused:
        parse_settings(f"[[oauth_clients]]\n{line}\n", Path("config.toml"))
    assert refused.value.field == field
    assert "s3cret" not in str(refused.value)
