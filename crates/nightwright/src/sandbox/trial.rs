//! Runs the canary in the sandbox, with the options that programs will get, and judges its report.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixListener};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nightwright_core::sandbox::bwrap::BwrapOption;
use nightwright_core::sandbox::canary::{
    self, CanaryOrder, CanaryReport, Expectation, Must, Outside, Probe, ProbeResult, Tried,
    TriedNetwork,
};
use nightwright_core::sandbox::mounts::Access;
use nightwright_core::sandbox::network::{Host, HostPort};
use nightwright_core::sandbox::plan::{ProgramKind, ShownFile};

use super::enter::{Planned, Prepared, shown_path};
use super::{CANARY_COMMAND, Sandbox, SandboxError, canary_program};
use crate::files;
use crate::hex::hex;
use crate::process::{
    CapturedCommand, CapturedOutput, Containment, Launch, SigtermScope, run_captured,
};
use crate::random;

/// A canary answers within milliseconds; a slow machine needs more.
const TIMEOUT: Duration = Duration::from_secs(20);
/// The name under which a closed port of the machine is recorded.
const LOOPBACK: &str = "localhost";
/// Maximum size of the report.
const MAX_REPORT: usize = 4 << 20;

/// The result of a trial.
#[derive(Debug)]
pub struct Trial {
    /// Everything that was tried, with the result.
    pub results: Vec<(Expectation, ProbeResult)>,
    /// All differences from the required results, in words.
    pub differences: Vec<String>,
    /// Settings without an effect, in words.
    pub notes: Vec<String>,
    pub took: Duration,
}

/// Changes the options of a trial, to test that the canary notices.
pub type ChangeOptions<'a> = &'a dyn Fn(Vec<BwrapOption>) -> Vec<BwrapOption>;

impl Sandbox {
    /// Fails unless the sandbox is as it must be. Blocks for some milliseconds.
    pub fn must_protect(&self, room: &Path) -> Result<Trial, SandboxError> {
        let trial = self.trial(room, &|options| options)?;
        if trial.differences.is_empty() {
            Ok(trial)
        } else {
            Err(SandboxError::Unsafe(trial.differences))
        }
    }

    /// Runs the canary. `change` may change the options.
    pub fn trial(&self, room: &Path, change: ChangeOptions<'_>) -> Result<Trial, SandboxError> {
        let begun = Instant::now();
        let from = self.canary.clone();
        let shown = [ShownFile { name: "canary".to_owned(), from, access: Access::ReadOnly }];
        let git = self.begin_use()?;
        let (kind, access) = (ProgramKind::Agent, Access::ReadWrite);
        let planned = Planned { kind, access, room, shown: &shown, directory: &self.project };
        let prepared = self.plan_for(planned)?;
        let name = format!(".nightwright-canary-{}", hex(&random::nonce()));
        let planted = self.plant(&name)?;
        let listeners = self.network().map(|_| Listeners::open(&name)).transpose();
        let listeners = listeners.map_err(|error| self.unprepared(error))?;
        let expectations = self.expectations(&prepared, &planted.0, listeners.as_ref());
        let placeholders = self.prepare(&prepared, git)?;
        let options = change(prepared.options.clone());
        let output = self.run_canary(room, &options, &prepared, &name, &expectations)?;
        drop(placeholders);
        let report = read_report(&output)?;
        let kept = expectations.iter().filter(|expected| expected.must == Must::StayInside);
        let escaped = kept.filter(|expected| has_escaped(&expected.probe, &name));
        let outside = Outside {
            plan: &prepared.plan,
            namespaces: canary_program::namespaces(),
            user_namespaces: self.user_namespaces(),
            has_network: self.network().is_some(),
            directory: prepared.project.root.clone(),
            escaped: escaped.map(|expected| expected.probe.clone()).collect(),
        };
        drop(listeners);
        let differences = canary::differences(&expectations, &outside, &report);
        remove_kept(&prepared, &expectations, &name);
        drop(planted);
        let results = expectations.into_iter().zip(report.results).collect();
        let notes = prepared.plan.notes.clone();
        Ok(Trial { results, differences, notes, took: begun.elapsed() })
    }

    /// Creates files that no program inside may read: in the private folder, and in a folder of
    /// temporary files outside the home and the project.
    fn plant(&self, name: &str) -> Result<LeftFiles, SandboxError> {
        let mut planted = LeftFiles(vec![self.host.private.join(name)]);
        fs::write(&planted.0[0], "canary").map_err(|error| self.unprepared(error))?;
        let elsewhere = ["/var/tmp", "/dev/shm"].map(|folder| Path::new(folder).join(name));
        for file in elsewhere {
            // A folder that does not exist or cannot be written to proves nothing.
            if let Ok(mut created) = files::create_anew(&file) {
                planted.0.push(file);
                created.write_all(b"canary").map_err(|error| self.unprepared(error))?;
            }
        }
        Ok(planted)
    }

