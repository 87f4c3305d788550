//! Location of the temporary folder of a run.
//!
//! It must be on disk, because compilers and package managers write more into it than fits into
//! memory. It must be outside the project, because its files would count as changes. Its path must
//! be short, because programs create Unix sockets there. The user's `TMPDIR` comes first if it
//! meets all of this.

use std::path::PathBuf;

/// A folder in which the temporary folder could be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub folder: PathBuf,
    /// Whether the folder is the project or inside it.
    pub is_in_project: bool,
    /// Whether a Unix socket below it can have a path of sufficient length.
    pub leaves_room_for_sockets: bool,
    /// Whether its file system keeps files in memory.
    pub is_in_memory: bool,
}

/// A folder to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankedFolder {
    pub folder: PathBuf,
    /// The reason why it is not the folder of `TMPDIR`, if it is another one.
    pub instead: Option<&'static str>,
}

/// The folders to try, best first: `user` is the folder of `TMPDIR`, `usual` are those of the
/// system. A folder in memory or with a long path is better than none.
pub fn places(user: Option<Candidate>, usual: Vec<Candidate>) -> Vec<RankedFolder> {
    let problem = user.as_ref().map(problem);
    let is_usable = matches!(problem, Some(None | Some(Problem::InMemory | Problem::TooLong)));
    // A suitable folder is passed over only if it is not writable.
    let instead = problem.map(|problem| problem.map_or(UNWRITABLE, Problem::text));
    let mut all: Vec<(Candidate, Option<&'static str>)> = Vec::new();
    all.extend(user.filter(|_| is_usable).map(|user| (user, None)));
    all.extend(usual.into_iter().map(|folder| (folder, instead)));
    all.sort_by_key(|(folder, _)| (!folder.leaves_room_for_sockets, folder.is_in_memory));
    all.into_iter()
        .map(|(Candidate { folder, .. }, instead)| RankedFolder { folder, instead })
        .collect()
}

const UNWRITABLE: &str = "it is not a writable folder";

/// The reason why the folder of `TMPDIR` is not the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Problem {
    Relative,
    InProject,
    TooLong,
    InMemory,
}

impl Problem {
    fn text(self) -> &'static str {
        match self {
            Self::Relative => "it is not an absolute path",
            Self::InProject => "it is inside the project",
            Self::TooLong => "its path is too long for Unix sockets",
            Self::InMemory => "it is in memory, not on disk",
        }
    }
}

fn problem(user: &Candidate) -> Option<Problem> {
    if !user.folder.is_absolute() {
        Some(Problem::Relative)
    } else if user.is_in_project {
        Some(Problem::InProject)
    } else if !user.leaves_room_for_sockets {
        Some(Problem::TooLong)
    } else {
        user.is_in_memory.then_some(Problem::InMemory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_disk(folder: &str) -> Candidate {
        Candidate {
            folder: folder.into(),
            is_in_project: false,
            leaves_room_for_sockets: true,
            is_in_memory: false,
        }
    }

    fn in_memory(folder: &str) -> Candidate {
        Candidate { is_in_memory: true, ..on_disk(folder) }
    }

    fn tried(
        user: Option<Candidate>,
        usual: &[Candidate; 2],
    ) -> Vec<(String, Option<&'static str>)> {
        let places = places(user, usual.to_vec()).into_iter();
        places.map(|place| (place.folder.display().to_string(), place.instead)).collect()
    }

    fn usual() -> [Candidate; 2] {
        [on_disk("/tmp"), on_disk("/var/tmp")]
    }

    #[test]
    fn the_folder_of_the_user_comes_first_and_those_of_the_system_follow() {
        assert_eq!(
            tried(None, &usual()),
            [("/tmp".to_owned(), None), ("/var/tmp".to_owned(), None)]
        );
        let places = tried(Some(on_disk("/mine")), &usual());
        assert_eq!(places[0], ("/mine".to_owned(), None));
        assert_eq!(places[1], ("/tmp".to_owned(), Some(UNWRITABLE)));
    }

    #[test]
    fn a_folder_on_disk_is_preferred_to_one_in_memory() {
        let system = [in_memory("/tmp"), on_disk("/var/tmp")];
        let folders = |user| tried(user, &system).into_iter().map(|(folder, _)| folder);
        assert_eq!(folders(None).collect::<Vec<_>>(), ["/var/tmp", "/tmp"]);
        let user = || Some(in_memory("/dev/shm"));
        assert_eq!(folders(user()).collect::<Vec<_>>(), ["/var/tmp", "/dev/shm", "/tmp"]);
        assert_eq!(tried(user(), &system)[0].1, Some("it is in memory, not on disk"));
        // Without a disk, the user's choice counts.
        let nothing_else = [in_memory("/tmp"), in_memory("/var/tmp")];
        assert_eq!(tried(user(), &nothing_else)[0], ("/dev/shm".to_owned(), None));
    }

    #[test]
    fn a_folder_in_the_project_or_without_a_whole_path_is_never_used() {
        let inside = Candidate { is_in_project: true, ..on_disk("/project/tmp") };
        for (user, why) in
            [(inside, "it is inside the project"), (on_disk("tmp"), "it is not an absolute path")]
        {
            let places = tried(Some(user), &usual());
            assert_eq!(places.len(), 2, "{places:?}");
            assert_eq!(places[0], ("/tmp".to_owned(), Some(why)));
        }
    }

    #[test]
    fn a_path_that_is_too_long_for_sockets_is_better_than_none() {
        let long = Candidate { leaves_room_for_sockets: false, ..on_disk("/long") };
        let places = tried(Some(long), &[in_memory("/tmp"), in_memory("/var/tmp")]);
        let why = Some("its path is too long for Unix sockets");
        assert_eq!(places[0], ("/tmp".to_owned(), why));
        assert_eq!(places[2], ("/long".to_owned(), None));
    }
}
