//! The plan: one file with checkboxes, or `impl/README.md` next to one file per feature.

use super::checklist;
use crate::input::Checklist;

/// The plan as one file.
pub const FILE: &str = "IMPLEMENTATION_PLAN.md";

/// The folder of a plan of several files.
pub const FOLDER: &str = "impl";

/// Subfolders with this name contain finished parts.
pub const ARCHIVE: &str = "archive";

/// The file that makes the folder a plan.
pub const README: &str = "impl/README.md";

/// The checkboxes of a plan with these files, by their paths in the project; `None` if they are not
/// a plan. A plan of one file is counted alone.
pub fn combine(files: &[(String, String)]) -> Option<Checklist> {
    let mut files = files.iter().map(|(path, text)| (path.trim_start_matches("./"), text));
    let single = files.clone().find(|(path, _)| !is_in_folder(path));
    if let Some((_, text)) = single {
        return Some(checklist::count(text));
    }
    if !files.clone().any(|(path, _)| path == README) {
        return None;
    }
    let mut sum = Checklist { open: 0, done: 0 };
    for (_, text) in files.by_ref().filter(|(path, _)| is_part(path)) {
        let Checklist { open, done } = checklist::count(text);
        sum.open = sum.open.saturating_add(open);
        sum.done = sum.done.saturating_add(done);
    }
    Some(sum)
}

/// Whether a file of the project is a part of the plan in the folder.
pub fn is_part(path: &str) -> bool {
    let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
    let is_over = folders.split('/').any(|folder| folder.eq_ignore_ascii_case(ARCHIVE));
    let is_text = path.rsplit_once('.').is_some_and(|(_, end)| end.eq_ignore_ascii_case("md"));
    is_in_folder(path) && is_text && !is_over
}

fn is_in_folder(path: &str) -> bool {
    path.split_once('/').is_some_and(|(folder, _)| folder == FOLDER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn combined(files: &[(&str, &str)]) -> Option<(u32, u32)> {
        let files: Vec<_> =
            files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        combine(&files).map(|checklist| (checklist.open, checklist.done))
    }

    const OPEN: &str = "- [ ] a\n";
    const DONE: &str = "- [x] a\n";

    #[test]
    fn a_plan_is_one_file_or_a_folder_with_a_readme() {
        for (files, checklist) in [
            (&[][..], None),
            (&[(FILE, OPEN)][..], Some((1, 0))),
            (&[(FILE, "no box")], Some((0, 0))),
            (&[(README, "# Features")], Some((0, 0))),
            (&[(README, DONE), ("impl/login.md", OPEN)], Some((1, 1))),
            (&[("./impl/README.md", DONE), ("./impl/login.md", OPEN)], Some((1, 1))),
            (&[(README, DONE), ("impl/deep/er/login.MD", OPEN)], Some((1, 1))),
            (&[("impl/login.md", OPEN)], None),
            (&[(README, DONE), ("impl/archive/old.md", OPEN)], Some((0, 1))),
            (&[(README, DONE), ("impl/deep/Archive/x/old.md", OPEN)], Some((0, 1))),
            (&[(README, DONE), ("impl/archive.md", OPEN)], Some((1, 1))),
            (&[(README, DONE), ("impl/code.rs", OPEN)], Some((0, 1))),
            (&[(FILE, DONE), (README, OPEN)], Some((0, 1))),
        ] {
            assert_eq!(combined(files), checklist, "{files:?}");
        }
    }
}
