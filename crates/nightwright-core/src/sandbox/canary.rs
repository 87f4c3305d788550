//! The canary: a program that runs in the sandbox before any other, and tries what must be
//! impossible and what must work. A sandbox whose canary reports anything else is not used.

mod expected;
mod seen;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use self::expected::{Expectation, Must, Tried, TriedNetwork, expectations};
pub use self::seen::{SeenMount, Sights, parse_mounts};
use super::bwrap::UserNamespaces;
use super::mounts::MountPlan;

/// An action that the canary tries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Probe {
    /// Create a file in a folder. The canary leaves the file there if `keep` is set.
    Create { folder: PathBuf, keep: bool },
    /// Open a file for writing, without changing it.
    Open { file: PathBuf },
    /// Read a file that is not empty, or list a folder that is not empty.
    Read { path: PathBuf },
    /// Move a file or folder to another name in its folder, and back.
    Move { path: PathBuf },
    /// Create a file, write it to disk and rename it.
    Replace { folder: PathBuf },
    /// Send no signal to a process, only check that it can be signalled.
    Signal { pid: i32 },
    /// Run `git status` in a folder.
    Git { folder: PathBuf },
    /// Connect to a port of the loopback.
    Connect { port: u16 },
    /// Connect to an abstract Unix socket.
    AbstractSocket { name: String },
    /// Ask nightwright for a connection, by the network or by a proxy at this port.
    Bridge { proxy: Option<u16> },
    /// Create a namespace for mounts.
    MountNamespace,
    /// Create a namespace for users.
    UserNamespace,
}

impl Probe {
    /// The action in words: "write to `/usr`".
    pub fn words(&self) -> String {
        match self {
            Self::Create { folder: path, .. } | Self::Open { file: path } => {
                format!("write to `{}`", path.display())
            }
            Self::Read { path } => format!("read `{}`", path.display()),
            Self::Move { path } => format!("move `{}`", path.display()),
            Self::Replace { folder } => {
                format!("create and rename files in `{}`", folder.display())
            }
            Self::Signal { pid } => format!("signal process {pid} outside"),
            Self::Git { folder } => format!("run `git status` in `{}`", folder.display()),
            Self::Connect { port } => format!("connect to port {port} of this machine"),
            Self::AbstractSocket { .. } => {
                "connect to an abstract Unix socket of this machine".to_owned()
            }
            Self::Bridge { .. } => "use the network of the sandbox".to_owned(),
            Self::MountNamespace => "create a mount namespace".to_owned(),
            Self::UserNamespace => "create a user namespace".to_owned(),
        }
    }
}

/// The order for a canary, on its standard input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CanaryOrder {
    /// The name of the files that it creates.
    pub name: String,
    pub probes: Vec<Probe>,
}

/// The result of one probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeResult {
    Done,
    /// It failed, for this reason.
    Failed(String),
}

/// The report of a canary, as one line on its standard output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CanaryReport {
    /// The results, in the order of the probes.
    pub results: Vec<ProbeResult>,
    pub sights: Sights,
}

/// The facts that nightwright knows and the canary does not.
#[derive(Clone, Debug)]
pub struct Outside<'a> {
    pub plan: &'a MountPlan,
    /// The namespaces of nightwright itself, by name.
    pub namespaces: BTreeMap<String, String>,
    pub user_namespaces: UserNamespaces,
    /// Whether the sandbox has a separate network.
    pub has_network: bool,
    pub directory: PathBuf,
    /// The probes whose file exists outside the sandbox.
    pub escaped: Vec<Probe>,
}

/// Compares the report with the expectations. Returns every difference in words; none if the
/// sandbox is as it must be.
pub fn differences(
    expectations: &[Expectation],
    outside: &Outside<'_>,
    report: &CanaryReport,
) -> Vec<String> {
    let mut found = Vec::new();
    if report.results.len() != expectations.len() {
        found.push(format!(
            "the test answered {} of {} questions",
            report.results.len(),
            expectations.len()
        ));
    }
    for (expected, result) in expectations.iter().zip(&report.results) {
        found.extend(expected.difference(result, &outside.escaped));
    }
    found.extend(report.sights.differences(outside));
    found
}
