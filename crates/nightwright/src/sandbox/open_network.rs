//! The network of a sandbox that is open: started once for a run, and used by each program inside.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use nightwright_core::sandbox::bwrap::BwrapOption;
use nightwright_core::sandbox::facts::HostFacts;
use nightwright_core::sandbox::network::contacts::ContactNews;
use nightwright_core::sandbox::network::{
    self as hosts, HostPort, NetworkMode, NetworkWay, Policy,
};
use nightwright_core::sandbox::plan::NetworkMount;
use tokio::sync::mpsc;

use super::network::{NamedHosts, NetworkPlan, SandboxNetwork, System, choose_way, named_hosts};
use super::{Sandbox, SandboxError, SandboxSpec};
use crate::workspace::Repository;

/// The folder of the network, in the private folder of the project.
const FOLDER: &str = "network";

#[derive(Debug)]
pub(super) struct OpenNetwork {
    network: SandboxNetwork,
    policy: Policy,
    notes: Vec<String>,
    /// Taken by the run, which records them.
    contacts: Mutex<Option<mpsc::Receiver<ContactNews>>>,
}

/// Starts the network, unless programs inside use that of the machine.
pub(super) fn open(
    spec: &SandboxSpec<'_>,
    host: &HostFacts,
) -> Result<Option<OpenNetwork>, SandboxError> {
    let settings = &spec.settings.sandbox;
    if settings.network == NetworkMode::Host {
        return Ok(None);
    }
    // A program inside may have changed a configuration that is open to it.
    let is_open = |name: &String| name.trim_start_matches("./").starts_with(".git");
    let repository = Repository::around(spec.project);
    let repository = repository.filter(|_| !settings.write.iter().any(is_open));
    let config = repository.map(|found| found.shared().join("config"));
    let NamedHosts { policy, proxies, notes } =
        named_hosts(settings, host, &spec.environment, config.as_deref());
    let (way, _) = choose_way(&spec.canary);
    let outside = Arc::new(System);
    let plan = NetworkPlan { way, policy: policy.clone(), proxies, outside };
    let folder = host.private.join(FOLDER);
    let (network, contacts) = SandboxNetwork::start(&folder, plan)
        .map_err(|source| SandboxError::Prepare { path: folder, source })?;
    Ok(Some(OpenNetwork { network, policy, notes, contacts: Mutex::new(Some(contacts)) }))
}

impl Sandbox {
    pub(super) fn network(&self) -> Option<&SandboxNetwork> {
        self.network.as_ref().map(|open| &open.network)
    }

    /// How programs inside reach the network; `None` if they use that of the machine.
    pub fn network_way(&self) -> Option<NetworkWay> {
        self.network().map(SandboxNetwork::way)
    }

    /// The news of contacted hosts. Only the first caller gets them.
    pub fn take_contacts(&self) -> Option<mpsc::Receiver<ContactNews>> {
        let contacts = &self.network.as_ref()?.contacts;
        contacts.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Settings of the network that could not be followed.
    pub fn network_notes(&self) -> &[String] {
        self.network.as_ref().map_or(&[], |open| &open.notes)
    }

    pub fn describe_network(&self) -> String {
        hosts::describe(&self.settings.network, self.network_way())
    }

    pub(super) fn explain_network(&self) -> String {
        let mut text = format!("Network: {}\n", self.describe_network());
        let Some(OpenNetwork { policy, notes, .. }) = &self.network else { return text };
        let list = |hosts: &[HostPort]| {
            hosts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        };
        let ports: Vec<_> = policy.host_ports.iter().map(ToString::to_string).collect();
        let listed = match &policy.mode {
            NetworkMode::Only(hosts) => list(hosts),
            NetworkMode::On | NetworkMode::Provider | NetworkMode::Off | NetworkMode::Host => {
                String::new()
            }
        };
        let is_named = |host: &&HostPort| !policy.provider.contains(host);
        let named: Vec<_> = policy.private_hosts.iter().filter(is_named).cloned().collect();
        for (what, hosts) in [
            ("listed", listed),
            ("agent", list(&policy.provider)),
            ("named", list(&named)),
            ("localhost", ports.join(", ")),
        ] {
            if !hosts.is_empty() {
                // Writing to a string cannot fail, here and below.
                let _ = writeln!(text, "  {what:<10} {hosts}");
            }
        }
        for note in notes {
            let _ = writeln!(text, "note: {note}");
        }
        text
    }

    pub(super) fn network_mounts(&self) -> Vec<NetworkMount> {
        self.network().map(|network| network.mounts(&self.canary)).unwrap_or_default()
    }

    pub(super) fn network_options(&self) -> Vec<BwrapOption> {
        self.network().map(SandboxNetwork::options).unwrap_or_default()
    }

    /// The command in front of bubblewrap.
    pub(super) fn outer_command(&self) -> Vec<OsString> {
        self.network().map(|network| network.outer_command(&self.canary)).unwrap_or_default()
    }

    /// The command in front of the program inside.
    pub(super) fn inner_command(&self) -> Vec<OsString> {
        self.network().map(SandboxNetwork::inner_command).unwrap_or_default()
    }

    /// Changes the variables of a program to those for this network.
    pub(super) fn change_variables(&self, variables: &mut Vec<(OsString, OsString)>) {
        let Some(network) = self.network() else { return };
        variables.retain(|(name, _)| !name.to_str().is_some_and(SandboxNetwork::hides_variable));
        variables.extend(network.environment());
    }
}
