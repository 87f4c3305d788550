//! What the versions that we know of print. Whatever else comes is no error, only news: the
//! program has moved on, and somebody should look whether we still understand it.

/// Types of events that were seen or are documented, beside those that are read.
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

/// Kinds of system events that were seen or are documented, beside those that are read.
const SYSTEM: &[&str] = &[
    "api_error",
    "background_tasks_changed",
    "commands_changed",
    "control_request_progress",
    "elicitation_complete",
    "files_persisted",
    "hook_progress",
    "hook_response",
    "hook_started",
    "informational",
    "local_command_output",
    "memory_recall",
    "mirror_error",
    "model_fallback",
    "model_refusal_fallback",
    "model_refusal_no_fallback",
    "notification",
    "plugin_install",
    "session_state_changed",
    "session_writes_lost",
    "status",
    "stop_hook_summary",
    "task_notification",
    "task_progress",
    "task_started",
    "task_updated",
    "thinking_tokens",
    "turn_duration",
    "ui_invalidate",
    "worker_shutting_down",
];

/// Fields that a result was seen with.
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
