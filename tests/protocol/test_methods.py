"""The table of methods against the standard's lists (AHP §4, §5, §12)."""

import pytest
from typing_extensions import get_type_hints, is_typeddict

from innkeeper.protocol.check import CheckError, check_params
from innkeeper.protocol.methods import (
    BEFORE_HANDSHAKE,
    METHODS,
    client_notification,
    client_request,
    host_notification,
    host_request,
)

FILES = [
    "resourceRead",
    "resourceWrite",
    "resourceList",
    "resourceCopy",
    "resourceMove",
    "resourceDelete",
    "resourceResolve",
    "resourceMkdir",
    "resourceRequest",
    "createResourceWatch",
]
COMMANDS = [
    "initialize",
    "ping",
    "reconnect",
    "subscribe",
    "listSessions",
    "resolveSessionConfig",
    "sessionConfigCompletions",
    "createSession",
    "disposeSession",
    "createChat",
    "moveChat",
    "disposeChat",
    "fetchTurns",
    "completions",
    "createTerminal",
    "disposeTerminal",
    "invokeChangesetOperation",
    "authenticate",
    "listAutomationTriggerDefinitions",
    "runAutomation",
    "fetchAutomationRuns",
]
FROM_HOST = [
    "action",
    "root/sessionAdded",
    "root/sessionRemoved",
    "root/sessionSummaryChanged",
    "root/progress",
    "auth/required",
    "otlp/exportLogs",
    "otlp/exportTraces",
    "otlp/exportMetrics",
]
FROM_CLIENT = ["dispatchAction", "unsubscribe"]
NEWER_COMMANDS = ["createTcpConnection"]
NEWER_BOTH = ["channel/frame", "channel/credit", "channel/reset", "tcp/data", "tcp/eof"]
NEWER_FROM_HOST = ["channel/ready", "channel/snapshot"]


def test_the_table_has_every_method_and_no_other() -> None:
    names = [*FILES, *COMMANDS, *FROM_HOST, *FROM_CLIENT, *NEWER_COMMANDS, *NEWER_BOTH, *NEWER_FROM_HOST]
    assert METHODS.keys() == set(names)
    assert len(METHODS) == len(names) == 50


def test_a_client_may_request_every_command_and_the_host_only_those_on_files() -> None:
    """AHP §4: servers send the `resource*` family and `createResourceWatch`."""
    assert {name for name in METHODS if host_request(name)} == {*FILES, *COMMANDS, *NEWER_COMMANDS}
    assert {name for name in METHODS if client_request(name)} == set(FILES)


def test_each_notification_has_its_direction() -> None:
    assert {name for name in METHODS if host_notification(name)} == {*FROM_CLIENT, *NEWER_BOTH}
    assert {name for name in METHODS if client_notification(name)} == {*FROM_HOST, *NEWER_BOTH, *NEWER_FROM_HOST}


@pytest.mark.parametrize("name", ["", "nope", "x-innkeeper/mcp/list", "tools/list", "Ping"])
def test_a_name_outside_the_standard_is_not_found(name: str) -> None:
    assert not any(find(name) for find in (host_request, host_notification, client_request, client_notification))


def test_what_is_newer_than_the_release_is_behind_a_capability() -> None:
    newer = {spec.name: spec.capability for spec in METHODS.values() if spec.since == "1.1.0"}
    assert newer.keys() == {*NEWER_COMMANDS, *NEWER_BOTH, *NEWER_FROM_HOST}
    assert set(newer.values()) == {"flowControl", "tcpConnections"}


def test_automations_are_behind_their_capability() -> None:
    gated = {spec.name for spec in METHODS.values() if spec.capability == "automations"}
    assert gated == {"listAutomationTriggerDefinitions", "runAutomation", "fetchAutomationRuns"}


def test_every_params_object_carries_a_channel() -> None:
    """AHP §1: routing by method and `params.channel` needs no other knowledge."""
    for spec in METHODS.values():
        assert is_typeddict(spec.params)
        assert "channel" in spec.params.__required_keys__, spec.name  # type: ignore[attr-defined]


def test_every_request_may_carry_meta() -> None:
    for spec in METHODS.values():
        if spec.kind == "request":
            assert "_meta" in get_type_hints(spec.params), spec.name


def test_a_channel_that_is_fixed_is_declared_so() -> None:
    root_notifications = {"root/sessionAdded", "root/sessionRemoved", "root/sessionSummaryChanged", "root/progress"}
    for spec in METHODS.values():
        declared = str(get_type_hints(spec.params)["channel"])
        if spec.channel == "automations":
            assert "ahp-automations://" in declared
        elif spec.channel == "root" and spec.name not in root_notifications:
            assert "ahp-root://" in declared, spec.name
        else:
            assert "ahp-" not in declared, spec.name


def test_notifications_have_no_result_and_a_null_answer_is_marked() -> None:
    without = {spec.name for spec in METHODS.values() if spec.kind == "request" and spec.result is None}
    assert without == {
        *("ping", "createSession", "disposeSession", "createChat", "disposeChat"),
        *("createTerminal", "disposeTerminal", "createTcpConnection"),
    }
    assert all(spec.result is None for spec in METHODS.values() if spec.kind == "notification")


def test_only_the_handshake_and_ping_come_before_the_handshake() -> None:
    """AHP §2.1."""
    assert {"initialize", "reconnect", "ping"} == BEFORE_HANDSHAKE


def test_another_channel_than_the_fixed_one_is_refused() -> None:
    with pytest.raises(CheckError, match=r'params\.channel: expected "ahp-root://"'):
        check_params("ping", {"channel": "ahp-session:/1"})
