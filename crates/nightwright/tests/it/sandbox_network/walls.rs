//! Programs inside cannot reach private and own addresses of the machine.

use std::fs;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixListener};

use nightwright_core::sandbox::network::proxy::Proxies;
use nightwright_core::sandbox::network::{NetworkMode, Policy};

use super::outside::{FakeOutside, page, serve};
use super::{Sandbox, address, target};

const CURL: &str = "curl -sS --max-time 10 -o /dev/null";

/// Whether this is the exit code of curl after a reset: during the connection or after it.
fn is_reset(output: &str) -> bool {
    ["7\n", "56\n"].contains(&output)
}

#[tokio::test]
async fn addresses_of_the_private_network_are_refused_with_the_setting() {
    let outside = FakeOutside::default().name("db.corp", "10.0.0.5").own("9.9.9.9");
    let dialed = outside.dialed.clone();
    let mut sandbox = Sandbox::new(Policy::default(), outside);
    for host in ["db.corp:5432", "10.0.0.5", "169.254.169.254", "9.9.9.9:22"] {
        let output = sandbox.run(&format!("{CURL} http://{host}/ 2>/dev/null; echo $?")).await;
        assert!(is_reset(&output), "{host}: {output}");
    }
    assert_eq!(
        sandbox.news(),
        [
            r#"refused db.corp:5432: 10.0.0.5 is a private address; sandbox.private_hosts = ["db.corp:5432"]"#,
            r#"refused 10.0.0.5:80: 10.0.0.5 is a private address; sandbox.private_hosts = ["10.0.0.5:80"]"#,
            "refused 169.254.169.254:80: 169.254.169.254 is a cloud metadata service; nothing",
            "refused 9.9.9.9:22: 9.9.9.9 is this machine; sandbox.host_ports = [22]",
        ]
    );
    assert_eq!(*dialed.lock().unwrap(), []);
}

#[tokio::test]
async fn a_named_private_host_is_reached() {
    let server = page("registry\n");
    let outside = FakeOutside::default().name("db.corp", "10.0.0.5").server("10.0.0.5:80", server);
    let mut policy = Policy::default();
    policy.allow_private(target("db.corp:80"));
    let sandbox = Sandbox::new(policy, outside);
    assert_eq!(sandbox.run("curl -sS http://db.corp/").await, "registry\n");
}

#[tokio::test]
async fn the_loopback_of_the_host_needs_a_setting_per_port() {
    let server = page("host\n");
    let script = format!("curl -sS http://127.0.0.1:{0}/ http://localhost:{0}/", server.port());
    let mut sandbox = Sandbox::new(Policy::default(), FakeOutside::default());
    let finished = sandbox.finish(&script).await;
    assert!(finished.output.contains("Failed to connect"), "{}", finished.output);
    let line = format!(
        "refused localhost:{0}: it is this machine; sandbox.host_ports = [{0}]",
        server.port()
    );
    assert_eq!(sandbox.next_news().await, line);
    let policy = Policy { host_ports: vec![server.port()], ..Policy::default() };
    let sandbox = Sandbox::new(policy, FakeOutside::default());
    assert_eq!(sandbox.run(&script).await, "host\nhost\n");
}

#[tokio::test]
async fn servers_inside_are_reached_inside_and_a_closed_port_is_no_news() {
    let mut sandbox = Sandbox::new(Policy::default(), FakeOutside::default());
    let script = "echo inside > page; /usr/bin/python3 -m http.server 80 >/dev/null 2>&1 & \
                  for i in 1 2 3 4 5 6 7 8 9; do sleep 0.2; \
                  curl -s http://localhost/page && exit; done";
    assert_eq!(sandbox.run(script).await, "inside\n");
    assert_eq!(sandbox.news(), [""; 0]);
}

#[tokio::test]
async fn a_name_that_changes_its_address_gains_nothing() {
    let server = page("public\n");
    let private: &[&str] = &["127.0.0.1"];
    let public: &[&str] = &["127.0.0.1", "93.184.216.34"];
    let outside = FakeOutside::default()
        .names("rebind.example", &[private])
        .names("mixed.example", &[public])
        .server("93.184.216.34:80", server);
    let dialed = outside.dialed.clone();
    let mut sandbox = Sandbox::new(Policy::default(), outside);
    assert_eq!(sandbox.run("curl -sS http://mixed.example/").await, "public\n");
    let output = sandbox.run(&format!("{CURL} http://rebind.example/ 2>/dev/null; echo $?")).await;
    assert!(is_reset(&output), "{output}");
    assert_eq!(*dialed.lock().unwrap(), [address("93.184.216.34:80")]);
    let line = "refused rebind.example:80: 127.0.0.1 is this machine; sandbox.host_ports = [80]";
    assert_eq!(sandbox.news(), ["contacted mixed.example:80", line]);
}

