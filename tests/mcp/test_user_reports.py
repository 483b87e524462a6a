"""Every problem that users of such clients report (reference §3.4) has tests that show what happens here (issue 3.11).

The table is checked without importing the tests: each name is looked for in its file. A row that another issue answers
says so.
"""

import ast
import re
from functools import cache
from pathlib import Path
from typing import Final

import pytest

TESTS = Path(__file__).resolve().parents[1]

ROWS: Final = {
    *(f"T{n}" for n in range(1, 10)),
    *(f"D{n}" for n in range(1, 7)),
    *(f"V{n}" for n in range(1, 7)),
    *(f"F{n}" for n in range(1, 11)),
    *(f"E{n}" for n in range(1, 6)),
    *(f"N{n}" for n in range(1, 5)),
    *(f"P{n}" for n in range(1, 6)),
    *(f"R{n}" for n in range(1, 7)),
    "R3b",
    *(f"L{n}" for n in range(1, 4)),
    *(f"A{n}" for n in range(1, 4)),
    *(f"X{n}" for n in range(1, 4)),
}

REPORTS = "mcp/declarations/test_reports.py"
DIALECTS = "mcp/declarations/test_dialects.py"
NOTES = "mcp/declarations/test_notes.py"
FILES = "mcp/declarations/test_files.py"
CONFLICTS = "mcp/declarations/test_conflicts.py"
CHECK = "mcp/check/test_check.py"
SERVERS = "mcp/test_servers.py"
SESSIONS = "mcp/test_sessions.py"
TRUST = "mcp/test_trust.py"
GATEWAY = "mcp/test_gateway.py"
CONNECTION = "mcp/test_connection.py"
ENDPOINT = "mcp/endpoint/test_endpoint.py"
RECOVERY = "mcp/supervision/test_recovery.py"
SUPERVISOR = "mcp/supervision/test_supervisor.py"
COURSE = "mcp/supervision/test_course.py"
CLIENTS = "host/test_gate_clients.py"
CLI = "cli/test_mcp.py"

