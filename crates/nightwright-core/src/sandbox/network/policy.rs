//! The decision whether a program inside may contact a host.

use core::fmt;
use core::net::{IpAddr, SocketAddr};

use super::{AddressKind, Host, HostPort, NetworkMode};

/// Which hosts programs inside may contact. Only the user's own settings may contribute to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    pub mode: NetworkMode,
    /// The hosts that the agent itself needs.
    pub provider: Vec<HostPort>,
    /// The hosts that the user's settings name and that may have a private address: registries, git
    /// remotes, proxies.
    pub private_hosts: Vec<HostPort>,
    /// The ports of this machine that programs inside reach on their own loopback.
    pub host_ports: Vec<u16>,
    /// The hosts in the setting `sandbox.private_hosts`, to name it with one more.
    pub listed_hosts: Vec<HostPort>,
    /// The ports in the setting `sandbox.host_ports`.
    pub listed_ports: Vec<u16>,
}

/// The answer to a request for a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Connect to one of these addresses, the first one first, and to no other.
    Connect(Vec<SocketAddr>),
    Refuse(Refusal),
}

/// A refused connection, with the reason and the setting that allows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub target: HostPort,
    pub reason: RefusalReason,
    /// The address that the reason is about; none if the name alone was refused.
    pub address: Option<IpAddr>,
    /// A line for the user's configuration; none if no setting allows the connection.
    pub setting: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefusalReason {
    /// The network is off.
    Off,
    /// The agent itself does not need the host, and nothing else is allowed.
    NotProvider,
    /// The list of allowed hosts does not contain it.
    NotListed,
    /// The host is this machine.
    ThisMachine,
    Private,
    LinkLocal,
    Metadata,
    Multicast,
    Reserved,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.reason {
            RefusalReason::Off => return f.write_str("the network of the sandbox is off"),
            RefusalReason::NotProvider => return f.write_str("the agent itself does not need it"),
            RefusalReason::NotListed => return f.write_str("`sandbox.network` does not list it"),
            RefusalReason::ThisMachine => "this machine",
            RefusalReason::Private => "a private address",
            RefusalReason::LinkLocal => "a link-local address",
            RefusalReason::Metadata => "a cloud metadata service",
            RefusalReason::Multicast => "a multicast address",
            RefusalReason::Reserved => "a reserved address",
        };
        match self.address {
            Some(address) => write!(f, "{address} is {what}"),
            None => write!(f, "it is {what}"),
        }
    }
}

impl Policy {
    /// Adds a host that the user's settings name. If it is this machine, its port becomes one of
    /// [`host_ports`](Self::host_ports).
    pub fn allow_private(&mut self, target: HostPort) {
        if target.host.is_loopback() {
            if !self.host_ports.contains(&target.port) {
                self.host_ports.push(target.port);
            }
        } else if !self.private_hosts.contains(&target) {
            self.private_hosts.push(target);
        }
    }

    /// Whether the system's resolver may be asked for a name. In every mode but
    /// [`NetworkMode::On`], a lookup of a name that leads nowhere would only carry data out.
    pub fn allows_lookup(&self, name: &str) -> bool {
        let is_same =
            |target: &HostPort| matches!(&target.host, Host::Name(known) if known == name);
        match &self.mode {
            NetworkMode::On | NetworkMode::Host => true,
            NetworkMode::Provider => self.provider.iter().any(is_same),
            NetworkMode::Only(hosts) => hosts.iter().chain(&self.provider).any(is_same),
            NetworkMode::Off => false,
        }
    }

    /// Decides by the name or address alone. A name that passes still needs
    /// [`decide`](Self::decide).
    pub fn check_target(&self, target: &HostPort) -> Result<(), Refusal> {
        if target.host.is_loopback() && self.host_ports.contains(&target.port) {
            return Ok(());
        }
        let reason = match &self.mode {
            NetworkMode::On | NetworkMode::Host => return Ok(()),
            NetworkMode::Off => RefusalReason::Off,
            NetworkMode::Provider if self.provider.contains(target) => return Ok(()),
            NetworkMode::Provider => RefusalReason::NotProvider,
            NetworkMode::Only(hosts) if hosts.contains(target) => return Ok(()),
            NetworkMode::Only(_) if self.provider.contains(target) => return Ok(()),
            NetworkMode::Only(_) => RefusalReason::NotListed,
        };
        Err(self.refusal(target, reason, None))
    }

