//! The known events and fields of supported versions. Anything else is not an error, but a sign
//! that the program has changed and that the support for it should be checked.

/// Types of events that were seen or are documented, besides those that are decoded.
const TYPES: &[&str] = &[
    "active_goal",
    "auth_status",
    "control_cancel_request",
    "control_request",
    "control_response",
    "conversation_reset",
    "keep_alive",
    "prompt_suggestion",
    "tool_use_summary",
];

/// Kinds of system events that were seen, are documented or are in the program, besides those that
/// are decoded.
const SYSTEM: &[&str] = &[
    "agents_killed",
    "api_error",
    "away_summary",
    "background_tasks_changed",
    "bridge_state",
    "bridge_status",
    "checkpoint_done",
    "cloud_session_delta",
    "cloud_session_status",
    "code_change_published",
    "commands_changed",
    "control_request_progress",
    "dev_intent",
    "elicitation_complete",
    "feedback_draft_queued",
    "file_attachments_missing",
    "file_snapshot",
    "files_persisted",
    "hook_progress",
    "hook_response",
    "hook_started",
    "informational",
    "inherited_asks_settled",
    "init_milestone",
    "instruction_size_warning",
    "local_command",
    "local_command_output",
    "memory_recall",
    "memory_saved",
    "mirror_error",
    "model_consent_fallback",
    "model_fallback",
    "model_refusal_fallback",
    "model_refusal_no_fallback",
    "notification",
    "peer_message_hold",
    "per_turn_effort_changed",
    "permission_check_status",
    "permission_retry",
    "placed",
    "plugin_install",
    "post_turn_summary",
    "rewind_stand_in",
    "scheduled_task_fire",
    "session_metadata",
    "session_state_changed",
    "session_title_changed",
    "session_writes_lost",
    "start_folder",
    "status",
    "stop_hook_summary",
    "task_notification",
    "task_progress",
    "task_started",
    "task_summary",
    "task_updated",
    "thinking_tokens",
    "tool_host_result",
    "turn_began_before_init",
    "turn_duration",
    "turn_handoff_available",
    "turn_preempted",
    "turn_starting",
    "ui_focus",
    "ui_invalidate",
    "ui_log",
    "ui_notify",
    "ui_notify_cancel",
    "ui_panes",
    "ui_placed",
    "ui_scroll",
    "ui_status",
    "ui_toast",
    "vcs_state_changed",
    "voice_call_talk",
    "worker_shutting_down",
];

/// The fields seen in results.
const RESULT_FIELDS: &[&str] = &[
    "api_error",
    "api_error_status",
    "api_error_type",
    "duration_api_ms",
    "duration_ms",
    "errors",
    "fast_mode_disabled_reason",
    "fast_mode_state",
    "first_content_frame_ms",
    "invalid_config_file",
    "is_error",
    "local_command",
    "modelUsage",
    "model_usage_since_last_result",
    "num_turns",
    "origin",
    "permission_denials",
    "queued_turn_count",
    "result",
    "result_index",
    "safety_stops",
    "session_id",
    "startup_failure_reason",
    "stop_reason",
    "structured_output",
    "subagent_stats",
    "subtype",
    "terminal_reason",
    "time_to_request_ms",
    "total_cost_usd",
    "ttft_ms",
    "ttft_stream_ms",
    "type",
    "usage",
    "uuid",
];

pub(super) fn is_type(name: &str) -> bool {
    TYPES.binary_search(&name).is_ok()
}

pub(super) fn is_system(name: &str) -> bool {
    SYSTEM.binary_search(&name).is_ok()
}

pub(super) fn is_result_field(name: &str) -> bool {
    RESULT_FIELDS.binary_search(&name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted_or_nothing_would_be_found_in_them() {
        for list in [TYPES, SYSTEM, RESULT_FIELDS] {
            assert!(list.is_sorted(), "{list:?}");
        }
    }
}
