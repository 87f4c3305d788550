//! `nightwright template`: reuse instructions.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use nightwright_core::display::display_safe;
use serde::Serialize;

use super::archive::warn_about_leftovers;
use super::new::made;
use crate::commands::select_run::project;
use crate::commands::{advise, print};
use crate::error::Failure;
use crate::paste::from_here;
use crate::task::template::{self, Template, TemplateStore};
use crate::task::{Task, TaskName};

/// What the command can be told.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub(crate) struct TemplateArgs {
    #[command(subcommand)]
    command: TemplateCommand,

    /// The project folder [default: the project around the current folder]
    #[arg(short = 'C', long, value_name = "DIR", global = true)]
    project: Option<PathBuf>,
}

const AFTER_HELP: &str = "\
A template is a folder with INSTRUCTIONS.md and, if the task had them, TODO.md with every box \
open and task.toml. Those of a project are in `.nightwright/templates`; those that a user has for all \
projects are in `$XDG_CONFIG_HOME/nightwright/templates` (`~/.config/nightwright/templates`). Of two with \
the same name the project's is used.";

#[derive(Clone, Debug, Subcommand)]
enum TemplateCommand {
    /// Keep the instructions of a task as a template
    Save {
        /// The task
        #[arg(value_name = "TASK")]
        task: String,
        /// What the template is called [default: as the task]
        #[arg(value_name = "TEMPLATE")]
        template: Option<String>,
        /// For all projects, not only for this one
        #[arg(long)]
        user: bool,
    },
    /// Make a new task of a template
    Use {
        /// The template
        #[arg(value_name = "TEMPLATE")]
        template: String,
        /// What the new task is called
        #[arg(value_name = "TASK")]
        task: String,
        /// The one for all projects, even if this project has its own
        #[arg(long)]
        user: bool,
    },
    /// List the templates there are
    List {
        /// Print a JSON array with an object for each template
        #[arg(long)]
        json: bool,
    },
    /// Print what is in a template
    Show {
        /// The template
        #[arg(value_name = "TEMPLATE")]
        template: String,
        /// The one for all projects, even if this project has its own
        #[arg(long)]
        user: bool,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Remove a template; it is not archived
    Delete {
        /// The template
        #[arg(value_name = "TEMPLATE")]
        template: String,
        /// The one for all projects
        #[arg(long)]
        user: bool,
        /// Do it
        #[arg(short, long)]
        force: bool,
    },
}

/// A template in JSON.
#[derive(Debug, Serialize)]
struct TemplateRow {
    name: String,
    owner: &'static str,
    folder: PathBuf,
}

/// A template in JSON, with what is in it.
#[derive(Debug, Serialize)]
struct TemplatePage {
    #[serde(flatten)]
    row: TemplateRow,
    files: std::collections::BTreeMap<&'static str, String>,
}

pub(crate) fn template(options: &TemplateArgs) -> Result<ExitCode, Failure> {
    let project = project(options.project.as_deref())?;
    match &options.command {
        TemplateCommand::Save { task, template, user } => {
            save(&project, task, template.as_deref().unwrap_or(task), *user)
        }
        TemplateCommand::Use { template, task, user } => {
            let name = TaskName::parse(task)?;
            let task = find(&project, template, *user)?.use_for(&project, &name, None)?;
            report(&made(&task)?)
        }
        TemplateCommand::List { json } => list(&project, *json),
        TemplateCommand::Show { template, user, json } => {
            show(&find(&project, template, *user)?, *json)
        }
        TemplateCommand::Delete { template, user, force } => {
            delete(&project, template, *user, *force)
        }
    }
}

fn save(project: &Path, task: &str, name: &str, user: bool) -> Result<ExitCode, Failure> {
    let task = Task::open(project, task)?;
    let shelf = if user { TemplateStore::of_user()? } else { TemplateStore::of_project(project) };
    let template = shelf.save(&task, &template::name(name)?)?;
    let name = &template.name;
    report(&format!(
        "kept the instructions of `{}` as the template `{name}` in `{}`\n\
         to use it: nightwright new NAME --from {name}",
        task.name(),
        template.folder().display()
    ))
}

fn find(project: &Path, name: &str, user: bool) -> Result<Template, Failure> {
    let name = template::name(name)?;
    if user {
        template::find_on(&[TemplateStore::of_user()?], &name)
    } else {
        template::find(project, &name)
    }
}

fn list(project: &Path, json: bool) -> Result<ExitCode, Failure> {
    let templates = template::list(project)?;
    if json {
        let rows: Vec<_> = templates.iter().map(row).collect();
        return report_json(&rows);
    }
    if templates.is_empty() {
        advise(
            "there are no templates yet; keep a task's instructions: nightwright template save TASK",
        );
        return Ok(ExitCode::SUCCESS);
    }
    let width = templates.iter().map(|template| template.name.as_str().len()).max().unwrap_or(0);
    let line = |template: &Template| {
        let (name, owner) = (template.name.as_str(), template.owner.name());
        format!("{name:width$}  {owner:7}  {}", template.folder().display())
    };
    report(&templates.iter().map(line).collect::<Vec<_>>().join("\n"))
}

fn show(template: &Template, json: bool) -> Result<ExitCode, Failure> {
    let contents = template.contents()?;
    if json {
        return report_json(&TemplatePage {
            row: row(template),
            files: contents.into_iter().collect(),
        });
    }
    let mut parts = vec![template.folder().display().to_string()];
    let part = |(file, content): (&str, String)| {
        format!(
            "--- {file}
{}",
            content.trim_end()
        )
    };
    parts.extend(contents.into_iter().map(part));
    report(&parts.join(
        "

",
    ))
}

fn delete(project: &Path, name: &str, user: bool, force: bool) -> Result<ExitCode, Failure> {
    let shelf = if user { TemplateStore::of_user()? } else { TemplateStore::of_project(project) };
    let template = template::find_on(&[shelf], &template::name(name)?)?;
    let folder = template.folder();
    let name = template.name.clone();
    if !force {
        return Err(Failure::usage(format!("`nightwright template delete {name}` needs --force"))
            .hint(format!("`{}` is removed for good", folder.display())));
    }
    warn_about_leftovers(&template.delete()?);
    report(&format!("removed the template `{name}` (`{}`)", folder.display()))
}

fn row(template: &Template) -> TemplateRow {
    TemplateRow {
        name: template.name.to_string(),
        owner: template.owner.name(),
        folder: template.folder(),
    }
}

fn report_json(value: &impl Serialize) -> Result<ExitCode, Failure> {
    crate::commands::print_json(value)?;
    Ok(ExitCode::SUCCESS)
}

fn report(text: &str) -> Result<ExitCode, Failure> {
    print(&display_safe(&from_here(text)))?;
    Ok(ExitCode::SUCCESS)
}
