//! Project root: which folder is the project, and which repository contains it.
//!
//! The search goes up from the starting folder and stops at another project, another user or
//! another disk. Git's own search is not used: it would find a repository in a shared folder or in
//! the home folder.

use std::path::{Path, PathBuf};

const ROOT_USER: u32 = 0;

/// A folder on the way up, as it is on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// The path without symbolic links.
    pub path: PathBuf,
    /// Whether the folder contains `.nightwright`.
    pub is_configured: bool,
    /// Whether the folder is the root of a Git repository; an invalid `.git` does not count.
    pub is_repository: bool,
    /// The file system it is on.
    pub device: u64,
    /// The ID of its owner.
    pub owner: u32,
    /// Whether every user may create files in it, as in `/tmp`.
    pub is_shared: bool,
}

/// The limits of the search, besides other disks and shared folders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchLimits {
    /// The user's home folder, without symbolic links.
    pub home: Option<PathBuf>,
    /// Folders above which the search stops (`GIT_CEILING_DIRECTORIES`), without symbolic links.
    pub ceilings: Vec<PathBuf>,
    /// The ID of the user.
    pub user: u32,
}

/// The root folder of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    pub path: PathBuf,
    pub found: RootSource,
}

/// How the root of a project was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootSource {
    /// The user named the folder.
    Named,
    /// The folder contains `.nightwright`.
    Configured,
    /// The folder is the root of the repository.
    Repository,
    /// The current folder, because nothing else was found.
    Current,
    /// The current folder is the home folder or `/`: too large to work on unless named.
    TooWide,
}

impl SearchLimits {
    /// Whether a folder is the home folder or `/`.
    pub fn is_too_wide(&self, path: &Path) -> bool {
        path.parent().is_none() || self.home.as_deref() == Some(path)
    }

    /// The folders that are searched. The starting folder always is.
    fn searched<'a>(&self, folders: &'a [Folder]) -> &'a [Folder] {
        let Some(start) = folders.first() else { return folders };
        // The user root also works in projects of other users, who own the folders.
        let is_trusted =
            |owner| owner == self.user || (self.user == ROOT_USER && owner == start.owner);
        let stops = |above: &Folder| {
            self.is_too_wide(&above.path)
                || self.ceilings.contains(&above.path)
                || above.device != start.device
                || above.is_shared
                || !is_trusted(above.owner)
        };
        let mut end = 1;
        while end < folders.len()
            && !folders[end - 1].is_repository
            && !self.is_too_wide(&folders[end - 1].path)
            && !stops(&folders[end])
        {
            end += 1;
        }
        &folders[..end]
    }
}

/// The project that a folder belongs to. `folders` are that folder and all above it, in this order.
pub fn root(folders: &[Folder], limits: &SearchLimits) -> Option<Root> {
    let start = folders.first()?;
    if limits.is_too_wide(&start.path) {
        return Some(Root { path: start.path.clone(), found: RootSource::TooWide });
    }
    let reach = limits.searched(folders);
    let configured = reach.iter().find(|folder| folder.is_configured);
    let repository = || reach.iter().find(|folder| folder.is_repository);
    let (folder, found) = match configured {
        Some(folder) => (folder, RootSource::Configured),
        None => repository()
            .map_or((start, RootSource::Current), |folder| (folder, RootSource::Repository)),
    };
    Some(Root { path: folder.path.clone(), found })
}