#[tokio::test]
async fn stricter_modes_look_nothing_up() {
    let server = page("listed\n");
    let outside = || {
        FakeOutside::default()
            .name("listed.example", "93.184.216.34")
            .server("93.184.216.34:80", server)
    };
    let mode = NetworkMode::Only(vec![target("listed.example:80")]);
    let mut sandbox = Sandbox::new(Policy { mode, ..Policy::default() }, outside());
    assert_eq!(sandbox.run("curl -sS http://listed.example/").await, "listed\n");
    // The name does not exist, but only a lookup would show that.
    let other = format!("{CURL} http://secret.evil.example/ 2>/dev/null; echo $?");
    assert!(is_reset(&sandbox.run(&other).await));
    let add = r#"sandbox.network = ["listed.example:80", "secret.evil.example:80"]"#;
    let line = format!("refused secret.evil.example:80: `sandbox.network` does not list it; {add}");
    assert_eq!(sandbox.news(), ["contacted listed.example:80".to_owned(), line]);
    let policy = Policy { mode: NetworkMode::Off, ..Policy::default() };
    let sandbox = Sandbox::new(policy, outside());
    let output = sandbox.run(&format!("{CURL} http://listed.example/ 2>/dev/null; echo $?")).await;
    assert!(is_reset(&output), "{output}");
}

#[tokio::test]
async fn sockets_of_the_host_are_out_of_reach() {
    let name = format!("nightwright-test-{}", std::process::id());
    let abstract_address = UnixAddress::from_abstract_name(&name).unwrap();
    let _abstract = UnixListener::bind_addr(&abstract_address).unwrap();
    let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    udp.set_nonblocking(true).unwrap();
    let tcp = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
    let ports = (udp.local_addr().unwrap().port(), tcp.local_addr().unwrap().port());
    let sandbox = Sandbox::new(Policy::default(), FakeOutside::default());
    let script = format!(
        r#"
import os, socket
def attempt(what, family, kind, address, data=b"x"):
    try:
        s = socket.socket(family, kind); s.settimeout(5); s.connect(address); s.send(data)
        print(what, "sent", s.recv(9))
    except OSError as e:
        print(what, type(e).__name__)
attempt("abstract", socket.AF_UNIX, socket.SOCK_STREAM, "\0{name}")
attempt("udp", socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", {}))
attempt("udp outside", socket.AF_INET, socket.SOCK_DGRAM, ("1.2.3.4", 123))
attempt("any", socket.AF_INET, socket.SOCK_STREAM, ("0.0.0.0", {}))
attempt("v6", socket.AF_INET6, socket.SOCK_STREAM, ("2606:4700::1111", 443))
attempt("bridge", socket.AF_INET, socket.SOCK_STREAM, ("198.18.0.1", 80))
for what, family, kind in [("packet", socket.AF_PACKET, socket.SOCK_RAW),
                           ("raw", socket.AF_INET, socket.SOCK_RAW)]:
    try: socket.socket(family, kind, 6); print(what, "open")
    except OSError as e: print(what, type(e).__name__)
print(sorted(os.listdir("/proc/self/fd")), sorted(os.listdir("/sys/class/net")) if 0 else "")
"#,
        ports.0, ports.1
    );
    fs::write(sandbox.path().join("try.py"), script).unwrap();
    let output = sandbox.run("/usr/bin/python3 try.py").await;
    assert_eq!(
        output,
        "abstract ConnectionRefusedError\nudp ConnectionRefusedError\n\
         udp outside ConnectionRefusedError\nany ConnectionRefusedError\nv6 OSError\n\
         bridge ConnectionResetError\npacket PermissionError\nraw PermissionError\n\
         ['0', '1', '2', '3'] \n"
    );
    assert!(udp.recv(&mut [0; 9]).is_err());
    tcp.set_nonblocking(true).unwrap();
    assert!(tcp.accept().is_err());
}

#[tokio::test]
async fn connections_take_the_users_own_proxy() {
    let (asked, requests) = std::sync::mpsc::channel();
    let proxy = serve(move |mut stream| {
        use std::io::{Read as _, Write as _};
        let mut request = [0; 4096];
        let length = stream.read(&mut request).unwrap_or(0);
        asked.send(String::from_utf8_lossy(&request[..length]).into_owned()).unwrap();
        // The beginning of the host's answer arrives with that of the proxy.
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nVia: x\r\n\r\nHTTP/1.0 200 OK\r\n\r\nby ");
        let _ = stream.read(&mut request);
        let _ = stream.write_all(b"proxy\n");
    });
    let server = page("direct\n");
    let variable = format!("http://user:pass@{proxy}");
    let read = |name: &str| match name {
        "ALL_PROXY" => Some(variable.as_str()),
        "NO_PROXY" => Some("direct.example"),
        _ => None,
    };
    let proxies = Proxies::from_environment(read).unwrap();
    let outside = FakeOutside::default()
        .name("direct.example", "93.184.216.34")
        .name("private.example", "10.0.0.1")
        .server("93.184.216.34:80", server);
    let mut sandbox = Sandbox::with_proxies(Policy::default(), outside, proxies);
    // Only the proxy knows this name.
    assert_eq!(sandbox.run("curl -sS http://far.example:443/").await, "by proxy\n");
    let request = requests.recv().unwrap();
    let head = "CONNECT far.example:443 HTTP/1.1\r\nHost: far.example:443\r\n";
    assert!(request.starts_with(head), "{request}");
    assert!(request.contains("\r\nProxy-Authorization: Basic dXNlcjpwYXNz\r\n"), "{request}");
    assert_eq!(sandbox.run("curl -sS http://direct.example/").await, "direct\n");
    let refused = format!("{CURL} http://private.example/ 2>/dev/null; echo $?");
    assert!(is_reset(&sandbox.run(&refused).await));
    assert!(requests.try_recv().is_err());
    let news = sandbox.news();
    assert_eq!(news[..2], ["contacted far.example:443", "contacted direct.example:80"]);
    assert!(news[2].starts_with("refused private.example:80: 10.0.0.1 is a private"), "{news:?}");
}
