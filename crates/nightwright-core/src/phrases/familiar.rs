//! Error messages that are the same, word for word, as those of other loop runners, so that users
//! and scripts that move from these tools recognize them.

/// The error if Claude Code is not installed.
pub const CLAUDE_NOT_FOUND: &str =
    "Claude CLI not found. Make sure 'claude' is installed and in PATH.";

/// The error if there is no plan to implement.
pub const NO_PLAN: &str = "No plan found. Run: nightwright plan";

/// The error for an unknown task: `Task not found: migrate-api`.
pub fn task_not_found(name: &str) -> String {
    format!("Task not found: {name}")
}

/// The error for a new task whose name is taken: `Task already exists: migrate-api`.
pub fn task_exists(name: &str) -> String {
    format!("Task already exists: {name}")
}

/// The error for a task without instructions.
pub fn no_instructions(task: &str) -> String {
    format!("Instructions not found. Run: nightwright task setup {task}")
}
