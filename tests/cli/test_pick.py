"""Which session a command means."""

import pytest

from innkeeper.cli.failures import UsageProblem
from innkeeper.cli.paths import shown_path
from innkeeper.cli.pick import named, of_directory, short_id
from innkeeper.errors import HostError


def summary(name: str, directory: str | None = None, status: int = 1) -> dict[str, object]:
    directories = {} if directory is None else {"workingDirectories": [directory]}
    return {"resource": f"ahp-session:/{name}", "status": status, **directories}


SEVERAL = [summary("abc1"), summary("abd2"), summary("xyz3")]


def test_a_session_is_named_by_its_uri_or_the_beginning_of_its_id() -> None:
    assert named(SEVERAL, "ahp-session:/abd2") == "ahp-session:/abd2"
    assert named(SEVERAL, "x") == "ahp-session:/xyz3"
    assert short_id("ahp-session:/xyz3") == "xyz3"


def test_a_beginning_that_fits_several_is_refused_with_their_names() -> None:
    with pytest.raises(UsageProblem, match="abc1, abd2"):
        named(SEVERAL, "ab")


def test_an_unknown_session_has_its_own_error() -> None:
    with pytest.raises(HostError, match="SESSION_UNKNOWN"):
        named(SEVERAL, "q")


def test_the_session_of_a_directory_is_its_newest_that_is_not_archived() -> None:
    summaries = [
        summary("other", "file:///b"),
        summary("put-away", "file:///a", status=1 | 64),
        summary("newest", "file:///a/"),
        summary("older", "file:///a"),
        summary("nowhere"),
    ]
    assert of_directory(summaries, "file:///a") == "ahp-session:/newest"
    assert of_directory(summaries, "file:///c") is None


def test_a_directory_of_this_machine_is_shown_as_a_path() -> None:
    assert shown_path("file:///a%20b/c") == "/a b/c"
    assert shown_path("vscode-remote://host/a") == "vscode-remote://host/a"
