//! `nightwright task template`: save instructions as a template and create tasks from it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use nightwright_core::display::display_safe;
use serde::Serialize;

use super::locked_task::warn_about_leftovers;
use super::new::created;
use crate::commands::cli::context::ProjectArgs;
use crate::commands::cli::terminal;
use crate::console::{self, advise, print, print_json, print_result};
use crate::error::Failure;
use crate::task::template::{self, Template, TemplateStore};
use crate::task::{Task, TaskName};

#[derive(Clone, Debug, Args)]
#[command(after_long_help = AFTER_HELP, disable_help_subcommand = true)]
pub(super) struct TemplateArgs {
    #[command(subcommand)]
    command: TemplateCommand,
}

const AFTER_HELP: &str = "\
A template is a folder with INSTRUCTIONS.md and, if the task has them, task.toml and TODO.md with \
every checkbox unchecked. Templates of a project are in `.nightwright/templates`; your own \
templates, for all projects, are in `$XDG_CONFIG_HOME/nightwright/templates` \
(`~/.config/nightwright/templates`). If both have a template of the same name, nightwright uses the \
one of the project.";

#[derive(Clone, Debug, Subcommand)]
enum TemplateCommand {
    /// Save the instructions of a task as a template
    Save {
        /// Name of the task
        #[arg(value_name = "TASK")]
        task: String,
        /// Name of the template [default: the name of the task]
        #[arg(value_name = "TEMPLATE")]
        template: Option<String>,
        /// Save it for all projects
        #[arg(long)]
        user: bool,
        /// Replace an existing template without asking
        #[arg(short, long)]
        yes: bool,
        #[command(flatten)]
        project: ProjectArgs,
    },
    /// Create a task from a template
    Use {
        /// Name of the template
        #[arg(value_name = "TEMPLATE")]
        template: String,
        /// Name of the new task
        #[arg(value_name = "TASK")]
        task: String,
        /// Use your own template, even if the project has one of that name
        #[arg(long)]
        user: bool,
        #[command(flatten)]
        project: ProjectArgs,
    },
    /// List the templates
    List {
        /// Print a JSON array with one object per template
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        project: ProjectArgs,
    },
    /// Print the files of a template
    Show {
        /// Name of the template
        #[arg(value_name = "TEMPLATE")]
        template: String,
        /// Show your own template, even if the project has one of that name
        #[arg(long)]
        user: bool,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        project: ProjectArgs,
    },
    /// Delete a template, without archiving it
    Delete {
        /// Name of the template
        #[arg(value_name = "TEMPLATE")]
        template: String,
        /// Delete your own template instead of the one of the project
        #[arg(long)]
        user: bool,
        /// Delete without asking
        #[arg(short, long)]
        yes: bool,
        #[command(flatten)]
        project: ProjectArgs,
    },
}

/// A template in JSON.
#[derive(Debug, Serialize)]
struct TemplateRow {
    name: String,
    owner: &'static str,
    folder: PathBuf,
}

/// A template in JSON, with its files.
#[derive(Debug, Serialize)]
struct TemplatePage {
    #[serde(flatten)]
    row: TemplateRow,
    files: BTreeMap<&'static str, String>,
}

pub(super) fn template(options: &TemplateArgs) -> Result<ExitCode, Failure> {
    match &options.command {
        TemplateCommand::Save { task, template, user, yes, project } => {
            let project = project.find()?;
            let store = store(&project, *user)?;
            save(&store, &Task::open(&project, task)?, template.as_deref().unwrap_or(task), *yes)
        }
        TemplateCommand::Use { template, task, user, project } => {
            let project = project.find()?;
            let name = TaskName::parse(task)?;
            let task = find(&project, template, *user)?.use_for(&project, &name, None)?;
            print_result(&created(&task)?)?;
            Ok(ExitCode::SUCCESS)
        }
        TemplateCommand::List { json, project } => list(&project.find()?, *json),
        TemplateCommand::Show { template, user, json, project } => {
            show(&find(&project.find()?, template, *user)?, *json)
        }
        TemplateCommand::Delete { template, user, yes, project } => {
            let store = store(&project.find()?, *user)?;
            delete(template::find_on(&[store], &template::name(template)?)?, *yes)
        }
    }
}

fn store(project: &Path, user: bool) -> Result<TemplateStore, Failure> {
    if user { TemplateStore::of_user() } else { Ok(TemplateStore::of_project(project)) }
}

fn save(store: &TemplateStore, task: &Task, name: &str, yes: bool) -> Result<ExitCode, Failure> {
    let name = template::name(name)?;
    // A task without instructions has no template to replace the old one with.
    let replaced = match template::find_on(std::slice::from_ref(store), &name) {
        Ok(old) if task.instructions()?.is_some() && (yes || agrees(&name)?) => Some(old),
        Ok(_) | Err(_) => None,
    };
    let (template, removed) = store.save(task, &name, replaced.as_ref())?;
    if let Some(removed) = &removed {
        warn_about_leftovers(removed);
    }
    print_result(&format!(
        "saved the instructions of `{}` as the template `{name}` in `{}`\n\
         to use it: nightwright new NAME --from {name}",
        task.name(),
        template.folder().display()
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn agrees(name: &TaskName) -> Result<bool, Failure> {
    let question = format!("The template `{name}` already exists. Replace it?");
    Ok(console::is_interactive() && console::confirm(&question)?)
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
        print_json(&templates.iter().map(row).collect::<Vec<_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    if templates.is_empty() {
        advise(
            "no templates yet; run `nightwright task template save TASK` to save the instructions of a task",
        );
        return Ok(ExitCode::SUCCESS);
    }
    let width = templates.iter().map(|template| template.name.as_str().len()).max().unwrap_or(0);
    let line = |template: &Template| {
        let (name, owner) = (template.name.as_str(), template.owner.name());
        format!("{name:width$}  {owner:7}  {}", template.folder().display())
    };
    print_result(&templates.iter().map(line).collect::<Vec<_>>().join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

fn show(template: &Template, json: bool) -> Result<ExitCode, Failure> {
    let contents = template.contents()?;
    if json {
        let files = contents.into_iter().collect();
        print_json(&TemplatePage { row: row(template), files })?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut parts = vec![template.folder().display().to_string()];
    let part = |(file, content): (&str, String)| format!("--- {file}\n{}", content.trim_end());
    parts.extend(contents.into_iter().map(part));
    print(&display_safe(&parts.join("\n\n")))?;
    Ok(ExitCode::SUCCESS)
}

fn delete(template: Template, yes: bool) -> Result<ExitCode, Failure> {
    let (name, folder) = (template.name.clone(), template.folder());
    let folder = folder.display();
    let refusal = || {
        Failure::usage(format!("deleting the template `{name}` needs confirmation"))
            .hint(format!("delete `{folder}` for good with --yes"))
    };
    let question = format!("Delete the template `{name}` (`{folder}`) for good?");
    if !terminal::confirm_unless(yes, &question, refusal)? {
        return Ok(ExitCode::FAILURE);
    }
    warn_about_leftovers(&template.delete()?);
    print_result(&format!("deleted the template `{name}` (`{folder}`)"))?;
    Ok(ExitCode::SUCCESS)
}

fn row(template: &Template) -> TemplateRow {
    TemplateRow {
        name: template.name.to_string(),
        owner: template.owner.name(),
        folder: template.folder(),
    }
}
