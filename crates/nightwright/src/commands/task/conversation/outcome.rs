//! Describes what a conversation changed in the folder of the task.

use nightwright_core::evidence::checklist;
use nightwright_core::input::Checklist;
use nightwright_core::outcome::count;

use super::SetupTask;
use crate::error::Failure;
use crate::process::Exit;

/// A snapshot of the files that a conversation can change.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TaskFiles {
    instructions: Option<String>,
    todo: Option<String>,
}

impl TaskFiles {
    pub(super) fn read(task: &SetupTask) -> Result<Self, Failure> {
        Ok(Self { instructions: task.instructions()?, todo: task.todo()? })
    }
}

/// Describes the changes; `None` if nothing changed, or there are no instructions.
pub(super) fn news(task: &SetupTask, before: &TaskFiles, after: &TaskFiles) -> Option<String> {
    let instructions = after.instructions.as_deref()?;
    if before == after {
        return None;
    }
    let mut lines = Vec::new();
    if before.instructions != after.instructions {
        let done = if before.instructions.is_none() { "written" } else { "changed" };
        let count = match instructions.lines().count() {
            1 => "1 line".to_owned(),
            count => format!("{count} lines"),
        };
        let file = task.instructions_file();
        lines.push(format!(
            "Instructions {done}: `{}`, {count}, {}",
            file.display(),
            size(instructions.len())
        ));
    }
    if before.todo != after.todo {
        let file = task.todo_file();
        let file = file.display();
        lines.push(match items(after.todo.as_deref().unwrap_or_default()) {
            0 => format!("The checklist has no items: `{file}`"),
            1 => format!("The checklist has 1 item: `{file}`"),
            items => format!("The checklist has {items} items: `{file}`"),
        });
    }
    Some(lines.join("\n"))
}

/// Describes an abnormal exit of the program.
pub(super) fn ended_badly(exit: Exit) -> Option<String> {
    match (exit.code(), exit.signal()) {
        (Some(0) | None, None) => None,
        (Some(code), _) => Some(format!("; the agent exited with code {code}")),
        (None, Some(signal)) => Some(format!("; signal {signal} killed the agent")),
    }
}

fn size(bytes: usize) -> String {
    match bytes {
        0..1000 => count(bytes, "byte"),
        _ => format!("{}.{} kB", bytes / 1000, bytes % 1000 / 100),
    }
}

/// Returns the number of boxes, open and checked.
fn items(list: &str) -> u32 {
    let Checklist { open, done } = checklist::count(list);
    open + done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_with_a_box_are_items() {
        assert_eq!(items("# List\n- [ ] a\n  * [x] b\n- c\n[ ] d\n+ [X] e\n"), 3);
        assert_eq!(items(""), 0);
    }

    #[test]
    fn sizes_are_short() {
        assert_eq!([0, 999, 1000, 12_345].map(size), ["0 bytes", "999 bytes", "1.0 kB", "12.3 kB"]);
    }
}
