import pytest

from innkeeper.errors import HostError
from innkeeper.host.faults import wire_error
from innkeeper.host.outcomes import ClientGone, ClientRefused, ClientTimeout, StorageFailed
from innkeeper.ports.mcp import McpRefused, ToggleRefused
from innkeeper.protocol.errors import RpcError
from innkeeper.providers.spi import ProviderError
from scripted.fakes import CountingIds

OWN = RpcError(-32010, "taken", {"a": 1})


@pytest.mark.parametrize(
    ("error", "code", "data"),
    [
        (OWN, -32010, {"a": 1}),
        (StorageFailed("STORAGE_FULL"), -32603, {"code": "STORAGE_FULL"}),
        (HostError("SESSION_UNKNOWN", session="s"), -32001, {"code": "SESSION_UNKNOWN"}),
        (HostError("DECISIONS_FULL", limit=1), -32011, {"code": "DECISIONS_FULL"}),
        (McpRefused("TOOL_UNKNOWN", "no such tool"), -32008, {"code": "TOOL_UNKNOWN"}),
        (McpRefused("AUTH_REQUIRED", "a login is wanted"), -32011, {"code": "AUTH_REQUIRED"}),
        (ToggleRefused("two decisions for one scope"), -32011, None),
        (ProviderError("noKey", "There is no key"), -32603, {"code": "noKey"}),
        (ClientGone("c"), -32011, None),
        (ClientTimeout("c"), -32011, None),
        (ClientRefused(-32601, "no"), -32011, None),
    ],
)
def test_what_other_parts_raise_has_one_place_on_the_wire(error, code, data):
    """AHP §8."""
    mapped = wire_error(error, "test", CountingIds())
    assert (mapped.code, mapped.data) == (code, data) and mapped.message


def test_what_nobody_expected_is_a_reference_and_the_log_has_the_story(caplog):
    mapped = wire_error(KeyError("secret"), "command x", CountingIds("ref"))
    assert mapped.code == -32603 and "secret" not in mapped.message
    assert mapped.message.split()[-1] in caplog.text and "secret" in caplog.text
