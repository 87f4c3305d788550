//! Changes of a resumed run: options of the command line, and changes of the configuration since
//! the run started.

use std::path::Path;

use clap::Args;
use nightwright_core::event::{Event, OperatorEvent};
use nightwright_core::permissions::Permissions;
use nightwright_core::redact::{Secrets, has_masks};
use nightwright_core::settings::{ChangeSource, SandboxKind, SettingChange, Settings};

use crate::app::approval::{self, UntrustedPolicy};
use crate::app::run_spec;
use crate::commands::cli::key_options::{KeyOptions, Limits};
use crate::commands::cli::values;
use crate::config::{self, ConfigLayer};
use crate::console::{self, eprint_safe};
use crate::error::Failure;
use crate::secrets;
use crate::store::run_dir::RunDir;

/// Settings of the agent and the gate that can change when a run continues.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Changes")]
pub(super) struct ChangeArgs {
    /// Allow another tool, such as `Bash(npm install:*)`; repeatable
    #[arg(long, value_name = "TOOL", value_parser = values::tool)]
    allowed_tools: Vec<String>,

    /// Forbid another tool; repeatable
    #[arg(long, value_name = "TOOL", value_parser = values::tool, hide_short_help = true)]
    disallowed_tools: Vec<String>,

    /// Permissions of the agent from now on: usual, edits, bypass or none
    #[arg(long, value_name = "LEVEL", value_parser = permissions, conflicts_with = "dangerously_skip_permissions")]
    permissions: Option<Permissions>,

    /// Same as `--permissions bypass`
    #[arg(long, hide_short_help = true)]
    dangerously_skip_permissions: bool,

    /// Sandbox from now on: off or bwrap
    #[arg(long, value_name = "KIND", value_parser = values::setting::<SandboxKind>("sandbox.kind"))]
    sandbox: Option<SandboxKind>,

    /// Model for the agent from now on
    #[arg(long, value_name = "MODEL", value_parser = values::text)]
    model: Option<String>,

    /// Limit an attempt to N turns from now on
    #[arg(long, value_name = "N", value_parser = values::setting::<u32>("agent.max_turns"), allow_negative_numbers = true, hide_short_help = true)]
    max_turns: Option<u32>,

    /// Command that must pass before the work counts as complete, instead of the earlier ones; repeatable
    #[arg(long, value_name = "CMD", value_parser = values::text)]
    verify: Vec<String>,

    /// Use the permissions and the model of the configuration if they changed since the run began
    #[arg(long, conflicts_with = "if_needed")]
    reload: bool,

    /// Arguments for the agent program, instead of the earlier ones
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<String>,
}

/// A change, and its source.
pub(super) type SourcedChange = (ChangeSource, SettingChange);

impl ChangeArgs {
    /// Whether any option changes a setting.
    pub(super) fn any(&self) -> bool {
        self.changes_agent() || !self.verify.is_empty() || self.reload || self.sandbox.is_some()
    }

    fn changes_agent(&self) -> bool {
        let Self { allowed_tools, disallowed_tools, permissions, .. } = self;
        !allowed_tools.is_empty()
            || !disallowed_tools.is_empty()
            || permissions.is_some()
            || self.dangerously_skip_permissions
            || self.model.is_some()
            || self.max_turns.is_some()
            || !self.arguments.is_empty()
    }

    /// Fails if an option does not apply to the agent of this run.
    pub(super) fn must_fit(&self, settings: &Settings) -> Result<(), Failure> {
        match &settings.agent.command {
            Some(command) if self.changes_agent() => Err(Failure::usage(format!(
                "the agent of this run is the command `{command}`: nightwright does not set its \
                 model, permissions or arguments"
            ))
            .hint("change only limits or --verify")),
            Some(_) | None => Ok(()),
        }
    }