    /// Decides by the addresses that a name has now, or by the address itself. `own` has those of
    /// them that belong to this machine.
    pub fn decide(&self, target: &HostPort, addresses: &[IpAddr], own: &[IpAddr]) -> Decision {
        if let Err(refusal) = self.check_target(target) {
            return Decision::Refuse(refusal);
        }
        let mut allowed = Vec::new();
        let mut refused = None;
        for address in addresses {
            match self.check_address(target, *address, own.contains(address)) {
                Ok(()) => allowed.push(SocketAddr::new(address.to_canonical(), target.port)),
                Err(reason) => {
                    refused.get_or_insert((reason, *address));
                }
            }
        }
        match refused {
            Some((reason, address)) if allowed.is_empty() => {
                Decision::Refuse(self.refusal(target, reason, Some(address)))
            }
            Some(_) | None => Decision::Connect(allowed),
        }
    }

    /// Decides about a port that programs inside reach on their own loopback.
    pub fn check_host_port(&self, port: u16) -> Result<(), Refusal> {
        if self.host_ports.contains(&port) {
            return Ok(());
        }
        let target = HostPort::new(Host::Name("localhost".to_owned()), port);
        Err(self.refusal(&target, RefusalReason::ThisMachine, None))
    }

    fn check_address(
        &self,
        target: &HostPort,
        address: IpAddr,
        is_own: bool,
    ) -> Result<(), RefusalReason> {
        let kind = AddressKind::of(address);
        let is_named = self.names(target);
        let is_opened = || self.host_ports.contains(&target.port);
        if is_own && !is_named && !is_opened() {
            return Err(RefusalReason::ThisMachine);
        }
        match kind {
            AddressKind::Metadata => Err(RefusalReason::Metadata),
            AddressKind::Multicast => Err(RefusalReason::Multicast),
            AddressKind::Reserved => Err(RefusalReason::Reserved),
            AddressKind::Loopback if is_named || is_opened() => Ok(()),
            AddressKind::Loopback => Err(RefusalReason::ThisMachine),
            AddressKind::Public => Ok(()),
            // A proxy or gateway stands behind it. Without a name, the address leads nowhere.
            AddressKind::Fictional if matches!(target.host, Host::Name(_)) => Ok(()),
            AddressKind::Fictional => Err(RefusalReason::Reserved),
            AddressKind::Private | AddressKind::LinkLocal if is_own || is_named => Ok(()),
            AddressKind::Private => Err(RefusalReason::Private),
            AddressKind::LinkLocal => Err(RefusalReason::LinkLocal),
        }
    }

    /// Whether the user's settings name this host.
    fn names(&self, target: &HostPort) -> bool {
        let listed: &[HostPort] = match &self.mode {
            NetworkMode::Only(hosts) => hosts,
            NetworkMode::On | NetworkMode::Provider | NetworkMode::Off | NetworkMode::Host => &[],
        };
        [listed, &self.provider, &self.private_hosts].iter().any(|hosts| hosts.contains(target))
    }

    fn refusal(
        &self,
        target: &HostPort,
        reason: RefusalReason,
        address: Option<IpAddr>,
    ) -> Refusal {
        let setting = match reason {
            RefusalReason::Off | RefusalReason::NotProvider => {
                Some(list_setting("network", &[], target))
            }
            RefusalReason::NotListed => {
                let listed: &[HostPort] = match &self.mode {
                    NetworkMode::Only(hosts) => hosts,
                    NetworkMode::On
                    | NetworkMode::Provider
                    | NetworkMode::Off
                    | NetworkMode::Host => &[],
                };
                Some(list_setting("network", listed, target))
            }
            RefusalReason::ThisMachine => {
                let ports: Vec<_> = self.listed_ports.iter().chain([&target.port]).collect();
                Some(format!("sandbox.host_ports = {ports:?}"))
            }
            RefusalReason::Private | RefusalReason::LinkLocal => {
                Some(list_setting("private_hosts", &self.listed_hosts, target))
            }
            RefusalReason::Metadata | RefusalReason::Multicast | RefusalReason::Reserved => None,
        };
        Refusal { target: target.clone(), reason, address, setting }
    }
}

