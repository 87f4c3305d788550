//! Settings of the sandbox.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sandbox::network::{HostPort, NetworkMode};

/// The walls around the agent and its checks.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct SandboxSettings {
    /// The kind of sandbox.
    pub kind: SandboxKind,
    /// Files and folders outside the project to show read-only.
    pub read: Vec<String>,
    /// Files and folders to open for writing: outside the project, or protected ones inside it.
    pub write: Vec<String>,
    /// Devices to show, such as `/dev/kvm`.
    pub devices: Vec<String>,
    /// Whether programs inside may create user namespaces.
    pub userns: bool,
    /// Whether the settings of package managers keep their logins.
    pub registry_logins: bool,
    /// The hosts that programs inside may contact.
    #[serde(skip_serializing_if = "NetworkMode::is_default")]
    pub network: NetworkMode,
    /// Ports of this machine that programs inside reach on their own loopback.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub host_ports: Vec<u16>,
    /// Hosts that programs inside may contact even if they have a private address.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub private_hosts: Vec<HostPort>,
}

/// The kind of sandbox that the agent and its checks run in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxKind {
    /// Programs run without a sandbox.
    #[default]
    Off,
    /// Linux namespaces, created by bubblewrap (`bwrap`).
    Bwrap,
    /// This machine is the sandbox, as you say: a container or a virtual machine.
    External,
}

impl SandboxKind {
    /// Every value of the setting.
    pub const VALUES: &'static [&'static str] = &["off", "bwrap", "external"];

    /// Every value, the loosest first. `external` gives the agent everything on this machine, and
    /// `off` does not.
    pub const LOOSEST_FIRST: &'static [&'static str] = &["external", "off", "bwrap"];

    /// The name in settings and events.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Bwrap => "bwrap",
            Self::External => "external",
        }
    }

    /// Whether there is a sandbox, made by nightwright or by the user.
    pub fn is_on(self) -> bool {
        match self {
            Self::Off => false,
            Self::Bwrap | Self::External => true,
        }
    }

    /// Whether nightwright makes the sandbox, and starts the programs inside.
    pub fn is_made_here(self) -> bool {
        match self {
            Self::Off | Self::External => false,
            Self::Bwrap => true,
        }
    }
}

impl SandboxSettings {
    /// Whether these are the defaults, which journals leave out.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_place_in_the_order() {
        let sorted = |names: &[&'static str]| {
            let mut names = names.to_vec();
            names.sort_unstable();
            names
        };
        assert_eq!(sorted(SandboxKind::VALUES), sorted(SandboxKind::LOOSEST_FIRST));
    }
}