PROOFS: Final[dict[str, tuple[str, ...]]] = {
    "T1": (
        f"{SESSIONS}::test_changed_command_under_a_granted_name_does_not_start_and_shows_old_beside_new",
        f"{SESSIONS}::test_old_declaration_is_shown_after_a_restart_too",
        f"{TRUST}::test_stored_grant_is_bound_to_name_workspace_and_fingerprint",
        f"{REPORTS}::test_t1_t2_fingerprint_is_of_all_that_runs",
        f"{DIALECTS}::test_content_of_the_environment_file_is_part_of_the_fingerprint",
    ),
    "T2": (
        f"{REPORTS}::test_t1_t2_fingerprint_is_of_all_that_runs",
        f"{REPORTS}::test_t2_sensitive_variables_are_named",
        f"{TRUST}::test_changed_declaration_never_runs_on_what_a_person_granted",
        f"{SESSIONS}::test_changed_command_under_a_granted_name_does_not_start_and_shows_old_beside_new",
    ),
    "T3": (
        f"{SERVERS}::test_nothing_starts_unasked",
        f"{CHECK}::test_nothing_is_started_and_nothing_is_written",
        f"{SESSIONS}::test_files_of_the_project_cannot_make_themselves_trusted",
        f"{SESSIONS}::test_nothing_is_spawned_by_importing_or_composing",
    ),
    "T4": (
        f"{NOTES}::test_claims_of_trust_are_noted_and_change_nothing",
        f"{NOTES}::test_claims_outside_the_table_are_noted_with_their_line",
        f"{SESSIONS}::test_files_of_the_project_cannot_make_themselves_trusted",
    ),
    "T5": (
        f"{CLI}::test_connect_all_wants_a_confirmation_and_nothing_starts_without_one",
        f"{CLIENTS}::test_without_a_question_service_calls_pass_and_nothing_is_stored",
        f"{SESSIONS}::test_files_of_the_project_cannot_make_themselves_trusted",
    ),
    "T6": (f"{DIALECTS}::test_nothing_is_run_to_read_a_declaration",),
    "T7": (
        f"{SESSIONS}::test_parents_children_and_other_worktrees_are_other_workspaces",
        f"{SESSIONS}::test_worktree_that_the_host_made_counts_as_its_directory_for_equal_entries",
        f"{SESSIONS}::test_worktree_of_the_hosts_record_counts_for_equal_entries_alone",
        f"{TRUST}::test_trust_is_of_exactly_one_directory",
    ),
    "T8": (f"{SESSIONS}::test_parents_children_and_other_worktrees_are_other_workspaces",),
    "T9": (
        f"{SESSIONS}::test_entry_that_an_agent_wrote_is_held_until_a_person_connects_it",
        f"{SESSIONS}::test_entry_whose_environment_file_an_agent_wrote_is_held_too",
        f"{SESSIONS}::test_confirming_the_file_lets_policy_decide_again_and_outside_edits_load",
        f"{TRUST}::test_what_an_agent_wrote_is_held_whatever_else_allows_it",
    ),
    "D1": (
        f"{SERVERS}::test_entry_that_the_file_switches_off_is_off_until_a_person_switches_it_on",
        f"{SERVERS}::test_toggle_off_stops_the_process_and_removes_the_tools",
        f"{RECOVERY}::test_disabled_while_it_waits_is_not_tried_again",
        f"{TRUST}::test_off_and_invalid_win_over_trust",
    ),
    "D2": (
        f"{GATEWAY}::test_nothing_but_the_gateway_reaches_a_connection",
        f"{GATEWAY}::test_every_part_that_calls_a_tool_is_known",
        f"{ENDPOINT}::test_server_that_is_switched_off_lists_nothing_and_refuses_at_once",
        "host/test_servers.py::test_a_server_that_is_off_is_not_started",
    ),
    "D3": (
        f"{SERVERS}::test_workspace_toggle_holds_in_another_session_and_after_a_restart",
        f"{SERVERS}::test_allow_is_stored_and_holds_in_other_sessions_and_after_a_restart",
        f"{SESSIONS}::test_session_acts_are_forgotten_with_the_session_and_at_a_restart",
        f"{CLIENTS}::test_calls_of_two_sessions_are_asked_in_their_own_conversation",
    ),
    "D4": (f"{REPORTS}::test_d4_disabled_wins_and_text_is_no_switch",),
    "D5": (
        f"{GATEWAY}::test_a_survey_tells_weight_and_permission_of_each_tool_and_calls_nothing",
        f"{GATEWAY}::test_a_tool_is_allowed_and_revoked_for_good_by_hand",
        f"{CLI}::test_tools_show_weight_and_permission_and_follow_allow_deny_and_revoke",
    ),
    "D6": (
        f"{SERVERS}::test_toggle_off_stops_the_process_and_removes_the_tools",
        f"{GATEWAY}::test_project_filter_wins_over_a_person_and_full_access",
        "mcp/test_declared_fields.py::test_declared_filter_wins_over_full_access_and_a_person",
        f"{ENDPOINT}::test_server_that_is_switched_off_lists_nothing_and_refuses_at_once",
    ),
    "V1": (
        f"{REPORTS}::test_v1_unknown_forms_are_refused_in_every_field",
        f"{DIALECTS}::test_variables_mean_the_same_in_every_field",
    ),
    "V2": (
        f"{REPORTS}::test_v2_missing_variable_is_never_an_empty_credential",
        f"{DIALECTS}::test_missing_shell_variable_rejects",
        "app/test_host_servers.py::test_server_without_the_value_of_a_variable_is_not_used_and_named",
    ),
    "V3": (f"{DIALECTS}::test_claude_project_dir_is_the_workspace_in_its_own_file_only",),
    "V4": (
        f"{REPORTS}::test_v4_no_value_in_anything_that_is_told",
        f"{CHECK}::test_no_value_of_env_headers_or_inputs_is_ever_printed",
        f"{NOTES}::test_addresses_are_shown_without_what_may_be_secret",
        f"{NOTES}::test_arguments_are_shown_without_what_may_be_secret",
        f"{SERVERS}::test_no_secret_reaches_a_state_a_report_a_finding_or_a_log",
        f"{RECOVERY}::test_standard_error_is_given_masked_and_only_when_asked_for",
        f"{CLIENTS}::test_no_secret_is_in_anything_that_a_client_is_sent",
        "mcp/oauth/test_secrets.py::test_no_token_reaches_log_state_message_or_database",
        "app/test_host_servers.py::test_what_is_shown_of_them_holds_no_value",
    ),
    "V5": (f"{REPORTS}::test_v5_what_comes_out_of_a_secret_is_not_expanded_again",),
    "V6": (f"{NOTES}::test_literal_secret_is_noted_by_its_place_and_never_blocks",),
    "F1": (
        f"{REPORTS}::test_f1_wrong_key_is_named",
        f"{REPORTS}::test_f1_general_settings_without_servers_are_no_mistake",
        "corpus/test_declarations.py::test_every_real_file_gives_its_outcome",
    ),
    "F2": (
        f"{REPORTS}::test_f2_one_bad_entry_or_file_harms_no_other",
        f"{SERVERS}::test_bad_entry_is_published_as_error_and_harms_no_other",
        f"{DIALECTS}::test_codex_entry_that_is_refused_harms_no_other",
        f"{CLI}::test_one_bad_entry_is_told_and_the_others_live",
    ),
    "F3": (
        f"{REPORTS}::test_f3_spellings_of_the_same_file",
        "corpus/test_declarations.py::test_every_synthetic_file_gives_its_outcome",
    ),
    "F4": (f"{REPORTS}::test_f4_white_space_around_is_seen",),
    "F5": (
        f"{REPORTS}::test_f5_the_row_shows_the_file_that_runs_and_names_the_others",
        f"{CONFLICTS}::test_different_entries_of_one_name_disable_both_and_name_both_places",
    ),
    "F6": (f"{CONFLICTS}::test_identical_means_the_whole_resolved_entry",),
    "F7": (f"{DIALECTS}::test_codex_override_is_no_server_and_no_error",),
    "F8": (
        f"{FILES}::test_links_out_of_the_workspace_are_refused_for_files_and_folders",
        f"{FILES}::test_link_that_appears_between_look_and_open_is_not_followed",
    ),
    "F9": (f"{FILES}::test_only_the_directory_itself_is_read", f"{CLI}::test_a_session_without_declarations_says_so"),
    "F10": (
        f"{NOTES}::test_command_of_another_system_is_noted",
        "workspace/test_processes.py::test_bare_name_is_looked_up_on_the_given_path_only",
    ),
    "E1": (
        "editing/test_toml_properties.py::test_comments_stay",
        "editing/test_toml_corpus.py::test_each_server_is_deleted_and_no_comment_outside_of_it_is_lost",
    ),
    "E2": ("editing/test_toml_edits.py::test_one_change_of_a_commented_file_touches_its_span_alone",),
    "E4": (
        "editing/test_files.py::test_of_many_writers_with_one_token_one_wins",
        "settings/test_service.py::test_a_change_made_for_another_revision_is_refused_with_the_current_token",
    ),
    "N1": (
        f"{REPORTS}::test_n1_n2_long_tool_names_are_hashed_stable_and_never_dropped",
        f"{ENDPOINT}::test_tool_names_with_the_agents_prefix_are_the_hosts",
    ),
    "N2": (
        f"{REPORTS}::test_n1_n2_long_tool_names_are_hashed_stable_and_never_dropped",
        f"{GATEWAY}::test_odd_names_of_tools_are_never_dropped_and_each_has_its_own_permission",
    ),
    "N3": (f"{REPORTS}::test_n3_names_are_looked_up_and_never_split",),
    "N4": (
        f"{REPORTS}::test_n4_names_that_mean_something_to_a_language_are_names",
        f"{GATEWAY}::test_odd_names_of_tools_are_never_dropped_and_each_has_its_own_permission",
    ),
    "P1": (
        f"{SERVERS}::test_whole_tree_dies_with_the_session",
        f"{SERVERS}::test_servers_do_not_outlive_a_killed_host",
        f"{SERVERS}::test_closing_while_a_server_starts_leaves_nothing",
        f"{RECOVERY}::test_server_that_will_not_end_is_ended_with_its_tree_before_the_next_one_starts",
    ),
    "P2": (f"{RECOVERY}::test_processes_and_tasks_stay_flat_over_many_connections",),
    "P3": (
        f"{SERVERS}::test_two_sessions_in_one_directory_have_processes_of_their_own",
        f"{SESSIONS}::test_released_session_closes_its_servers_and_its_next_request_starts_them",
        "host/test_servers.py::test_status_tells_what_runs",
    ),
    "P4": (f"{RECOVERY}::test_killed_server_comes_back_with_the_same_tools_and_its_neighbour_is_untouched",),
    "P5": (f"{SERVERS}::test_banner_on_standard_output_does_no_harm",),
    "R1": (
        f"{RECOVERY}::test_hung_start_keeps_nobody_waiting_longer_than_its_limit",
        f"{SERVERS}::test_starts_run_at_the_same_time_six_at_most",
    ),
    "R2": (
        f"{SUPERVISOR}::test_spawns_within_ten_minutes_are_bounded_and_go_on_for_ever",
        f"{COURSE}::test_tries_never_come_faster_than_the_schedule",
    ),
    "R3": (
        f"{COURSE}::test_delays_are_the_schedule_and_then_a_minute_for_ever",
        f"{COURSE}::test_short_connection_does_not_end_the_row_and_a_stable_one_does",
        f"{SUPERVISOR}::test_recovered_server_is_connected_and_its_row_ends_after_thirty_seconds",
    ),
    "R3b": (f"{RECOVERY}::test_killed_server_comes_back_with_the_same_tools_and_its_neighbour_is_untouched",),
    "R4": (
        f"{SUPERVISOR}::test_process_that_may_live_refuses_even_a_retry_by_hand",
        f"{SUPERVISOR}::test_never_two_connections_at_a_time",
        f"{CONNECTION}::test_old_process_that_may_live_blocks_another_start_in_the_session",
    ),
    "R5": (
        f"{RECOVERY}::test_call_on_a_dying_server_fails_at_once_and_is_never_sent_twice",
        f"{CONNECTION}::test_calls_that_wait_fail_when_the_process_ends_and_each_was_sent_once",
        "mcp/test_call_limit.py::test_call_over_the_declared_limit_is_cancelled_once_and_leaves_the_server_alive",
    ),
    "R6": (
        f"{SUPERVISOR}::test_refused_token_and_missing_program_pause_until_a_person_retries",
        f"{RECOVERY}::test_endpoint_that_refuses_pauses_or_comes_back_and_no_call_is_repeated",
    ),
    "L1": (
        f"{REPORTS}::test_l1_an_edit_is_effective_in_the_next_reading",
        f"{SESSIONS}::test_refresh_in_a_turn_starts_what_became_allowed_and_outside_it_waits_for_the_request",
    ),
    "L2": (
        f"{REPORTS}::test_l2_unchanged_servers_keep_their_order_and_their_values",
        f"{SESSIONS}::test_unchanged_servers_keep_the_order_and_text_of_their_tools",
    ),
    "L3": (
        f"{FILES}::test_a_file_broken_at_the_moment_of_reading_loses_its_servers_until_the_next",
        f"{SESSIONS}::test_required_server_that_dropped_refuses_until_it_recovers_and_unselected_ones_are_no_error",
    ),
    "A1": (
        f"{CLIENTS}::test_always_allow_survives_a_restart_and_not_a_change_of_the_declaration",
        f"{GATEWAY}::test_a_tool_is_allowed_and_revoked_for_good_by_hand",
    ),
    "A2": (
        f"{CLIENTS}::test_a_question_that_nobody_answers_is_denied_and_hangs_nothing",
        f"{CLIENTS}::test_without_a_question_service_calls_pass_and_nothing_is_stored",
    ),
    "A3": (
        f"{GATEWAY}::test_always_allow_ends_with_the_declaration",
        f"{CLIENTS}::test_always_allow_survives_a_restart_and_not_a_change_of_the_declaration",
    ),
    "X1": (
        f"{CONNECTION}::test_every_page_of_a_list_is_taken",
        f"{CONNECTION}::test_list_that_never_ends_is_cut_and_does_not_hang",
    ),
    "X2": (f"{CONNECTION}::test_storm_of_list_changes_is_two_listings_and_ends_with_the_newest",),
    "X3": (
        f"{CONNECTION}::test_huge_description_is_cut_and_says_so",
        f"{GATEWAY}::test_huge_answer_is_bounded_and_says_what_is_not_there",
    ),
}

ELSEWHERE: Final = {
    "E3": "Reading an edited declaration back, and rolling back, is the editor's (M8.5).",
    "E5": "Copying an entry into another format is the editor's (M8.8).",
}


@cache
def names_in(file: str) -> frozenset[str]:
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(node.name for node in functions if node.name.startswith("test_"))


def test_every_row_is_proved_or_said_to_be_elsewhere() -> None:
    assert len(ROWS) == 61
    assert set(PROOFS) | set(ELSEWHERE) == ROWS
    assert not set(PROOFS) & set(ELSEWHERE)
    assert all(PROOFS.values()) and all(ELSEWHERE.values())


@pytest.mark.parametrize("row", sorted(PROOFS))
def test_what_proves_a_row_is_there(row: str) -> None:
    missing = [proof for proof in PROOFS[row] if proof.partition("::")[2] not in names_in(proof.partition("::")[0])]
    assert missing == []


def test_the_rows_are_those_of_the_reference(shared: Path) -> None:
    page = (shared / "reference" / "mcp-declarations.md").read_text(encoding="utf-8")
    section = page.partition("### 3.4 ")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| ([A-Z]\d+b?) \|", section, flags=re.MULTILINE)) == ROWS
