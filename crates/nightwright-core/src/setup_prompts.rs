//! Prompts of a mode around a run: writing, editing and validating instructions.
//!
//! They are templates like those of the prompts.

use crate::mode::{EMBEDDED, EmbeddedMode, ITERATIVE};
use crate::prompt::{self, TemplateError};

/// The purpose of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetupPrompt {
    /// Writing instructions together with a person.
    Setup,
    /// Editing instructions together with a person.
    Edit,
    Validate,
}

impl SetupPrompt {
    /// The name of its file in a mode.
    pub fn file(self) -> &'static str {
        match self {
            Self::Setup => "setup.md",
            Self::Edit => "edit.md",
            Self::Validate => "validate.md",
        }
    }
}

/// The names that a prompt can use. An unknown command is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetupVariables {
    /// The folder of the task, relative to the project.
    pub task_path: String,
    /// The name of the task.
    pub task_name: String,
    /// The path of the instructions, relative to the project.
    pub instructions_file: String,
    /// The path of the checklist, relative to the project.
    pub todo_file: String,
    pub project_root: String,
    /// The command that runs the project's tests.
    pub test_command: String,
}

impl SetupVariables {
    fn values(self) -> [(&'static str, String); 6] {
        [
            ("task_path", self.task_path),
            ("task_name", self.task_name),
            ("instructions_file", self.instructions_file),
            ("todo_file", self.todo_file),
            ("project_root", self.project_root),
            ("test_command", self.test_command),
        ]
    }
}

/// The template of the embedded mode of this name. Other modes use those of `iterative`.
pub fn template(mode: &str, purpose: SetupPrompt) -> &'static str {
    let of = |mode: &EmbeddedMode| match purpose {
        SetupPrompt::Setup => mode.setup,
        SetupPrompt::Edit => mode.edit,
        SetupPrompt::Validate => mode.validate,
    };
    let own = EMBEDDED.iter().find(|embedded| embedded.name == mode).and_then(of);
    own.or_else(|| of(&ITERATIVE)).unwrap_or_default()
}

pub fn render(
    template: &str,
    purpose: SetupPrompt,
    tokens: &SetupVariables,
) -> Result<String, TemplateError> {
    prompt::render(purpose.file(), template, &tokens.clone().values())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [SetupPrompt; 3] = [SetupPrompt::Setup, SetupPrompt::Edit, SetupPrompt::Validate];

    fn tokens() -> SetupVariables {
        SetupVariables {
            task_path: ".nightwright/tasks/{{ odd }}".to_owned(),
            task_name: "a-task".to_owned(),
            instructions_file: "the-instructions".to_owned(),
            todo_file: "the-list".to_owned(),
            project_root: "/p".to_owned(),
            test_command: "make <test>".to_owned(),
        }
    }

    #[test]
    fn every_text_of_every_mode_can_be_made_with_and_without_a_test_command() {
        for mode in EMBEDDED {
            for purpose in ALL {
                for test_command in ["", "make <test>"] {
                    let tokens =
                        SetupVariables { test_command: test_command.to_owned(), ..tokens() };
                    let text = render(template(mode.name, purpose), purpose, &tokens).unwrap();
                    assert!(text.contains("the-instructions"), "{} {purpose:?}", mode.name);
                    assert_eq!(text.contains("make <test>"), !test_command.is_empty());
                    assert!(!text.contains("{%"), "{text}");
                }
            }
        }
    }

    #[test]
    fn only_the_mode_with_a_list_speaks_of_it() {
        for purpose in ALL {
            for (mode, speaks) in [("loop", true), ("iterative", false), ("plan", false)] {
                let text = render(template(mode, purpose), purpose, &tokens()).unwrap();
                assert_eq!(text.contains("the-list"), speaks, "{mode} {purpose:?}");
            }
        }
    }

    #[test]
    fn a_name_that_is_not_known_is_an_error_and_text_is_never_evaluated() {
        let error = render("{{ nope }}", SetupPrompt::Edit, &tokens()).unwrap_err();
        assert!(
            error.to_string().contains("`edit.md`") && error.what.contains("`nope`"),
            "{error}"
        );
        let text = render("in {{ task_path }}", SetupPrompt::Edit, &tokens()).unwrap();
        assert_eq!(text, "in .nightwright/tasks/{{ odd }}\n");
    }
}