/// The root of the repository that contains a project. `folders` are the project and all folders
/// above it, in this order.
pub fn repository<'a>(folders: &'a [Folder], limits: &SearchLimits) -> Option<&'a Path> {
    let found = limits.searched(folders).iter().find(|folder| folder.is_repository)?;
    Some(&found.path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: u32 = 1000;

    /// `/homes/me/repo/package/src` and all above it, with the home folder at `/homes/me`.
    fn folders(change: impl Fn(&mut Folder)) -> Vec<Folder> {
        let ancestors = Path::new("/homes/me/repo/package/src").ancestors();
        let folder = |path: &Path| {
            let mut folder = Folder {
                path: path.to_owned(),
                is_configured: false,
                is_repository: false,
                device: 1,
                owner: if path.starts_with("/homes/me") { ME } else { 0 },
                is_shared: false,
            };
            change(&mut folder);
            folder
        };
        ancestors.map(folder).collect()
    }

    fn limits() -> SearchLimits {
        SearchLimits { home: Some("/homes/me".into()), ceilings: Vec::new(), user: ME }
    }

    #[track_caller]
    fn finds(folders: &[Folder], path: &str, found: RootSource) {
        let wanted = Root { path: path.into(), found };
        assert_eq!(root(folders, &limits()), Some(wanted));
    }

    #[test]
    fn the_nearest_folder_with_settings_is_the_project() {
        let all = folders(|folder| {
            folder.is_configured =
                folder.path.ends_with("repo") || folder.path.ends_with("package");
            folder.is_repository = folder.path.ends_with("repo");
        });
        finds(&all, "/homes/me/repo/package", RootSource::Configured);
        finds(&all[2..], "/homes/me/repo", RootSource::Configured);
        assert_eq!(repository(&all, &limits()), Some(Path::new("/homes/me/repo")));
    }

    #[test]
    fn without_settings_it_is_the_root_of_the_repository() {
        let all = folders(|folder| folder.is_repository = folder.path.ends_with("repo"));
        finds(&all, "/homes/me/repo", RootSource::Repository);
    }

    #[test]
    fn without_both_it_is_the_current_folder() {
        finds(&folders(|_| {}), "/homes/me/repo/package/src", RootSource::Current);
    }

    #[test]
    fn the_search_stops_at_the_root_of_the_repository() {
        let all = folders(|folder| {
            folder.is_repository = folder.path.ends_with("package");
            folder.is_configured = folder.path.ends_with("repo");
        });
        finds(&all, "/homes/me/repo/package", RootSource::Repository);
    }

    #[test]
    fn home_and_everything_above_it_are_never_found() {
        let all = folders(|folder| {
            folder.owner = ME;
            let outside = folder.path.components().count() <= 3;
            folder.is_configured = outside;
            folder.is_repository = outside;
        });
        finds(&all, "/homes/me/repo/package/src", RootSource::Current);
        assert_eq!(repository(&all, &limits()), None);
        // The search starts there, and only a name makes it a project.
        finds(&all[3..], "/homes/me", RootSource::TooWide);
        finds(&all[5..], "/", RootSource::TooWide);
        assert_eq!(repository(&all[3..], &limits()), Some(Path::new("/homes/me")));
    }

    #[test]
    fn the_root_of_the_file_system_is_never_found_without_a_home() {
        let all = folders(|folder| {
            folder.owner = ME;
            folder.is_repository = folder.path == Path::new("/");
        });
        let nowhere = SearchLimits { home: None, ..limits() };
        assert_eq!(root(&all, &nowhere).unwrap().found, RootSource::Current);
    }

    #[test]
    fn the_search_stops_at_another_disk_another_user_a_shared_folder_and_a_ceiling() {
        let in_repo = |folder: &Folder| folder.path.ends_with("repo");
        let stops: [&dyn Fn(&mut Folder); 3] =
            [&|folder| folder.device = 2, &|folder| folder.owner = 7, &|folder| {
                folder.is_shared = true;
            }];
        for stop in stops {
            let all = folders(|folder| {
                if in_repo(folder) {
                    folder.is_configured = true;
                    folder.is_repository = true;
                    stop(folder);
                }
            });
            finds(&all, "/homes/me/repo/package/src", RootSource::Current);
            // The starting folder itself counts.
            finds(&all[2..], "/homes/me/repo", RootSource::Configured);
        }
        let all = folders(|folder| folder.is_repository = in_repo(folder));
        let ceiling = SearchLimits { ceilings: vec!["/homes/me/repo".into()], ..limits() };
        assert_eq!(root(&all, &ceiling).unwrap().found, RootSource::Current);
    }

    #[test]
    fn root_finds_the_project_of_the_user_whose_folder_it_stands_in() {
        let all = folders(|folder| folder.is_repository = folder.path.ends_with("repo"));
        let as_root =
            SearchLimits { user: ROOT_USER, home: Some("/root".into()), ceilings: Vec::new() };
        assert_eq!(root(&all, &as_root).unwrap().path, Path::new("/homes/me/repo"));
    }
    #[test]
    fn other_users_never_get_the_project_of_the_user_whose_folder_they_stand_in() {
        let all = folders(|folder| {
            folder.is_configured = folder.path.ends_with("repo");
            folder.is_repository = folder.path.ends_with("repo");
        });
        let other =
            SearchLimits { user: ME + 1, home: Some("/homes/other".into()), ceilings: Vec::new() };
        assert_eq!(root(&all, &other).unwrap().found, RootSource::Current);
        assert_eq!(repository(&all, &other), None);
    }
}
