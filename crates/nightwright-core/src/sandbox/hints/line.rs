//! The lines of configuration that give checks what they need.

use std::fmt::Write as _;

use super::{HostNeeds, Need};
use crate::sandbox::network::NetworkMode;
use crate::settings::Settings;

/// The lines that give these checks what they need, one per key. They keep what the settings
/// contain already.
pub fn lines(all: &[HostNeeds], settings: &Settings) -> Vec<String> {
    let sandbox = &settings.sandbox;
    let needs = || all.iter().flat_map(|one| &one.needs);
    let texts = |key: &str, known: &[String], of: fn(&Need) -> Option<&String>| {
        let mut items = known.to_vec();
        for item in needs().filter_map(of) {
            if !items.contains(item) {
                items.push(item.clone());
            }
        }
        (items.len() > known.len()).then(|| {
            let items: Vec<_> = items.iter().map(|item| quoted(item)).collect();
            format!("{key} = [{}]", items.join(", "))
        })
    };
    let has = |need: &Need| needs().any(|one| one == need);
    [
        ports(needs(), &sandbox.host_ports),
        texts("sandbox.read", &sandbox.read, |need| match need {
            Need::Read(path) => Some(path),
            _ => None,
        }),
        texts("sandbox.write", &sandbox.write, |need| match need {
            Need::Write(path) => Some(path),
            _ => None,
        }),
        texts("sandbox.devices", &sandbox.devices, |need| match need {
            Need::Device(path) => Some(path),
            _ => None,
        }),
        has(&Need::UserNamespaces).then(|| "sandbox.userns = true".to_owned()),
        has(&Need::Network).then(|| {
            // If `on` is too little, only the network of the machine is left.
            let looser = if sandbox.network == NetworkMode::On { "host" } else { "on" };
            format!("sandbox.network = \"{looser}\"")
        }),
        commands(all, settings),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn ports<'a>(needs: impl Iterator<Item = &'a Need>, known: &[u16]) -> Option<String> {
    let mut ports = known.to_vec();
    for need in needs {
        if let Need::Port(port) = need
            && !ports.contains(port)
        {
            ports.push(*port);
        }
    }
    let is_more = ports.len() > known.len();
    let ports: Vec<_> = ports.iter().map(u16::to_string).collect();
    is_more.then(|| format!("sandbox.host_ports = [{}]", ports.join(", ")))
}

/// The checks, some of them outside the sandbox.
fn commands(all: &[HostNeeds], settings: &Settings) -> Option<String> {
    let verify = &settings.verify;
    let moves = |command: &str| {
        let is_outside = |need: &Need| matches!(need, Need::Containers | Need::Other);
        all.iter().any(|one| one.command == command && one.needs.iter().any(is_outside))
    };
    if !verify.commands.iter().any(|command| moves(command)) {
        return None;
    }
    let items: Vec<_> = verify
        .commands
        .iter()
        .map(|command| {
            if moves(command) || verify.runs_outside(command) {
                format!("{{ run = {}, sandbox = false }}", quoted(command))
            } else {
                quoted(command)
            }
        })
        .collect();
    Some(format!("verify.commands = [{}]", items.join(", ")))
}

/// A text as a string in TOML.
fn quoted(text: &str) -> String {
    let is_plain = !text.contains(['\'', '\u{7f}']) && !text.chars().any(char::is_control);
    if is_plain && text.contains(['"', '\\']) {
        return format!("'{text}'");
    }
    let mut quoted = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            control if control.is_control() => {
                write!(quoted, "\\u{:04X}", u32::from(control))
                    .expect("a string can be written to");
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
