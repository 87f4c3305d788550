//! The network of a sandbox on a machine that allows no namespaces for it.

use std::path::Path;

use nightwright::sandbox::network::choose_way;
use nightwright_core::sandbox::network::{NetworkWay, Policy};

use super::Sandbox;
use super::outside::{FakeOutside, page};
use crate::agent_env::NIGHTWRIGHT;

fn outside() -> FakeOutside {
    let server = page("hello\n");
    FakeOutside::default()
        .name("web.example", "93.184.216.34")
        .name("db.corp", "10.0.0.5")
        .server("93.184.216.34:80", server)
        .server("93.184.216.34:443", server)
}

#[tokio::test]
async fn programs_that_know_proxies_reach_hosts() {
    let mut sandbox = Sandbox::by_proxy(Policy::default(), outside());
    let curl = "curl -sS http://web.example/; curl -sSp http://web.example:443/; \
                curl -sS http://93.184.216.34/";
    assert_eq!(sandbox.run(curl).await, "hello\nhello\nhello\n");
    let python = "/usr/bin/python3 -c 'import urllib.request as r; \
                  print(r.urlopen(\"http://web.example/\").read().decode().strip())'";
    assert_eq!(sandbox.run(python).await, "hello\n");
    let news = sandbox.news();
    let contacted = ["web.example:80", "web.example:443", "93.184.216.34:80"];
    assert_eq!(news, contacted.map(|host| format!("contacted {host}")));
}

#[tokio::test]
async fn a_refusal_is_an_answer_with_the_reason() {
    let server = page("host\n");
    let mut sandbox = Sandbox::by_proxy(Policy::default(), outside());
    let output = sandbox.run("curl -sS http://db.corp/; curl -sSp http://db.corp:5432/").await;
    assert!(
        output.starts_with("nightwright refused it: 10.0.0.5 is a private address\n"),
        "{output}"
    );
    assert!(output.contains("403"), "{output}");
    // Through the proxy, the loopback is that of the host.
    let loopback = format!("curl -sS --noproxy '' http://127.0.0.1:{}/", server.port());
    let output = sandbox.run(&loopback).await;
    assert_eq!(output, "nightwright refused it: 127.0.0.1 is this machine\n");
    let nothing = sandbox.run("curl -sS --noproxy '*' http://93.184.216.34/").await;
    assert!(nothing.contains("Couldn't connect") || nothing.contains("Failed"), "{nothing}");
    assert_eq!(sandbox.news().len(), 3);
}

#[tokio::test]
async fn a_port_of_the_host_is_opened_by_a_setting() {
    let server = page("host\n");
    let policy = Policy { host_ports: vec![server.port()], ..Policy::default() };
    let sandbox = Sandbox::by_proxy(policy, FakeOutside::default());
    let script = format!("curl -sS http://127.0.0.1:{0}/ http://localhost:{0}/", server.port());
    assert_eq!(sandbox.run(&script).await, "host\nhost\n");
}

#[tokio::test]
async fn the_transparent_way_is_chosen_where_it_works() {
    let (way, why) = choose_way(Path::new(NIGHTWRIGHT));
    assert_eq!((way, why), (NetworkWay::Transparent, None));
    let (way, why) = choose_way(Path::new("/nowhere/nightwright"));
    assert_eq!(way, NetworkWay::Proxy);
    assert!(why.unwrap().contains("No such file"));
}
