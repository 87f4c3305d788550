//! The commits between two states of a project, as git lists them.

use std::ffi::OsString;
use std::path::Path;

use jiff::Timestamp;
use nightwright_core::display::one_line;
use nightwright_core::redact::Secrets;
use nightwright_core::run_report::Commit;

use super::git::{Git, GitError};
use super::repository::Repository;

/// Maximum characters of a subject.
const MAX_SUBJECT_CHARS: usize = 200;

/// Returns the commits that `to` contains and `from` does not, newest first and at most `most`;
/// without `from`, all that `to` contains. Secrets are masked. The error explains why they are
/// unknown.
pub fn commits(
    project: &Path,
    from: Option<&str>,
    to: &str,
    most: usize,
    secrets: &Secrets,
) -> Result<Vec<Commit>, String> {
    // A value from a journal must not be taken for an option.
    if let Some(odd) = from.into_iter().chain([to]).find(|commit| !is_hash(commit)) {
        return Err(format!("`{}` is not a commit hash", one_line(odd, MAX_SUBJECT_CHARS)));
    }
    let repository = Repository::around(project).ok_or("there is no repository")?;
    // Listing commits runs no other program, whatever the configuration says: no pager, signatures,
    // notes or diffs are requested.
    let git = Git::of_user(&repository.folder, &repository.top);
    let range = from.map_or_else(|| to.to_owned(), |from| format!("{from}..{to}"));
    let most = format!("--max-count={most}");
    let arguments =
        ["rev-list", "--encoding=UTF-8", "--format=%H%x09%ct%x09%s", &most, &range, "--"];
    let mut arguments: Vec<OsString> = arguments.into_iter().map(OsString::from).collect();
    if !repository.inside.as_os_str().is_empty() {
        // Brackets and stars in the name of a folder are literal.
        let mut inside = OsString::from(":(literal)");
        inside.push(&repository.inside);
        arguments.push(inside);
    }
    let answer = git.run(arguments).map_err(|trouble| match &trouble {
        GitError::Failed(_) => "the repository no longer contains them".to_owned(),
        GitError::NotStarted(_)
        | GitError::TimedOut(_)
        | GitError::TooMuch
        | GitError::Odd(_)
        | GitError::Ignored
        | GitError::Changed
        | GitError::Folder(_) => trouble.to_string(),
    })?;
    let answer = String::from_utf8_lossy(&answer);
    Ok(answer.lines().filter_map(|line| commit(line, secrets)).collect())
}

/// Parses `HASH TIME SUBJECT`, separated by tabs. The line that git prints before it has no tabs.
fn commit(line: &str, secrets: &Secrets) -> Option<Commit> {
    let (hash, rest) = line.split_once('\t')?;
    let (time, subject) = rest.split_once('\t')?;
    let at = time.parse().ok().and_then(|second| Timestamp::from_second(second).ok());
    // Masked before it is cut: a part of a secret is still secret.
    let subject = one_line(&secrets.mask(subject), MAX_SUBJECT_CHARS);
    Some(Commit { hash: hash.to_owned(), at, subject })
}

fn is_hash(text: &str) -> bool {
    (40..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_hashes_are_never_passed_to_git() {
        for odd in ["--output=x", "HEAD", "", "abc", "-0123456789012345678901234567890123456789"] {
            let error = commits(Path::new("."), None, odd, 5, &Secrets::default()).unwrap_err();
            assert!(error.contains("is not a commit hash"), "{error}");
        }
    }

    #[test]
    fn a_line_is_a_commit_if_it_has_all_of_one() {
        let none = Secrets::default();
        assert_eq!(commit("commit 9fceb02d", &none), None);
        let found = commit("9fceb02d\t1794786045\tmove\tthe orders", &none).unwrap();
        assert_eq!((found.hash.as_str(), found.subject.as_str()), ("9fceb02d", "move the orders"));
        assert_eq!(found.at.unwrap().as_second(), 1_794_786_045);
    }

    #[test]
    fn a_secret_that_the_cut_goes_through_leaves_nothing_of_itself() {
        let secret = "hunter2-hunter2-hunter2";
        let secrets = Secrets::new([secret], [""; 0]).unwrap();
        for before in MAX_SUBJECT_CHARS - secret.len()..MAX_SUBJECT_CHARS {
            let line = format!("9fceb02d\t1\t{}{secret} and more", "x".repeat(before));
            let subject = commit(&line, &secrets).unwrap().subject;
            assert!(!subject.contains("hun"), "{subject}");
        }
    }
}
