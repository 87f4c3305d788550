//! The canary: nightwright as a hidden command in the sandbox, which tries a list of actions and
//! reports the results. It decides nothing.

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, ToSocketAddrs as _};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixStream};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use nightwright_core::sandbox::canary::{
    CanaryOrder, CanaryReport, Probe, ProbeResult, Sights, parse_mounts,
};
use nightwright_core::sandbox::network::TEST_NAME;
use rustix::fs::OFlags;
use rustix::process::{
    Pid, getpid, getppid, getsid, parent_process_death_signal, test_kill_process,
};
use rustix::thread::UnshareFlags;

use crate::process::blocking;

/// The hidden command that runs the canary.
pub(crate) const COMMAND: &str = "nw-canary";

/// Maximum size of the order.
const MAX_ORDER: u64 = 8 << 20;
/// Maximum bytes of git's output that are reported.
const MAX_OUTPUT: usize = 300;
/// The time limit for a connection, which takes no time.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs the canary: the order is on standard input, the report goes to standard output.
pub(crate) fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If standard error is closed, the exit code must be enough.
            let _ = writeln!(io::stderr(), "canary: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> io::Result<()> {
    // Looked at first: the probes open files themselves.
    let extra_descriptors = extra_descriptors();
    let mut text = String::new();
    io::stdin().take(MAX_ORDER).read_to_string(&mut text)?;
    let order: CanaryOrder = serde_json::from_str(&text)?;
    let sights = sights(extra_descriptors);
    let results = order.probes.iter().map(|probe| attempt(probe, &order.name)).collect();
    let report = serde_json::to_string(&CanaryReport { results, sights })?;
    writeln!(io::stdout(), "{report}")
}

fn attempt(probe: &Probe, name: &str) -> ProbeResult {
    let done = match probe {
        Probe::Create { folder, keep } => create(&folder.join(name), *keep),
        Probe::Open { file } => open(file),
        Probe::Read { path } => read(path),
        Probe::Move { path } => move_and_return(path, name),
        Probe::Replace { folder } => replace(folder, name),
        Probe::Signal { pid } => signal(*pid),
        Probe::Git { folder } => git(folder),
        Probe::Connect { port } => connect((Ipv4Addr::LOCALHOST, *port).into()).map(drop),
        Probe::AbstractSocket { name } => UnixAddress::from_abstract_name(name)
            .and_then(|address| UnixStream::connect_addr(&address))
            .map(drop),
        Probe::Bridge { proxy: None } => resolve(),
        Probe::Bridge { proxy: Some(port) } => ask_proxy(*port),
        Probe::MountNamespace => unshare(UnshareFlags::NEWNS),
        Probe::UserNamespace => unshare(UnshareFlags::NEWUSER),
    };
    match done {
        Ok(()) => ProbeResult::Done,
        Err(error) => ProbeResult::Failed(error.to_string()),
    }
}

fn open(file: &Path) -> io::Result<()> {
    // Opening a pipe would wait for a reader.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    OpenOptions::new().write(true).custom_flags(flags).open(file).map(drop)
}

fn create(file: &Path, keep: bool) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).open(file)?;
    if keep { Ok(()) } else { fs::remove_file(file) }
}

/// Fails for a file or folder that cannot be read, and for one that is empty.
fn read(path: &Path) -> io::Result<()> {
    let is_empty = if fs::metadata(path)?.is_dir() {
        fs::read_dir(path)?.next().transpose()?.is_none()
    } else {
        let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
        let mut file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        file.read(&mut [0])? == 0
    };
    if is_empty { Err(io::Error::other("it is empty")) } else { Ok(()) }
}

fn move_and_return(path: &Path, name: &str) -> io::Result<()> {
    let aside = path.with_file_name(name);
    fs::rename(path, &aside)?;
    fs::rename(&aside, path)
}

fn replace(folder: &Path, name: &str) -> io::Result<()> {
    let (first, second) = (folder.join(name), folder.join(format!("{name}-2")));
    let mut file = OpenOptions::new().write(true).create_new(true).open(&first)?;
    file.write_all(b"canary")?;
    file.sync_all()?;
    fs::rename(&first, &second)?;
    fs::remove_file(&second)
}

fn signal(pid: i32) -> io::Result<()> {
    let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidInput)?;
    if pid == getpid() || Some(pid) == getppid() || pid.is_init() {
        return Err(io::Error::other("it is a process inside"));
    }
    Ok(test_kill_process(pid)?)
}

fn git(folder: &Path) -> io::Result<()> {
    env::set_current_dir(folder)?;
    let (exit, output) = blocking::shell("git status --porcelain >/dev/null", MAX_OUTPUT)?;
    if exit.is_success() { Ok(()) } else { Err(io::Error::other(output.trim().to_owned())) }
}

fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    TcpStream::connect_timeout(&address, CONNECT_TIMEOUT)
}

/// Looks a name up that only nightwright knows.
fn resolve() -> io::Result<()> {
    (TEST_NAME, 0).to_socket_addrs().map(drop)
}

/// Asks the proxy for a host that nightwright always refuses.
fn ask_proxy(port: u16) -> io::Result<()> {
    let mut stream = connect((Ipv4Addr::LOCALHOST, port).into())?;
    stream.set_read_timeout(Some(CONNECT_TIMEOUT))?;
    write!(stream, "CONNECT {TEST_NAME}:443 HTTP/1.1\r\n\r\n")?;
    let mut reply = String::new();
    BufReader::new(stream).read_line(&mut reply)?;
    if reply.contains(" 403 ") { Ok(()) } else { Err(io::Error::other(reply.trim().to_owned())) }
}

#[expect(deprecated, reason = "the safe form: this process has a single thread and no secrets")]
fn unshare(flags: UnshareFlags) -> io::Result<()> {
    Ok(rustix::thread::unshare(flags)?)
}

/// The number of descriptors besides the three standard ones and that of the list itself.
fn extra_descriptors() -> usize {
    let Ok(entries) = fs::read_dir("/proc/self/fd") else { return 0 };
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    numbers.filter(|number| *number > 2).count().saturating_sub(1)
}

fn sights(extra_descriptors: usize) -> Sights {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let status = read("/proc/self/status");
    let status = status.lines().filter_map(|line| line.split_once(':'));
    Sights {
        mounts: parse_mounts(&read("/proc/self/mountinfo")),
        status: status
            .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
            .collect::<BTreeMap<_, _>>(),
        namespaces: namespaces(),
        // The kernel has no number for a session leader outside.
        has_own_session: getsid(None).is_ok(),
        dies_with_parent: parent_process_death_signal().is_ok_and(|signal| signal.is_some()),
        extra_descriptors,
        directory: env::current_dir().unwrap_or_default(),
    }
}

/// The namespaces of this process, by name.
pub(super) fn namespaces() -> BTreeMap<String, String> {
    let entries = fs::read_dir("/proc/self/ns").into_iter().flatten().flatten();
    let named = entries.filter_map(|entry| {
        let id = fs::read_link(entry.path()).ok()?;
        Some((entry.file_name().to_str()?.to_owned(), id.to_string_lossy().into_owned()))
    });
    named.collect()
}
