//! Shared parts of the commands: common arguments, and the project.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use nightwright_core::root::{Root, RootSource};
use rustix::fs::{Access, access};

use crate::console;
use crate::error::Failure;
use crate::init::detect::has_manifest;
use crate::workspace::root;

/// The project that a command is about.
#[derive(Clone, Debug, Default, Args)]
#[group(skip)]
pub(crate) struct ProjectArgs {
    /// Project folder [default: the project that contains the current folder]
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
}

impl ProjectArgs {
    pub(crate) fn find(&self) -> Result<PathBuf, Failure> {
        Ok(self.find_root()?.path)
    }

    pub(crate) fn find_root(&self) -> Result<Root, Failure> {
        if let Some(folder) = &self.project {
            return Ok(Root { path: real_folder(folder)?, found: RootSource::Named });
        }
        let current = current()?;
        Ok(root::find(&current).unwrap_or(Root { path: current, found: RootSource::Current }))
    }

    /// Returns the project of a command that works in it, and a line that names the folder, unless
    /// it is obvious. The home folder and `/` must be named explicitly, or confirmed at a terminal.
    pub(crate) fn find_for_work(&self) -> Result<(PathBuf, Option<String>), Failure> {
        let root = self.find_root()?;
        if root.found == RootSource::TooWide {
            confirm_wide(&root.path)?;
        }
        check_writable(&root.path)?;
        let line = project_line(&root);
        Ok((root.path, line))
    }

    /// Returns the folder that `init` sets up. A package of a larger repository with its own
    /// manifest is a separate project.
    pub(crate) fn find_new(&self) -> Result<(PathBuf, Option<String>), Failure> {
        let current = current()?;
        let is_package =
            self.project.is_none() && !root::is_too_wide(&current) && has_manifest(&current);
        if is_package { Ok((current, None)) } else { self.find_for_work() }
    }
}

/// Fails if the project is not writable: an agent could only waste money there.
pub(crate) fn check_writable(project: &Path) -> Result<(), Failure> {
    access(project, Access::WRITE_OK).map_err(|error| {
        let (shown, why) = (project.display(), io::Error::from(error));
        Failure::usage(format!("cannot write to the project folder `{shown}`: {why}"))
    })
}

/// Returns a line that names the project folder, unless it is obvious.
pub(crate) fn project_line(root: &Root) -> Option<String> {
    let Root { path, found } = root;
    let how = match found {
        RootSource::Named | RootSource::Current | RootSource::TooWide => return None,
        RootSource::Configured => "it has `.nightwright/`",
        RootSource::Repository => "the root of the git repository",
    };
    let line = format!("Project: `{}` ({how})", path.display());
    Some(line).filter(|_| current().is_ok_and(|here| here != *path))
}

/// Asks for confirmation to use the home folder or `/`. That is almost always a mistake, so `--yes`
/// does not cover it.
fn confirm_wide(path: &Path) -> Result<(), Failure> {
    let (shown, what) = (path.display(), wide_name(path));
    let question = format!("`{shown}` is {what}. Use all of it as the project?");
    if console::is_interactive() && console::confirm(&question)? {
        return Ok(());
    }
    Err(too_wide(path))
}

pub(crate) fn too_wide(path: &Path) -> Failure {
    let (shown, what) = (path.display(), wide_name(path));
    Failure::usage(format!("refusing to use `{shown}` as the project: it is {what}")).hint(format!(
        "change to the folder of the project, or name it: -C DIR (-C {} for {what} itself)",
        shell_words::quote(&path.to_string_lossy())
    ))
}

fn wide_name(path: &Path) -> &'static str {
    if path.parent().is_none() { "the root folder" } else { "your home folder" }
}

fn current() -> Result<PathBuf, Failure> {
    real_folder(Path::new("."))
}

/// Resolves the links in the path of a folder. Fails if it does not exist.
fn real_folder(folder: &Path) -> Result<PathBuf, Failure> {
    let real = folder.canonicalize().map_err(|error| {
        Failure::usage(format!("cannot use the project folder `{}`: {error}", folder.display()))
    })?;
    if !real.is_dir() {
        let message = format!("the project `{}` is not a folder", real.display());
        return Err(Failure::usage(message));
    }
    Ok(real)
}

/// Formats rows as text; every column is as wide as its widest cell.
pub(crate) fn table<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: [usize; COLUMNS] = std::array::from_fn(|column| width(column).unwrap_or(0));
    let line = |row: &[String; COLUMNS]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}  "));
        cells.collect::<String>().trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}
