"""URIs are opaque; errors carry what the standard says (AHP §3, §8)."""

import pytest

from innkeeper.protocol import errors, uris
from innkeeper.protocol.check import check
from innkeeper.protocol.common.commands import ResourceRequestParams
from innkeeper.wire import jsonrpc


@pytest.mark.parametrize(
    "text",
    [
        "ahp-root://",
        "ahp-session:/7f3c",
        "ahp-chat://default/1",
        "agenthost:/terminal/4",
        "claude:/a-b",
        "file:///tmp/ä%20b",
        "virtual://client-1/x",
        "mcp://session/server",
        "urn:x",
        "a:",
        "untitled:Untitled-1",
    ],
)
def test_any_absolute_uri_is_accepted_whatever_its_scheme(text: str) -> None:
    """AHP §15: URIs of other schemes exist in the wild."""
    assert uris.is_uri(text)


@pytest.mark.parametrize(
    "text", ["", "x", "/tmp/a", ":x", "1a:/x", "a b:/x", "a:/x y", "a:/x\n", "é:/x", None, 5, [], b"a:"]
)
def test_what_has_no_scheme_or_has_blanks_is_no_uri(text: object) -> None:
    assert not uris.is_uri(text)


def test_the_builders_make_uris_of_the_standard() -> None:
    built = {
        uris.session_uri("1"): "ahp-session:/1",
        uris.chat_uri("1"): "ahp-chat:/1",
        uris.terminal_uri("1"): "ahp-terminal:/1",
        uris.changeset_uri("copilot:/7", "turn", "a/b"): "copilot:/7/changeset/turn/a%2Fb",
        uris.resource_watch_uri("1"): "ahp-resource-watch:/1",
        uris.automation_uri("1"): "ahp-automation:/1",
        uris.automation_run_uri("1"): "ahp-automation-run:/1",
        uris.canvas_uri("1"): "ahp-canvas:/1",
        uris.annotations_uri("copilot:/7"): "copilot:/7/annotations",
        uris.ROOT: "ahp-root://",
        uris.AUTOMATIONS: "ahp-automations://",
    }
    assert all(made == wanted and uris.is_uri(made) for made, wanted in built.items())


def test_the_codes_are_those_of_the_standard() -> None:
    codes = {name: value for name, value in vars(errors).items() if name.isupper() and isinstance(value, int)}
    assert codes == {
        "PARSE_ERROR": -32700,
        "INVALID_REQUEST": -32600,
        "METHOD_NOT_FOUND": -32601,
        "INVALID_PARAMS": -32602,
        "INTERNAL_ERROR": -32603,
        "SESSION_NOT_FOUND": -32001,
        "PROVIDER_NOT_FOUND": -32002,
        "SESSION_ALREADY_EXISTS": -32003,
        "TURN_IN_PROGRESS": -32004,
        "UNSUPPORTED_PROTOCOL_VERSION": -32005,
        "AUTH_REQUIRED": -32007,
        "NOT_FOUND": -32008,
        "PERMISSION_DENIED": -32009,
        "ALREADY_EXISTS": -32010,
        "CONFLICT": -32011,
    }


def test_wire_and_protocol_agree_on_the_codes_of_json_rpc() -> None:
    for name in ("PARSE_ERROR", "INVALID_REQUEST", "METHOD_NOT_FOUND", "INVALID_PARAMS", "INTERNAL_ERROR"):
        assert getattr(errors, name) == getattr(jsonrpc, name)


def test_an_error_about_tokens_names_the_resources() -> None:
    error = errors.auth_required([{"resource": "https://api.example"}])
    assert (error.code, error.data) == (-32007, {"resources": [{"resource": "https://api.example"}]})
    check(errors.AuthRequiredErrorData, error.data)


def test_an_error_about_permission_may_name_the_request_that_helps() -> None:
    request: ResourceRequestParams = {"channel": "ahp-root://", "uri": "file:///a", "read": True}
    error = errors.permission_denied("no access to file:///a", request)
    assert (error.code, error.data) == (-32009, {"request": request})
    check(errors.PermissionDeniedErrorData, error.data)
    assert errors.permission_denied("no").data == {}


def test_an_error_about_versions_names_the_supported_ones() -> None:
    error = errors.unsupported_protocol_version(("1.0.0", "0.9.0"))
    assert (error.code, error.data) == (-32005, {"supportedVersions": ["1.0.0", "0.9.0"]})
    assert "1.0.0, 0.9.0" in error.message
    check(errors.UnsupportedProtocolVersionErrorData, error.data)


def test_an_error_says_its_code_and_text() -> None:
    error = errors.RpcError(errors.NOT_FOUND, "no such channel")
    assert str(error) == error.message == "no such channel"
    assert repr(error) == "RpcError(-32008, 'no such channel')"
    assert error.data is None
