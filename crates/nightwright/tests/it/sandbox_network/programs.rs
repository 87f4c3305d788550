//! Ordinary programs, which know nothing of the sandbox.

use std::fs;
use std::net::SocketAddr;

use nightwright_core::sandbox::network::Policy;

use super::Sandbox;
use super::outside::{FakeOutside, files, page};
use crate::git::git;

fn outside(server: SocketAddr) -> FakeOutside {
    FakeOutside::default()
        .name("web.example", "93.184.216.34")
        .server("93.184.216.34:80", server)
        .server("93.184.216.34:8443", server)
        .server("93.184.216.34:65534", server)
}

#[tokio::test]
async fn curl_reaches_hosts_by_name_and_by_address_at_every_port() {
    let mut sandbox = Sandbox::new(Policy::default(), outside(page("hello\n")));
    let output = sandbox
        .run(
            "for url in web.example WEB.example.:8443 93.184.216.34:65534; do \
             curl -sS --max-time 20 http://$url/; done",
        )
        .await;
    assert_eq!(output, "hello\nhello\nhello\n");
    let news =
        ["contacted web.example:80", "contacted web.example:8443", "contacted 93.184.216.34:65534"];
    assert_eq!(sandbox.news(), news);
    assert_eq!(sandbox.contacts()["web.example:80"], (1, 0));
    assert_eq!(sandbox.run("curl -sS http://web.example/").await, "hello\n");
    assert_eq!(sandbox.contacts()["web.example:80"], (2, 0));
    assert_eq!(sandbox.news(), [""; 0], "a known host is no news");
}

#[tokio::test]
async fn node_and_python_reach_hosts_without_a_proxy() {
    let sandbox = Sandbox::new(Policy::default(), outside(page("hello")));
    let node = "node -e 'fetch(\"http://web.example/\").then(r => r.text()).then(console.log)'";
    assert_eq!(sandbox.run(node).await, "hello\n");
    let python = "/usr/bin/python3 -c 'import urllib.request as r; \
                  print(r.urlopen(\"http://web.example:8443/\").read().decode())'";
    assert_eq!(sandbox.run(python).await, "hello\n");
}

#[tokio::test]
async fn git_clones_over_http() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    fs::create_dir(&source).unwrap();
    git(&source, &["init", "--quiet", "--initial-branch=main"]);
    fs::write(source.join("file"), "content\n").unwrap();
    git(&source, &["add", "file"]);
    git(&source, &["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "one"]);
    git(folder.path(), &["clone", "--quiet", "--bare", "source", "repo.git"]);
    git(&folder.path().join("repo.git"), &["update-server-info"]);
    let server = files(folder.path().to_owned());
    let sandbox = Sandbox::new(Policy::default(), outside(server));
    let output =
        sandbox.run("git clone -q http://web.example:8443/repo.git copy && cat copy/file").await;
    assert_eq!(output, "content\n");
}

/// Asks a name server directly, and prints the code, the number of answers and the last bytes.
const ASK: &str = r#"
import socket, struct, sys
server, name, kind = sys.argv[1], sys.argv[2], int(sys.argv[3])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(20)
s.connect((server, 53))
labels = b"".join(bytes([len(l)]) + l.encode() for l in name.split("."))
s.send(struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">HH", kind, 1))
r = s.recv(512)
print(r[3] & 15, r[7], ".".join(map(str, r[-4:])) if r[7] else "-")
"#;

#[tokio::test]
async fn each_name_server_answers_with_addresses_that_stand_for_names() {
    let sandbox = Sandbox::new(Policy::default(), outside(page("hello\n")));
    fs::write(sandbox.path().join("ask.py"), ASK).unwrap();
    let ask =
        async |arguments: &str| sandbox.run(&format!("/usr/bin/python3 ask.py {arguments}")).await;
    assert_eq!(ask("198.18.0.1 web.example 1").await, "0 1 198.18.1.0\n");
    assert_eq!(ask("8.8.8.8 web.example 1").await, "0 1 198.18.1.0\n");
    assert_eq!(ask("198.18.0.1 web.example 28").await, "0 0 -\n", "no address of IPv6");
    assert_eq!(ask("198.18.0.1 none.example 1").await, "3 0 -\n");
    assert_eq!(ask("198.18.0.1 localhost 1").await, "0 1 127.0.0.1\n");
    assert_eq!(
        sandbox.run("curl -sS http://none.example/; echo $?").await.lines().last(),
        Some("6")
    );
    assert!(sandbox.contacts().is_empty(), "a question is no contact");
}
