//! The command line of an agent that the user provides.

use std::path::Path;

use crate::error::Failure;

/// A command line, split into words.
#[derive(Debug)]
pub(crate) struct AgentCommandLine {
    /// A name to look up in `PATH`, or an absolute path.
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
}

impl AgentCommandLine {
    /// Returns the program: a name to look up in `PATH`, or an absolute path.
    pub(crate) fn program(&self) -> &str {
        &self.program
    }

    /// Splits a command line as a shell would. A relative path of the program is resolved against
    /// the project, where the program will run.
    pub(crate) fn parse(text: &str, project: &Path) -> Result<Self, Failure> {
        let wrong = |why: &str| Failure::usage(format!("--agent-command `{text}`: {why}"));
        let words = shell_words::split(text).map_err(|error| wrong(&error.to_string()))?;
        let mut words = words.into_iter();
        let program = words.next().filter(|program| !program.is_empty());
        let program = program.ok_or_else(|| wrong("it names no program"))?;
        let program = if program.contains('/') {
            let relative = Path::new(&program);
            let path = project.join(relative.strip_prefix(".").unwrap_or(relative));
            path.to_str().ok_or_else(|| wrong("its path is not UTF-8"))?.to_owned()
        } else {
            program
        };
        Ok(Self { program, arguments: words.collect() })
    }
}
