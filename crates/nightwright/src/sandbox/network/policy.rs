//! The policy of a run: its settings, and the hosts that the user's files and variables name.
//!
//! Files that programs inside can change contribute nothing.

use std::ffi::OsString;
use std::path::Path;

use nightwright_core::sandbox::facts::HostFacts;
use nightwright_core::sandbox::lists;
use nightwright_core::sandbox::network::named;
use nightwright_core::sandbox::network::proxy::Proxies;
use nightwright_core::sandbox::network::{HostPort, Policy};
use nightwright_core::settings::SandboxSettings;
use serde_json::Value as Json;

use crate::files;

/// Maximum size of a file that is read.
const MAX_BYTES: u64 = 1 << 20;
/// Settings of package managers for all users.
const SYSTEM_SETTINGS: [&str; 5] =
    ["/etc/pip.conf", "/etc/npmrc", "/usr/etc/npmrc", "/usr/local/etc/npmrc", "/etc/gitconfig"];
/// Settings of git in the home folder.
const GIT_SETTINGS: [&str; 2] = [".gitconfig", ".config/git/config"];

/// The hosts that the user's settings and variables name.
#[derive(Clone, Debug)]
pub(in crate::sandbox) struct NamedHosts {
    pub(in crate::sandbox) policy: Policy,
    pub(in crate::sandbox) proxies: Proxies,
    /// Settings that could not be followed, with the reason.
    pub(in crate::sandbox) notes: Vec<String>,
}

/// Collects the policy. `git_config` is the configuration of the repository.
pub(in crate::sandbox) fn named_hosts(
    settings: &SandboxSettings,
    host: &HostFacts,
    environment: &[(OsString, OsString)],
    git_config: Option<&Path>,
) -> NamedHosts {
    let variables: Vec<(&str, &str)> = environment
        .iter()
        .filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)))
        .collect();
    let of_agent = agent_variables(host);
    let get = |name: &str| {
        let own = of_agent.iter().find(|(known, _)| known == name);
        let outer = variables.iter().find(|(known, _)| *known == name);
        own.map(|(_, value)| value.clone()).or_else(|| outer.map(|(_, value)| (*value).to_owned()))
    };
    let mut policy = Policy {
        mode: settings.network.clone(),
        provider: named::provider(get),
        host_ports: settings.host_ports.clone(),
        private_hosts: Vec::new(),
        listed_hosts: settings.private_hosts.clone(),
        listed_ports: settings.host_ports.clone(),
    };
    let addresses = variables.iter().copied();
    let addresses = addresses.chain(of_agent.iter().map(|(name, value)| (&**name, &**value)));
    let mut found: Vec<HostPort> = addresses
        .filter(|(name, _)| named::is_address_variable(name))
        .flat_map(|(_, value)| named::hosts_in(value))
        .collect();
    found.extend(of_files(host));
    if let Some(config) = git_config {
        found.extend(named::git_remotes(&read(config)));
    }
    let (proxies, wrong) = match Proxies::from_environment(|name| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }) {
        Ok(proxies) => (proxies, None),
        Err(place) => (Proxies::default(), Some(place)),
    };
    found.extend(proxies.hosts().cloned());
    let all = found.into_iter().chain(policy.provider.clone());
    for target in settings.private_hosts.iter().cloned().chain(all) {
        policy.allow_private(target);
    }
    let note = |place| {
        format!(
            "the sandbox ignores the proxy `{place}`: it supports only HTTP proxies (`http://`)"
        )
    };
    NamedHosts { policy, proxies, notes: wrong.map(note).into_iter().collect() }
}

/// The hosts in the settings of package managers and git.
fn of_files(host: &HostFacts) -> Vec<HostPort> {
    let at_home = lists::PACKAGE_SETTINGS.iter().chain(&GIT_SETTINGS);
    let mut paths: Vec<_> = at_home.map(|name| host.home.join(name)).collect();
    let of_cargo = host.tool_homes.iter().filter(|home| home.variable == "CARGO_HOME");
    paths.extend(of_cargo.map(|home| home.folder.join("config.toml")));
    paths.extend(SYSTEM_SETTINGS.map(Into::into));
    paths.iter().flat_map(|path| named::hosts_in(&read(path))).collect()
}

/// The variables in the user's settings of the agent.
fn agent_variables(host: &HostFacts) -> Vec<(String, String)> {
    let moved = host.tool_homes.iter().find(|home| home.variable == lists::AGENT_VARIABLE);
    let folder = moved.map_or_else(|| host.home.join(lists::AGENT_FOLDER), |it| it.folder.clone());
    let settings = serde_json::from_str::<Json>(&read(&folder.join("settings.json")));
    let settings = settings.unwrap_or_default();
    let variables = settings.get("env").and_then(Json::as_object).into_iter().flatten();
    let text = |(name, value): (&String, &Json)| Some((name.clone(), value.as_str()?.to_owned()));
    variables.filter_map(text).collect()
}

/// The text of a file; empty if it cannot be read.
fn read(path: &Path) -> String {
    let bytes = files::read_at_most(path, MAX_BYTES).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}
