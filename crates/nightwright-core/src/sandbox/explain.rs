//! A plan in words, for `nightwright sandbox explain`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::mounts::{Access, Content, Mount, MountPlan, Reason};

/// The titles of the groups of mounts, in the order of display.
const GROUPS: &[(&str, &[Reason])] = &[
    ("Project", &[Reason::Project, Reason::Task, Reason::Git]),
    ("Protected in the project", &[Reason::Protected]),
    ("Home", &[Reason::Home, Reason::AgentSettings, Reason::AgentLogin, Reason::Settings]),
    ("Tools", &[Reason::Tools, Reason::Program]),
    ("Your settings", &[Reason::ByUser]),
    ("System", &[Reason::System, Reason::Temporary]),
    ("Network", &[Reason::Network]),
    ("Hidden", &[Reason::Secret, Reason::State]),
];

/// Describes the mounts of a plan.
pub fn explain(plan: &MountPlan) -> String {
    let mut text = String::new();
    for (title, reasons) in GROUPS {
        let mounts: Vec<(&PathBuf, &Mount)> =
            plan.mounts.iter().filter(|(_, mount)| reasons.contains(&mount.reason)).collect();
        if mounts.is_empty() {
            continue;
        }
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(text, "{title}:");
        for (place, mount) in mounts {
            let _ = writeln!(text, "  {:<10} {}", words(mount), shown(place, mount));
        }
    }
    for note in &plan.notes {
        let _ = writeln!(text, "note: {note}");
    }
    text
}

/// The access of programs inside to a mount, in one word.
fn words(mount: &Mount) -> &'static str {
    match (&mount.content, mount.access()) {
        (Content::Nothing | Content::Empty, _) => "empty",
        (Content::Link { .. }, _) => "link",
        (_, Access::ReadOnly) => "read-only",
        (_, Access::ReadWrite) => "writable",
    }
}

fn shown(place: &Path, mount: &Mount) -> String {
    let place_text = place.display();
    match &mount.content {
        Content::Bind { from, .. } if from != place => {
            format!("{place_text} ({})", from.display())
        }
        Content::Link { target } => format!("{place_text} -> {}", target.display()),
        Content::Memory => format!("{place_text} (in memory)"),
        Content::Bind { .. }
        | Content::Device { .. }
        | Content::Empty
        | Content::Nothing
        | Content::Devices
        | Content::Processes => place_text.to_string(),
    }
}
