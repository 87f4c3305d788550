//! Attacks on the network from inside a sandbox. Each control is the same attack in a sandbox with
//! the network of the machine, or with the setting that allows it.

use std::fs;
use std::io::Write as _;
use std::net::{Ipv4Addr, TcpListener};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::thread;

use nightwright_core::event::{Event, NoteEvent};

use crate::harness::{TestEnv, finish};
use crate::sandbox::{is_usable, script};

/// The attacks: a name, and lines of Python that fail unless a server outside answers `hello`.
const ATTACKS: &[(&str, &str)] = &[
    ("connect to the loopback", "connect(socket.AF_INET, ('127.0.0.1', PORT))"),
    ("connect to another loopback address", "connect(socket.AF_INET, ('127.7.7.7', PORT))"),
    ("connect to any address", "connect(socket.AF_INET, ('0.0.0.0', PORT))"),
    ("connect to localhost", "connect(socket.AF_INET, ('localhost', PORT))"),
    ("connect to an abstract socket", r"connect(socket.AF_UNIX, '\0NAME')"),
];

/// Servers of the user, each of which says hello.
struct Servers {
    port: u16,
    name: String,
}

impl Servers {
    fn start() -> Self {
        let tcp = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        let port = tcp.local_addr().unwrap().port();
        let name = format!("nightwright-attack-{port}");
        let unix = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap());
        let unix = unix.unwrap();
        thread::spawn(move || {
            for mut stream in tcp.incoming().flatten() {
                let _ = stream.write_all(b"hello");
            }
        });
        thread::spawn(move || {
            for mut stream in unix.incoming().flatten() {
                let _ = stream.write_all(b"hello");
            }
        });
        Self { port, name }
    }

    /// Runs one attack, and returns whether it gained something.
    fn gains(&self, env: &TestEnv, attack: &str, settings: &[(&str, &str)]) -> bool {
        let attack = attack.replace("PORT", &self.port.to_string()).replace("NAME", &self.name);
        let program = format!(
            "import socket\ndef connect(family, address):\n    \
             s = socket.socket(family); s.settimeout(10); s.connect(address)\n    \
             assert s.recv(9) == b'hello'\n{attack}\n"
        );
        fs::write(env.project().join("attack.py"), program).unwrap();
        // A refusal is reported soon afterwards, and the run must not end before.
        let line = "rm -f gained; if /usr/bin/python3 attack.py 2>said; then echo yes > gained; \
                    else sleep 1; fi";
        let path = env.script(&script(line));
        // The settings of a project need an approval.
        let run =
            ["run", "-p", "x", "-m", "1", "--no-delay", "--ignore-untrusted", "--sandbox", "bwrap"];
        let mut command = env.command(&[&run[..], &["--dry-run", "--rehearsal", &path]].concat());
        for (name, value) in settings {
            command.env(name, value);
        }
        finish(command.spawn().unwrap()).exits(0);
        env.project().join("gained").exists()
    }
}

#[test]
fn servers_of_this_machine_are_out_of_reach_from_inside() {
    if !is_usable() {
        return;
    }
    let servers = Servers::start();
    for (name, attack) in ATTACKS {
        let env = TestEnv::new();
        assert!(!servers.gains(&env, attack, &[]), "from inside, an agent can {name}");
        let host = [("NIGHTWRIGHT_SANDBOX_NETWORK", "host")];
        assert!(servers.gains(&env, attack, &host), "the attack is harmless: {name}");
    }
}

#[test]
fn a_refused_port_is_recorded_with_the_setting_that_opens_it() {
    if !is_usable() {
        return;
    }
    let servers = Servers::start();
    let env = TestEnv::new();
    let (_, attack) = ATTACKS[0];
    assert!(!servers.gains(&env, attack, &[]));
    let wanted = format!("sandbox.host_ports = [{}]", servers.port);
    let refused = env.journal().into_iter().find_map(|record| match record.event {
        Event::Note(NoteEvent::HostRefused { host, setting, .. }) => Some((host, setting)),
        _ => None,
    });
    let host = format!("localhost:{}", servers.port);
    assert_eq!(refused, Some((host.clone(), Some(wanted.clone()))));
    let report = env.run(&["report"]).exits(0).out;
    assert!(report.contains(&host) && report.contains("refused, because"), "{report}");
    let env = TestEnv::new();
    let port = servers.port.to_string();
    assert!(servers.gains(&env, attack, &[("NIGHTWRIGHT_SANDBOX_HOST_PORTS", &port)]));
    let contacted = env.journal().into_iter().any(|record| {
        matches!(record.event, Event::Note(NoteEvent::HostContacted { host: known }) if known == host)
    });
    assert!(contacted);
}

#[test]
fn a_project_cannot_open_the_network_for_itself() {
    if !is_usable() {
        return;
    }
    let servers = Servers::start();
    for setting in
        ["sandbox.network = \"host\"", &format!("sandbox.host_ports = [{}]", servers.port)]
    {
        let env = TestEnv::with_files(&[(".nightwright/config.toml", setting)]);
        let (_, attack) = ATTACKS[0];
        assert!(!servers.gains(&env, attack, &[]), "{setting}");
    }
}