/// The line of a configuration file that adds a host to a list.
fn list_setting(name: &str, listed: &[HostPort], target: &HostPort) -> String {
    let all: Vec<_> = listed.iter().chain([target]).map(ToString::to_string).collect();
    format!("sandbox.{name} = {all:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> HostPort {
        text.parse().unwrap()
    }

    fn policy(mode: NetworkMode) -> Policy {
        Policy { mode, ..Policy::default() }
    }

    /// The decision in a few words: the addresses, or the reason and the setting.
    fn outcome(policy: &Policy, host: &str, addresses: &[&str], own: &[&str]) -> String {
        let parse = |list: &[&str]| -> Vec<IpAddr> {
            list.iter().map(|address| address.parse().unwrap()).collect()
        };
        match policy.decide(&target(host), &parse(addresses), &parse(own)) {
            Decision::Connect(addresses) => {
                addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
            }
            Decision::Refuse(refusal) => {
                format!("{refusal}; {}", refusal.setting.as_deref().unwrap_or("nothing"))
            }
        }
    }

    #[test]
    fn public_hosts_pass_and_private_ones_need_a_setting() {
        let on = policy(NetworkMode::On);
        for (host, addresses, expected) in [
            ("example.com:443", &["1.2.3.4", "2606:4700::1"][..], "1.2.3.4:443 [2606:4700::1]:443"),
            ("1.2.3.4:8443", &["1.2.3.4"], "1.2.3.4:8443"),
            ("a.example:80", &["::ffff:1.2.3.4"], "1.2.3.4:80"),
            ("a.example:80", &["64:ff9b::102:304"], "[64:ff9b::102:304]:80"),
            ("a.example:80", &["198.18.7.7"], "198.18.7.7:80"),
            ("198.18.7.7:80", &["198.18.7.7"], "198.18.7.7 is a reserved address; nothing"),
            (
                "db.corp:5432",
                &["10.0.0.5"],
                r#"10.0.0.5 is a private address; sandbox.private_hosts = ["db.corp:5432"]"#,
            ),
            (
                "[fe80::1]:22",
                &["fe80::1"],
                r#"fe80::1 is a link-local address; sandbox.private_hosts = ["[fe80::1]:22"]"#,
            ),
            (
                "evil.example:6379",
                &["127.0.0.1"],
                "127.0.0.1 is this machine; sandbox.host_ports = [6379]",
            ),
            (
                "evil.example:80",
                &["::ffff:127.0.0.1"],
                "::ffff:127.0.0.1 is this machine; sandbox.host_ports = [80]",
            ),
            ("evil.example:80", &["0.0.0.0"], "0.0.0.0 is this machine; sandbox.host_ports = [80]"),
            (
                "evil.example:80",
                &["64:ff9b::7f00:1"],
                "64:ff9b::7f00:1 is this machine; sandbox.host_ports = [80]",
            ),
            (
                "m.example:80",
                &["169.254.169.254"],
                "169.254.169.254 is a cloud metadata service; nothing",
            ),
            ("a.example:80", &["224.0.0.1"], "224.0.0.1 is a multicast address; nothing"),
            ("a.example:80", &["203.0.113.9"], "203.0.113.9:80"),
            ("203.0.113.9:80", &["203.0.113.9"], "203.0.113.9 is a reserved address; nothing"),
            ("a.example:80", &["240.0.0.1"], "240.0.0.1 is a reserved address; nothing"),
        ] {
            assert_eq!(outcome(&on, host, addresses, &[]), expected, "{host} {addresses:?}");
        }
    }

    #[test]
    fn of_mixed_addresses_only_the_allowed_ones_are_used() {
        let on = policy(NetworkMode::On);
        let both = ["127.0.0.1", "1.2.3.4", "10.0.0.1"];
        assert_eq!(outcome(&on, "rebind.example:80", &both, &[]), "1.2.3.4:80");
    }

    #[test]
    fn a_public_address_of_this_machine_is_this_machine() {
        let on = policy(NetworkMode::On);
        let refused = "9.9.9.9 is this machine; sandbox.host_ports = [5432]";
        assert_eq!(outcome(&on, "me.example:5432", &["9.9.9.9"], &["9.9.9.9"]), refused);
        assert_eq!(outcome(&on, "me.example:5432", &["9.9.9.9"], &[]), "9.9.9.9:5432");
    }

    #[test]
    fn a_setting_that_a_refusal_names_allows_the_connection() {
        let mut named = policy(NetworkMode::On);
        named.allow_private(target("db.corp:5432"));
        named.allow_private(target("10.0.0.6:80"));
        named.allow_private(target("localhost:4873"));
        named.allow_private(target("[::1]:4873"));
        assert_eq!(named.host_ports, [4873]);
        for (host, address, own, expected) in [
            ("db.corp:5432", "10.0.0.5", false, "10.0.0.5:5432"),
            ("db.corp:5432", "127.0.0.1", false, "127.0.0.1:5432"),
            ("db.corp:5432", "192.168.0.9", true, "192.168.0.9:5432"),
            ("10.0.0.6:80", "10.0.0.6", false, "10.0.0.6:80"),
            ("127.0.0.1:4873", "127.0.0.1", false, "127.0.0.1:4873"),
            ("192.168.0.9:4873", "192.168.0.9", true, "192.168.0.9:4873"),
        ] {
            let own = if own { &[address][..] } else { &[] };
            assert_eq!(outcome(&named, host, &[address], own), expected, "{host}");
        }
        // Another port, another name, the address behind the name, and what nothing allows.
        for (host, address) in [
            ("db.corp:5433", "10.0.0.5"),
            ("db2.corp:5432", "10.0.0.5"),
            ("10.0.0.5:5432", "10.0.0.5"),
            ("127.0.0.1:4874", "127.0.0.1"),
            ("db.corp:5432", "169.254.169.254"),
            ("db.corp:5432", "fd00:ec2::254"),
        ] {
            let refused = outcome(&named, host, &[address], &[]);
            assert!(refused.contains(" is "), "{host}: {refused}");
        }
        let refused = outcome(&named, "x.corp:1", &["10.9.9.9"], &[]);
        assert!(refused.ends_with(r#"sandbox.private_hosts = ["x.corp:1"]"#), "{refused}");
        named.listed_hosts = vec![target("db.corp:5432")];
        named.listed_ports = vec![4873];
        let refused = outcome(&named, "x.corp:1", &["10.9.9.9"], &[]);
        let setting = r#"sandbox.private_hosts = ["db.corp:5432", "x.corp:1"]"#;
        assert!(refused.ends_with(setting), "{refused}");
        assert!(named.check_host_port(4873).is_ok());
        let refusal = named.check_host_port(5432).unwrap_err();
        assert_eq!(refusal.setting.unwrap(), "sandbox.host_ports = [4873, 5432]");
    }

    #[test]
    fn stricter_modes_refuse_by_name_before_any_lookup() {
        let provider = vec![target("api.example:443")];
        let off = Policy { provider: provider.clone(), ..policy(NetworkMode::Off) };
        let only_provider = Policy { mode: NetworkMode::Provider, ..off.clone() };
        let mode = NetworkMode::Only(vec![target("a.example:443"), target("10.0.0.5:5432")]);
        let list = Policy { mode, ..off.clone() };
        let add = r#"sandbox.network = ["b.example:443"]"#;
        let add_listed = r#"sandbox.network = ["a.example:443", "10.0.0.5:5432", "b.example:443"]"#;
        for (policy, host, expected) in [
            (&off, "api.example:443", None),
            (&off, "b.example:443", Some(format!("the network of the sandbox is off; {add}"))),
            (&only_provider, "api.example:443", Some("1.2.3.4:443".to_owned())),
            (&only_provider, "api.example:80", None),
            (
                &only_provider,
                "b.example:443",
                Some(format!("the agent itself does not need it; {add}")),
            ),
            (&list, "api.example:443", Some("1.2.3.4:443".to_owned())),
            (&list, "a.example:443", Some("1.2.3.4:443".to_owned())),
            (&list, "a.example:80", None),
            (&list, "sub.a.example:443", None),
            (
                &list,
                "b.example:443",
                Some(format!("`sandbox.network` does not list it; {add_listed}")),
            ),
        ] {
            let found = outcome(policy, host, &["1.2.3.4"], &[]);
            match expected {
                Some(expected) => assert_eq!(found, expected, "{host}"),
                None => assert!(found.contains("sandbox.network = ["), "{host}: {found}"),
            }
        }
        assert_eq!(outcome(&list, "10.0.0.5:5432", &["10.0.0.5"], &[]), "10.0.0.5:5432");
        for (policy, name, expected) in [
            (&off, "api.example", false),
            (&only_provider, "api.example", true),
            (&only_provider, "secret.evil.example", false),
            (&list, "a.example", true),
            (&list, "secret.a.example", false),
            (&policy(NetworkMode::On), "any.example", true),
        ] {
            assert_eq!(policy.allows_lookup(name), expected, "{name}");
        }
    }
}
