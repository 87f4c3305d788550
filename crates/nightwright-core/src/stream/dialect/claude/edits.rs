//! Files written by the program's own tools.

use serde::Deserialize;

/// The file that a call of this tool writes or edits; empty if its input does not name it.
pub fn edited_file(tool: &str, input: &str) -> Option<String> {
    if !matches!(tool, "Write" | "Edit" | "MultiEdit" | "NotebookEdit") {
        return None;
    }
    let EditInput { file_path, notebook_path } = serde_json::from_str(input).unwrap_or_default();
    Some(file_path.or(notebook_path).unwrap_or_default())
}

#[derive(Default, Deserialize)]
struct EditInput {
    file_path: Option<String>,
    notebook_path: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tools_that_write_files_edit_one() {
        let file = |tool| edited_file(tool, r#"{"file_path":"/p/a.rs","content":"x"}"#);
        for tool in ["Write", "Edit", "MultiEdit", "NotebookEdit"] {
            assert_eq!(file(tool).as_deref(), Some("/p/a.rs"), "{tool}");
        }
        for tool in ["Bash", "Read", "Grep", "Task", "write"] {
            assert_eq!(file(tool), None, "{tool}");
        }
    }

    #[test]
    fn an_edit_of_an_unknown_file_is_one_too() {
        let notebook = edited_file("NotebookEdit", r#"{"notebook_path":"/p/a.ipynb"}"#);
        assert_eq!(notebook.as_deref(), Some("/p/a.ipynb"));
        for input in ["", "{}", "[]", r#"{"file_path":7}"#] {
            assert_eq!(edited_file("Write", input).as_deref(), Some(""), "{input}");
        }
    }
}
