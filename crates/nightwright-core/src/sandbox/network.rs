//! The network of a sandbox: which hosts programs inside may contact, and which ones they did.
//!
//! Programs inside have no route to any other machine. Each connection goes to a bridge, which asks
//! nightwright for it by name or by address. nightwright resolves the name, asks the [`Policy`] and
//! connects to an address that the policy has checked. A name that changes its address between the
//! check and the connection therefore gains nothing.

pub mod contacts;
pub mod dns;
pub mod host;
pub mod http;
pub mod named;
mod policy;
pub mod proxy;
mod ranges;
pub mod stand_ins;
pub mod wire;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::host::{Host, HostPort};
pub use self::policy::{Decision, Policy, Refusal, RefusalReason};
pub use self::ranges::AddressKind;

/// Which hosts programs inside a sandbox may contact: the setting `sandbox.network`.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(from = "NetworkSetting", into = "NetworkSetting")]
#[schemars(with = "NetworkSetting")]
pub enum NetworkMode {
    /// All public hosts, and the private ones that the user's settings name.
    #[default]
    On,
    /// Only the hosts that the agent itself needs.
    Provider,
    /// No host at all, not even those of the agent.
    Off,
    /// The network of the host, without a wall and without a record.
    Host,
    /// These hosts, and those that the agent itself needs.
    Only(Vec<HostPort>),
}

impl NetworkMode {
    /// The words of the setting.
    pub const WORDS: &'static [&'static str] = &["on", "provider", "off", "host"];

    /// Whether this is the default, which journals leave out.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// How programs inside reach the bridge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkWay {
    /// By a network whose only other member is the bridge.
    Transparent,
    /// By a proxy on the loopback of a sandbox without a network. Programs that ignore the variables
    /// for proxies reach nothing.
    Proxy,
}

/// Describes a network in a few words, for the first line of a run. Without a way, programs use the
/// network of the host.
pub fn describe(mode: &NetworkMode, way: Option<NetworkWay>) -> String {
    let hosts = match mode {
        NetworkMode::Host => return "the network is not restricted".to_owned(),
        NetworkMode::On => "network is on and recorded",
        NetworkMode::Provider => "network is on only for the agent itself",
        NetworkMode::Off => "network is off",
        NetworkMode::Only(_) => "network is limited to the listed hosts",
    };
    match way {
        None => "the network is not restricted".to_owned(),
        Some(NetworkWay::Transparent) => hosts.to_owned(),
        Some(NetworkWay::Proxy) => {
            let by = match mode {
                NetworkMode::On | NetworkMode::Host => "network by proxy".to_owned(),
                NetworkMode::Provider | NetworkMode::Off | NetworkMode::Only(_) => {
                    format!("{hosts}, by proxy")
                }
            };
            format!("{by}: programs that ignore HTTPS_PROXY can't connect")
        }
    }
}

/// A name that nightwright itself answers for, to test a network.
pub const TEST_NAME: &str = "canary.nightwright.internal";

/// The notation of [`NetworkMode`] in a settings file: a word or a list.
#[derive(JsonSchema, Serialize, Deserialize)]
#[serde(untagged)]
enum NetworkSetting {
    Word(NetworkWord),
    List(Vec<HostPort>),
}

#[derive(JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum NetworkWord {
    On,
    Provider,
    Off,
    Host,
}

impl From<NetworkSetting> for NetworkMode {
    fn from(setting: NetworkSetting) -> Self {
        match setting {
            NetworkSetting::Word(NetworkWord::On) => Self::On,
            NetworkSetting::Word(NetworkWord::Provider) => Self::Provider,
            NetworkSetting::Word(NetworkWord::Off) => Self::Off,
            NetworkSetting::Word(NetworkWord::Host) => Self::Host,
            NetworkSetting::List(hosts) => Self::Only(hosts),
        }
    }
}

impl From<NetworkMode> for NetworkSetting {
    fn from(mode: NetworkMode) -> Self {
        match mode {
            NetworkMode::On => Self::Word(NetworkWord::On),
            NetworkMode::Provider => Self::Word(NetworkWord::Provider),
            NetworkMode::Off => Self::Word(NetworkWord::Off),
            NetworkMode::Host => Self::Word(NetworkWord::Host),
            NetworkMode::Only(hosts) => Self::List(hosts),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_says_what_programs_reach() {
        let only = NetworkMode::Only(Vec::new());
        let (transparent, proxy) = (Some(NetworkWay::Transparent), Some(NetworkWay::Proxy));
        for (mode, way, expected) in [
            (&NetworkMode::On, transparent, "network is on and recorded"),
            (
                &NetworkMode::On,
                proxy,
                "network by proxy: programs that ignore HTTPS_PROXY can't connect",
            ),
            (&NetworkMode::Off, transparent, "network is off"),
            (
                &only,
                proxy,
                "network is limited to the listed hosts, by proxy: programs that ignore \
                 HTTPS_PROXY can't connect",
            ),
            (&NetworkMode::Host, None, "the network is not restricted"),
        ] {
            assert_eq!(describe(mode, way), expected);
        }
    }

    #[test]
    fn a_mode_is_a_word_or_a_list_of_hosts_with_ports() {
        let read = |text: &str| serde_json::from_str::<NetworkMode>(text);
        assert_eq!(read(r#""on""#).unwrap(), NetworkMode::On);
        assert_eq!(read(r#""provider""#).unwrap(), NetworkMode::Provider);
        assert_eq!(read(r#""off""#).unwrap(), NetworkMode::Off);
        assert_eq!(read(r#""host""#).unwrap(), NetworkMode::Host);
        let list = read(r#"["Example.com:443", "[2001:db8::1]:22"]"#).unwrap();
        let text = r#"["example.com:443","[2001:db8::1]:22"]"#;
        assert_eq!(serde_json::to_string(&list).unwrap(), text);
        for wrong in [r#""all""#, r#"["example.com"]"#, r#"["example.com:0"]"#, "1"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
