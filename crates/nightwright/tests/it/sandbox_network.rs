//! The network of a sandbox, with real programs in bwrap. Servers of the test on the loopback stand
//! for hosts outside.

mod lifetime;
mod outside;
mod programs;
mod proxy;
mod streams;
mod walls;

use std::collections::HashMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nightwright::process::{
    Containment, FinishedCommand, Launch, MAX_OUTPUT, SigtermScope, StopHandle, run_to_end,
};
use nightwright::sandbox::network::{NetworkPlan, SandboxNetwork};
use nightwright_core::sandbox::network::contacts::ContactNews;
use nightwright_core::sandbox::network::proxy::Proxies;
use nightwright_core::sandbox::network::{HostPort, NetworkWay, Policy};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::time::timeout;

use self::outside::FakeOutside;
use crate::agent_env::NIGHTWRIGHT;

const LIMIT: Duration = Duration::from_mins(1);

/// A sandbox whose network the test controls.
struct Sandbox {
    folder: TempDir,
    network: SandboxNetwork,
    news: mpsc::Receiver<ContactNews>,
}

impl Sandbox {
    fn new(policy: Policy, outside: FakeOutside) -> Self {
        Self::with_proxies(policy, outside, Proxies::default())
    }

    fn with_proxies(policy: Policy, outside: FakeOutside, proxies: Proxies) -> Self {
        Self::start(NetworkWay::Transparent, policy, outside, proxies)
    }

    /// A sandbox on a machine that allows no separate network.
    fn by_proxy(policy: Policy, outside: FakeOutside) -> Self {
        Self::start(NetworkWay::Proxy, policy, outside, Proxies::default())
    }

    fn start(way: NetworkWay, policy: Policy, outside: FakeOutside, proxies: Proxies) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let plan = NetworkPlan { way, policy, proxies, outside: Arc::new(outside) };
        let (network, news) = SandboxNetwork::start(&folder.path().join("net"), plan).unwrap();
        Self { folder, network, news }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The launch of a shell script in the sandbox.
    fn launch(&self, script: &str) -> Launch {
        let folder = self.path().to_str().unwrap();
        let mut arguments: Vec<OsString> = [
            "--die-with-parent --unshare-user --disable-userns --cap-drop ALL --unshare-pid",
            "--unshare-ipc --unshare-uts --unshare-cgroup-try --new-session",
            "--ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --tmpfs /run",
        ]
        .iter()
        .flat_map(|words| words.split(' '))
        .map(Into::into)
        .collect();
        arguments.extend(["--bind", folder, folder].map(Into::into));
        arguments.extend(self.network.options().into_iter().flatten());
        for mount in self.network.mounts(NIGHTWRIGHT.as_ref()) {
            arguments.extend(["--ro-bind".into(), mount.from.into(), mount.place.into()]);
        }
        arguments.extend(["--remount-ro", "/", "--"].map(Into::into));
        arguments.extend(self.network.inner_command());
        arguments.extend(["/bin/sh", "-c"].map(Into::into));
        arguments.push(format!("exec 2>&1; {script}").into());
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut line = self.network.outer_command(NIGHTWRIGHT.as_ref());
        line.push("bwrap".into());
        line.append(&mut arguments);
        let mut environment = vec![("PATH".into(), path), ("HOME".into(), folder.into())];
        environment.extend(self.network.environment());
        Launch {
            program: line.remove(0).into(),
            arguments: line,
            environment,
            directory: self.path().into(),
            containment: Containment::with_guard(NIGHTWRIGHT.into(), None, None),
            sigterm_scope: SigtermScope::Namespace,
        }
    }

    async fn finish(&self, script: &str) -> FinishedCommand {
        let launch = self.launch(script);
        run_to_end(&launch, LIMIT, MAX_OUTPUT, &StopHandle::default()).await
    }

    /// Runs a shell script inside and returns its output.
    async fn run(&self, script: &str) -> String {
        self.finish(script).await.output
    }

    /// The recorded hosts, with the number of allowed and refused connections.
    fn contacts(&self) -> HashMap<String, (u64, u64)> {
        let contacts = self.network.contacts();
        let all = contacts.all().iter();
        all.map(|one| (one.target.to_string(), (one.allowed, one.refused))).collect()
    }

    /// All news until now, as texts.
    fn news(&mut self) -> Vec<String> {
        let mut texts = Vec::new();
        while let Ok(news) = self.news.try_recv() {
            texts.push(shown(news));
        }
        texts
    }

    /// Waits for the next news.
    async fn next_news(&mut self) -> String {
        shown(timeout(LIMIT, self.news.recv()).await.unwrap().unwrap())
    }
}

fn shown(news: ContactNews) -> String {
    match news {
        ContactNews::Contacted(target) => format!("contacted {target}"),
        ContactNews::Refused(refusal) => {
            let setting = refusal.setting.as_deref().unwrap_or("nothing");
            format!("refused {}: {refusal}; {setting}", refusal.target)
        }
    }
}

fn target(text: &str) -> HostPort {
    text.parse().unwrap()
}

/// A list that several threads fill.
type Shared<T> = Arc<Mutex<Vec<T>>>;

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}