    /// Returns the changes from the options of the command line.
    pub(super) fn by_operator(
        &self,
        limits: &KeyOptions<Limits>,
        settings: &Settings,
    ) -> Vec<SourcedChange> {
        let mut wanted = settings.clone();
        wanted.agent.add_tools(&self.allowed_tools, &self.disallowed_tools);
        if let Some(kind) = self.sandbox {
            wanted.sandbox.kind = kind;
            if !kind.is_on() && settings.sandbox.kind.is_on() {
                // The sandbox may have been the reason for the permissions.
                wanted.agent.permissions = settings.configured.permissions;
            }
        }
        if self.dangerously_skip_permissions {
            wanted.agent.permissions = Permissions::Bypass;
        }
        wanted.agent.permissions = self.permissions.unwrap_or(wanted.agent.permissions);
        wanted.model.name = self.model.clone().or(wanted.model.name);
        wanted.model.max_turns = self.max_turns.or(wanted.model.max_turns);
        if !self.verify.is_empty() {
            wanted.verify.commands.clone_from(&self.verify);
        }
        if !self.arguments.is_empty() {
            wanted.agent.arguments.clone_from(&self.arguments);
        }
        limits.layer.apply(&mut wanted);
        let changes = SettingChange::between(settings, &wanted);
        changes.into_iter().map(|change| (ChangeSource::Operator, change)).collect()
    }

    /// Returns the changes of the configuration since the run started that take effect.
    pub(super) fn by_configuration(
        &self,
        project: &Path,
        layers: &[ConfigLayer],
        settings: &Settings,
        asking: AskPolicy,
        untrusted: UntrustedPolicy,
    ) -> Result<Vec<SourcedChange>, Failure> {
        let mut changes = run_spec::configured(layers).changes(settings);
        // An option overrides the configuration.
        changes.retain(|change| match change {
            SettingChange::Permissions { .. } => {
                self.permissions.is_none() && !self.dangerously_skip_permissions
            }
            SettingChange::Model { .. } => self.model.is_none(),
            _ => true,
        });
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        let list: Vec<_> = changes.iter().map(SettingChange::sentence).collect();
        let list = secrets::of_user().mask(&list.join("; ")).into_owned();
        let keys: Vec<_> = changes.iter().map(SettingChange::key).collect();
        let agreed = match asking {
            _ if self.reload => {
                must_be_approved(project, layers, &keys, untrusted)?;
                true
            }
            AskPolicy::Allowed if untrusted == UntrustedPolicy::Accept => {
                eprint_safe(&format!("Changed since this run began: {list}"));
                true
            }
            AskPolicy::Allowed if console::is_interactive() => {
                eprint_safe(&format!("Changed since this run began: {list}"));
                let agreed = console::confirm("Use the new values?")?;
                if agreed {
                    approval::approve_shown(project, layers, &keys)?;
                }
                agreed
            }
            AskPolicy::Allowed | AskPolicy::Never => {
                eprint_safe(&format!(
                    "Changed since this run began: {list}. The run keeps the old values.{}",
                    match asking {
                        AskPolicy::Allowed => " Add --reload to use the new ones.",
                        AskPolicy::Never => "",
                    }
                ));
                false
            }
        };
        if !agreed {
            return Ok(Vec::new());
        }
        Ok(changes.into_iter().map(|change| (ChangeSource::Configuration, change)).collect())
    }
}

/// Fails if the project's configuration sets one of these keys without approval; may ask for it.
fn must_be_approved(
    project: &Path,
    layers: &[ConfigLayer],
    keys: &[&str],
    untrusted: UntrustedPolicy,
) -> Result<(), Failure> {
    let other: Vec<_> =
        config::KEYS.iter().map(|key| key.name).filter(|key| !keys.contains(key)).collect();
    let layers = layers.iter().cloned().map(|layer| layer.without(&other)).collect();
    approval::settle_settings(project, layers, untrusted)?;
    Ok(())
}

/// Whether the command may ask the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AskPolicy {
    /// Only on a terminal.
    Allowed,
    /// Not even on a terminal.
    Never,
}

/// Saves the unmasked changes if the journal will mask parts of them.
pub(super) fn keep(
    changes: &[SourcedChange],
    secrets: &Secrets,
    folder: &RunDir,
) -> Result<(), Failure> {
    let masked: Vec<_> = changes
        .iter()
        .filter(|(source, change)| {
            let event = Event::Operator(OperatorEvent::SettingsChanged {
                source: *source,
                change: change.clone(),
            });
            // Literal asterisks in a change must not be taken for a mask later.
            secrets.mask_event(&event).is_some() || has_masks(change)
        })
        .map(|(_, change)| change.clone())
        .collect();
    if masked.is_empty() {
        return Ok(());
    }
    secrets::save_change(folder.path(), &masked).map_err(|error| Failure::because(&error))
}

fn permissions(word: &str) -> Result<Permissions, String> {
    serde_json::from_value(serde_json::Value::String(word.to_owned()))
        .map_err(|_| format!("one of {}", Permissions::VALUES.join(", ")))
}