    fn expectations(
        &self,
        prepared: &Prepared,
        planted: &[PathBuf],
        listeners: Option<&Listeners>,
    ) -> Vec<Expectation> {
        let network = self.network().zip(listeners).map(|(network, listeners)| {
            network.ignore(HostPort::new(Host::Name(LOOPBACK.to_owned()), listeners.port));
            let Listeners { port, name, .. } = listeners;
            TriedNetwork { port: *port, socket: name, proxy: network.proxy_port() }
        });
        canary::expectations(&Tried {
            plan: &prepared.plan,
            host: &self.host,
            project: &prepared.project.root,
            has_repository: prepared.project.repository.is_some(),
            user_namespaces: self.user_namespaces(),
            supervisor: i32::try_from(std::process::id()).unwrap_or(i32::MAX),
            planted,
            network,
        })
    }

    fn run_canary(
        &self,
        room: &Path,
        options: &[BwrapOption],
        prepared: &Prepared,
        name: &str,
        expectations: &[Expectation],
    ) -> Result<CapturedOutput, SandboxError> {
        let probes = expectations.iter().map(|expected| expected.probe.clone()).collect();
        let order = CanaryOrder { name: name.to_owned(), probes };
        let path = env::var_os("PATH").unwrap_or_default();
        let variables = [(OsString::from("PATH"), path)];
        let launch = Launch {
            program: shown_path("canary"),
            arguments: vec![CANARY_COMMAND.into()],
            environment: Vec::new(),
            directory: self.project.clone(),
            containment: Containment::choose(None),
            sigterm_scope: SigtermScope::Namespace,
        };
        let variables = self.variables(&prepared.plan, room, &variables);
        let launch = self.wrap(options, &launch, variables);
        run_captured(CapturedCommand {
            program: launch.program.as_os_str(),
            arguments: &launch.arguments,
            environment: &launch.environment,
            directory: &launch.directory,
            input: serde_json::to_vec(&order).map_err(|_| not_utf8(prepared))?,
            limit: TIMEOUT,
            max_output: MAX_REPORT,
        })
        .map_err(|error| SandboxError::NotStarted(error.to_string()))
    }

    fn unprepared(&self, source: io::Error) -> SandboxError {
        SandboxError::Prepare { path: self.host.private.clone(), source }
    }
}

/// The error for a path that cannot be written as JSON.
fn not_utf8(prepared: &Prepared) -> SandboxError {
    let odd = prepared.plan.mounts.keys().find(|path| path.to_str().is_none());
    SandboxError::NotUtf8(odd.unwrap_or(&prepared.project.root).clone())
}

/// Removes the files that the canary left in the private folders.
fn remove_kept(prepared: &Prepared, expectations: &[Expectation], name: &str) {
    for expected in expectations {
        if let Probe::Create { folder, keep: true } = &expected.probe
            && let Some(source) = prepared.plan.source_of(folder)
        {
            // Usually it could not be created.
            let _ = fs::remove_file(source.join(name));
        }
    }
}

/// Whether the file of a probe exists on this machine. Removes it.
fn has_escaped(probe: &Probe, name: &str) -> bool {
    match probe {
        Probe::Create { folder, .. } => fs::remove_file(folder.join(name)).is_ok(),
        Probe::Open { .. }
        | Probe::Read { .. }
        | Probe::Move { .. }
        | Probe::Replace { .. }
        | Probe::Signal { .. }
        | Probe::Git { .. }
        | Probe::Connect { .. }
        | Probe::AbstractSocket { .. }
        | Probe::Bridge { .. }
        | Probe::MountNamespace
        | Probe::UserNamespace => false,
    }
}

fn read_report(output: &CapturedOutput) -> Result<CanaryReport, SandboxError> {
    let line = String::from_utf8_lossy(&output.output);
    serde_json::from_str(line.trim()).map_err(|_| {
        let why = match (output.complaint.as_str(), output.is_complete()) {
            (_, false) => "its test did not finish".to_owned(),
            ("", true) => "its test reported nothing".to_owned(),
            (complaint, true) => complaint.to_owned(),
        };
        SandboxError::NotStarted(why)
    })
}

/// Listeners of nightwright that no program inside may reach.
struct Listeners {
    port: u16,
    /// The name of the abstract socket.
    name: String,
    _tcp: TcpListener,
    _unix: UnixListener,
}

impl Listeners {
    fn open(name: &str) -> io::Result<Self> {
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let unix = UnixListener::bind_addr(&UnixAddress::from_abstract_name(name)?)?;
        let port = tcp.local_addr()?.port();
        Ok(Self { port, name: name.to_owned(), _tcp: tcp, _unix: unix })
    }
}

/// Files of a trial, removed at its end.
struct LeftFiles(Vec<PathBuf>);

impl Drop for LeftFiles {
    fn drop(&mut self) {
        for file in &self.0 {
            // It may never have been created.
            let _ = fs::remove_file(file);
        }
    }
}
