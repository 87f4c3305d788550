//! `nightwright principles`: set trade-off priorities.

mod ask;

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use nightwright_core::display::display_safe;
use nightwright_core::principles::{Preset, Principles};

use self::ask::WeightsShown;
use super::cli::context::ProjectArgs;
use super::cli::terminal::{self, TerminalPrompt};
use crate::config::principles;
use crate::config::{self, ResolvedConfig, ValueOrigin};
use crate::console::{self, advise, eprint_safe, print};
use crate::error::Failure;
use crate::files;
use crate::init::ask::NoAnswer;
use crate::init::file_plan;

#[derive(Clone, Debug, Args)]
pub(super) struct PrinciplesArgs {
    /// Use the weights of a preset without asking
    #[arg(long, value_name = "NAME", value_parser = ["startup", "enterprise", "opensource", "custom"])]
    preset: Option<String>,

    /// Use the weights of a TOML file, or of a YAML file such as `.claude/principles.yaml`, without asking
    #[arg(long, value_name = "FILE", conflicts_with = "preset")]
    from: Option<PathBuf>,

    /// Replace an existing file without asking (backup: `.bak`)
    #[arg(short, long)]
    yes: bool,

    /// Print the text that the agent reads, and write nothing
    #[arg(long, conflicts_with = "yes")]
    show: bool,

    #[command(flatten)]
    project: ProjectArgs,
}

pub(super) fn principles(options: &PrinciplesArgs) -> Result<ExitCode, Failure> {
    let project = options.project.find()?;
    let resolved = ResolvedConfig::new(config::load(&project, None, |name| env::var_os(name))?);
    let origin = resolved.origin("principles.file");
    let given = options.given()?;
    if options.show
        && let Some(given) = given
    {
        return show(&given);
    }
    let file = principles::configured(&resolved).ok_or_else(|| {
        Failure::usage("principles are off: `principles.file` is empty")
            .hint(format!("unset it: {}", principles::how_to_unset(origin)))
    })?;
    if options.show {
        return show(&written(&project, &file, origin)?);
    }
    let place = PrinciplesTarget::new(&project, &file, origin, options.yes)?;
    let chosen = match given {
        Some(given) => given,
        None if console::is_interactive() => match place.ask(&mut TerminalPrompt::new()?) {
            Ok(chosen) => chosen,
            Err(gone) => {
                return terminal::cancelled(gone, "use `--preset NAME` to skip the questions");
            }
        },
        None => without_asking(&project)?,
    };
    place.write(&chosen)?;
    Ok(ExitCode::SUCCESS)
}

impl PrinciplesArgs {
    /// Returns the principles chosen on the command line.
    fn given(&self) -> Result<Option<Principles>, Failure> {
        match (&self.preset, &self.from) {
            (Some(name), _) => Ok(Preset::named(name).map(Principles::of)),
            (None, Some(path)) => principles::named_file("--from", path).map(Some),
            (None, None) => Ok(None),
        }
    }
}

fn show(principles: &Principles) -> Result<ExitCode, Failure> {
    print(principles.text().trim_end())?;
    Ok(ExitCode::SUCCESS)
}

fn written(project: &Path, file: &str, origin: &ValueOrigin) -> Result<Principles, Failure> {
    principles::inside(project, file)?.ok_or_else(|| {
        Failure::trouble(format!("cannot read principles: `{file}` does not exist"))
            .hint(principles::how_to_write(file, origin))
    })
}

/// Returns the principles to use without a terminal.
fn without_asking(project: &Path) -> Result<Principles, Failure> {
    let foreign = principles::FOREIGN;
    match principles::inside(project, foreign)? {
        Some(found) => {
            eprint_safe(&format!("Not a terminal: using `{foreign}`."));
            Ok(found)
        }
        None => Err(Failure::usage("cannot ask for principles: not a terminal")
            .hint("add --preset startup, enterprise, opensource or custom, or --from FILE")),
    }
}

fn replaces(project: &Path, file: &str) -> Result<bool, Failure> {
    let backup = file_plan::free_backup(project, file);
    let question = format!(
        "`{file}` already exists. Replace it? nightwright keeps the old one as `{backup}`."
    );
    Ok(console::is_interactive() && console::confirm(&question)?)
}

/// The file for the principles of a project, and its current contents.
struct PrinciplesTarget<'a> {
    project: &'a Path,
    file: &'a str,
    /// The current contents, if the file exists.
    old: Option<Vec<u8>>,
}

impl<'a> PrinciplesTarget<'a> {
    /// Fails if the file cannot be written. Called before the user answers questions.
    fn new(
        project: &'a Path,
        file: &'a str,
        origin: &ValueOrigin,
        yes: bool,
    ) -> Result<Self, Failure> {
        if principles::is_yaml(Path::new(file)) {
            return Err(Failure::usage(format!(
                "cannot write `{file}`: `nightwright principles` writes only TOML"
            ))
            .hint(principles::name_toml(origin)));
        }
        if principles::is_own(project, file) {
            return Err(principles::own(file, origin));
        }
        let path = project.join(file);
        let because = |error| Failure::because(&error);
        files::check_inside(project, &path).map_err(because)?;
        file_plan::check_writable(&path)?;
        let old = file_plan::read(project, file)?;
        if old.is_some() && !yes && !replaces(project, file)? {
            return Err(Failure::trouble(format!("{file} already exists")).hint(format!(
                "run `nightwright principles --show` to print it, or add `--yes` to replace it \
                 (nightwright keeps the old file as `{}`)",
                file_plan::free_backup(project, file)
            )));
        }
        Ok(Self { project, file, old })
    }

    /// Asks the user for the principles.
    fn ask(&self, person: &mut TerminalPrompt) -> Result<Principles, NoAnswer> {
        let current = principles::inside(self.project, self.file).ok().flatten();
        if let Some(imported) = self.foreign(person)? {
            return ask::weights(person, imported, WeightsShown::Already);
        }
        let start = ask::preset(person, current.as_ref())?;
        ask::weights(person, start, WeightsShown::NotYet)
    }

    /// Offers to import the principles of another tool.
    fn foreign(&self, person: &mut TerminalPrompt) -> Result<Option<Principles>, NoAnswer> {
        match principles::inside(self.project, principles::FOREIGN) {
            Ok(None) => Ok(None),
            Ok(Some(found)) => {
                let is_wanted = ask::import(person, principles::FOREIGN, &found)?;
                Ok(is_wanted.then_some(found))
            }
            Err(failure) => {
                let foreign = principles::FOREIGN;
                eprint_safe(&format!("cannot import `{foreign}`: {}\n", failure.message));
                Ok(None)
            }
        }
    }

    /// Writes the principles, and keeps the old file as a backup next to them.
    fn write(&self, chosen: &Principles) -> Result<(), Failure> {
        let Self { project, file, old } = self;
        let text = chosen.to_toml();
        let because = |error| Failure::because(&error);
        if let Some(old) = old
            && old != text.as_bytes()
        {
            let backup = file_plan::free_backup(project, file);
            files::replace(&project.join(&backup), old).map_err(because)?;
            eprint_safe(&format!("The old one is now `{backup}`."));
        }
        let path = project.join(file);
        files::check_inside(project, &path).map_err(because)?;
        files::replace(&path, text.as_bytes()).map_err(because)?;
        print(&display_safe(file))?;
        advise(&format!(
            "Wrote the principles of the preset `{}`. Later runs use them. To change a weight, \
             edit the file.\nTo print the text for the agent: nightwright principles --show",
            chosen.preset().name()
        ));
        Ok(())
    }
}
