//! Warnings about changes to files that later sessions of the agent program read.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use super::AgentProgram;
use crate::agent::judge_home;
use crate::agent::process::NoticesFn;
use crate::trust;

/// Returns a function that compares the agent program's files with what they are now. Rehearsals
/// and other programs use none of these files.
pub(crate) fn watched(
    program: &AgentProgram,
    project: &Path,
    environment: &[(OsString, OsString)],
) -> Option<NoticesFn> {
    match program {
        AgentProgram::Claude => {}
        AgentProgram::Command(_) | AgentProgram::Rehearsal(_) => return None,
    }
    let (project, config) = (project.to_owned(), judge_home::config_folder(environment));
    let users = move || config.as_deref().map(trust::user_agent_files).unwrap_or_default();
    let (of_project, of_user) = (trust::agent_files(&project), users());
    Some(Arc::new(move || {
        let mut notices: Vec<String> = trust::differing(&of_project, &trust::agent_files(&project))
            .iter()
            .map(|path| of_the_project(path))
            .collect();
        notices.extend(trust::differing(&of_user, &users()).iter().map(|path| of_the_user(path)));
        notices
    }))
}

fn of_the_project(path: &Path) -> String {
    format!(
        "`{}` changed during the run; the agent no longer uses its settings in the project",
        path.display()
    )
}

fn of_the_user(path: &Path) -> String {
    format!(
        "`{}` changed during the run; every session of the agent reads it, so review it if you did \
         not change it",
        path.display()
    )
}
