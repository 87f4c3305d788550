//! Whether everything in a project is committed.

use std::io;

use super::git::{Git, GitError};
use super::private::{self, BaseCommit, PrivateGit};
use super::repository::Repository;

/// Whether the project has changes that are not committed. Git runs in a temporary private folder,
/// so that it runs no program of the repository. An error says what git reported.
pub fn has_uncommitted(repository: &Repository) -> Result<bool, String> {
    // The private folder leaves out a configuration that git cannot read.
    let configured = Git::of_user(&repository.folder, &repository.top).run(["config", "--list"]);
    let looked = configured.and_then(|_| look(repository));
    looked.map_err(|error| error.to_string())
}

fn look(repository: &Repository) -> Result<bool, GitError> {
    let no_folder = |error: io::Error| GitError::Folder(error.to_string());
    let temporary = tempfile::tempdir().map_err(no_folder)?;
    let folder = temporary.path().join(private::FOLDER);
    let private = PrivateGit::make(&folder, repository, &BaseCommit::First)?;
    let status = ["status", "--porcelain", "--untracked-files=normal", "--", "."];
    let listed = private.git.run(status);
    temporary.close().map_err(no_folder)?;
    match listed {
        Ok(listed) => Ok(!listed.is_empty()),
        Err(GitError::TooMuch) => Ok(true),
        Err(error) => Err(error),
    }
}
