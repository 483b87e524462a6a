"""Every scenario of the reference on contributions, turns, sessions and the process has a test (issue 5).

A row is cited in a docstring of a test as `D7`, `C13`, `T2`, `S19` or `P4`; not in this file, and not in those on
reports with the same letters. Rows that another suite covers under another name stand in `ELSEWHERE` with the test that
does it.
"""

import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent.parent
AREAS = {"D": 30, "C": 50, "T": 20, "S": 27, "P": 10}
ROWS = [f"{area}{n}" for area, last in AREAS.items() for n in range(1, last + 1)]
FOLDERS = ("contributions", "host", "e2e", "app", "workspace", "providers", "store", "cli", "edge")
ELSEWHERE: dict[str, tuple[str, str]] = {
    "T1": ("host/test_turns.py", "test_what_an_agent_reports_after_its_end_means_nothing_and_nobody_is_asked"),
    "T2": ("host/test_subagents.py", "test_a_subagent_works_in_a_read_only_chat_of_its_own"),
    "T3": ("host/test_subagents.py", "test_more_early_signals_than_are_kept_fail_the_route"),
    "T4": ("host/test_subagents.py", "test_a_question_of_a_subagent_that_never_starts_is_answered"),
    "T6": ("host/test_turns.py", "test_an_agent_that_ignores_the_cancellation_changes_nothing_any_more"),
    "T8": ("host/test_turns.py", "test_an_unexpected_failure_tells_a_reference_and_keeps_its_text_in_the_log"),
    "T9": ("host/test_restart.py", "test_an_agent_that_this_process_does_not_have_fails_the_turn_in_words"),
    "T10": ("host/test_turns.py", "test_a_resumable_error_can_be_resumed_in_the_same_turn"),
    "T11": ("host/test_turns.py", "test_what_cannot_be_resumed_is_refused"),
    "T13": ("host/test_truncation.py", "test_a_local_turn_is_a_turn_like_any_other"),
    "T17": ("host/test_truncation.py", "test_a_local_turn_needs_no_anchor"),
    "T20": ("host/test_driver.py", "test_a_stored_channel_is_loaded_before_the_message_that_touches_it"),
    "S8": ("host/test_truncation.py", "test_no_peers_is_not_unknown_peers"),
    "S23": ("host/approval/test_table.py", "test_"),
    "S24": ("host/approval/test_table.py", "test_"),
    "P1": ("cli/test_live.py", "test_options_that_cannot_be_meant_stop_serve_before_it_listens"),
    "P2": ("edge/test_token.py", "test_a_random_token_is_the_default_and_new_each_time"),
    "P3": ("edge/test_admission.py", "test_the_token_is_checked_at_the_upgrade"),
    "P4": ("host/test_driver.py", "test_malformed_frames_are_answered_and_harm_nobody"),
    "P5": ("edge/test_discovery.py", "test_only_the_own_file_is_taken_back"),
    "P6": ("edge/test_discovery.py", "test_what_a_dead_host_left_is_ignored_and_removed"),
    "P7": ("app/test_compose.py", "test_quiet_swaps_the_listed_parts_and_nothing_else"),
    "P8": ("host/test_driver.py", "test_closing_stores_everything_and_tells_the_clients"),
    "P9": ("cli/test_live.py", "test_the_client_library_drives_a_host_on_standard_input_and_output"),
    "P10": ("cli/test_live.py", "test_serve_says_ready_once_and_ends_with_0"),
}


@cache
def cited() -> set[str]:
    found: set[str] = set()
    for folder in FOLDERS:
        for source in (TESTS / folder).rglob("*.py"):
            if source == Path(__file__) or _of_another_report(source):
                continue
            for line in source.read_text().splitlines():
                for first, last in re.findall(r"\b([DCTSP]\d{1,2}) to ([DCTSP]\d{1,2})\b", line):
                    found.update(f"{first[0]}{n}" for n in range(int(first[1:]), int(last[1:]) + 1))
                found.update(re.findall(r"\b[DCTSP]\d{1,2}\b", line))
    return found


def _of_another_report(source: Path) -> bool:
    """Rows of reports on MCP have the same letters."""
    return "mcp" in source.name or "gate" in source.name


@pytest.mark.parametrize("row", ROWS)
def test_the_row_has_a_test(row):
    if row in ELSEWHERE:
        file, name = ELSEWHERE[row]
        assert f"def {name}" in (TESTS / file).read_text(), f"{file} has no {name}"
    else:
        assert row in cited()
