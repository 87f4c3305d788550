//! The sources of the agent program's own settings: the user and the project.

use std::path::Path;

use crate::trust::{self, TrustItem};

/// The name of the source for the user's settings.
pub(super) const USER_SETTINGS: &str = "user";
/// The name of the source for the project's settings.
pub(crate) const PROJECT_SETTINGS: &str = "project";

/// Returns the sources without the project's, unless its files are exactly the approved ones.
pub(crate) fn allowed_sources(
    sources: &[String],
    project: &Path,
    agent_files: &[TrustItem],
) -> Vec<String> {
    let now = trust::agent_files(project);
    let as_approved = now.len() == agent_files.len()
        && now.iter().zip(agent_files).all(|(now, approved)| now.is_same_as(approved));
    let is_allowed = |source: &&String| as_approved || source.as_str() == USER_SETTINGS;
    let allowed: Vec<_> = sources.iter().filter(is_allowed).cloned().collect();
    // Without any source, the program would read all of them.
    if allowed.is_empty() { vec![USER_SETTINGS.to_owned()] } else { allowed }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_agents_settings_in_the_project_are_used_only_as_they_were_approved() {
        let project = tempfile::tempdir().unwrap();
        let folder = project.path().join(".claude");
        fs::create_dir(&folder).unwrap();
        let sources = ["user", "project", "local"].map(str::to_owned);
        let allowed = |files: &[TrustItem]| allowed_sources(&sources, project.path(), files);
        assert_eq!(allowed(&[]), sources, "there are none");
        fs::write(project.path().join(".mcp.json"), "").unwrap();
        assert_eq!(allowed(&[]), sources, "a killed run left it, without content");
        fs::remove_file(project.path().join(".mcp.json")).unwrap();
        fs::write(folder.join("settings.json"), "{}").unwrap();
        assert_eq!(allowed(&[]), ["user"], "not approved");
        let projects_alone = allowed_sources(&["project".to_owned()], project.path(), &[]);
        assert_eq!(
            projects_alone,
            ["user"],
            "without any source the program would read all of them"
        );
        let approved = trust::agent_files(project.path());
        assert_eq!(allowed(&approved), sources);
        fs::write(folder.join("settings.json"), "{\"hooks\": {}}").unwrap();
        assert_eq!(allowed(&approved), ["user"], "it was changed");
        fs::write(folder.join("settings.json"), "{}").unwrap();
        fs::write(project.path().join(".mcp.json"), "{}").unwrap();
        assert_eq!(allowed(&approved), ["user"], "another one was added");
    }
}
