//! The network of a sandbox: nightwright as a hidden command, between the guard and the sandbox.
//!
//! Programs in the sandbox have a network with a single neighbor, the bridge. It answers for all
//! addresses, so no program needs to know of it. For each connection, the bridge asks nightwright,
//! which decides, connects and copies the data.
//!
//! ```text
//!   nightwright ◀── unix socket: CONNECT NAME:PORT, data ──┐
//!        │                                                 │
//!      guard ── nw-net ── bridge in the outer namespace ───┘
//!                 │            │ veth
//!                 └── bwrap ── agent in the inner namespace
//! ```
//!
//! Where the system allows no such namespaces, the bridge is the first program inside the sandbox, and
//! an HTTP proxy on its loopback. Programs that know no proxy then reach nothing.
//!
//! Names get addresses that stand for them, so that a connection shows which name a program asked
//! for. The bridge holds no addresses of real hosts.

mod bridge;
mod lines;
mod links;
mod netlink;
mod options;
mod packets;
mod ports;
mod proxy;
mod relay;
mod socket_path;
mod system_calls;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::rc::Rc;
use std::time::Duration;

use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, getppid, kill_process, pidfd_open,
    set_parent_process_death_signal,
};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::{LocalSet, spawn_local};

use self::bridge::{Bridge, OuterBridge};
use self::links::Namespaces;
use super::captured::{CapturedCommand, CapturedEnd, CapturedOutput, run_captured};

pub use self::bridge::MAX_CONNECTIONS;
pub use self::lines::{read_line, write_line};
pub use self::options::NetworkOptions;
pub use self::relay::{relay, reset};
pub use self::socket_path::SocketPath;

/// The name of the command, and of the process in process lists.
pub const NAME: &str = "nw-net";
/// The exit code if the program could not be started.
pub const NOT_STARTED: u8 = 125;
/// A program that exits at once.
const TRUE: &str = "/bin/true";
/// How long a probe may take.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs a program in a separate network until it exits.
pub fn main(arguments: &[OsString]) -> ExitCode {
    match run(arguments) {
        Ok(status) => pass_on(status),
        Err(error) => {
            // Without standard error, the exit code has to do.
            let _ = writeln!(io::stderr(), "{NAME}: {error}");
            ExitCode::from(NOT_STARTED)
        }
    }
}

fn run(arguments: &[OsString]) -> io::Result<ExitStatus> {
    let (options, program, arguments) = NetworkOptions::parse(arguments)?;
    rustix::thread::set_name(c"nw-net")?;
    let parent = getppid();
    let socket = SocketPath::new(&options.socket)?;
    let namespaces = match options.proxy {
        Some(_) => None,
        None => Some(Namespaces::create()?),
    };
    // Not before: a new user namespace may reset it.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() != parent {
        return Err(io::Error::other("the parent process has exited"));
    }
    let mut command = Command::new(program);
    command.args(arguments);
    let runtime = Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, async {
        // SIGTERM is for the program: the bridge stays as long as it does.
        let _terminate = signal(SignalKind::terminate())?;
        let _interrupt = signal(SignalKind::interrupt())?;
        let _hangup = signal(SignalKind::hangup())?;
        let bridge = Rc::new(Bridge::new(socket));
        let listeners = listen_inside(&options.host_ports)?;
        if let Some(port) = options.proxy {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
            listener.set_nonblocking(true)?;
            let listener = tokio::net::TcpListener::from_std(listener)?;
            spawn_local(proxy::serve(Rc::clone(&bridge), listener));
        }
        let child = start(&mut command)?;
        for (port, listener) in listeners {
            bridge.open_host_port(port, listener)?;
        }
        if let Some(namespaces) = namespaces {
            namespaces.enter_outer()?;
            Rc::new(OuterBridge::new(bridge, namespaces)).start()?;
        }
        exit_of(child).await
    })
}

/// Whether this machine allows the namespaces and the link. Blocks for a few milliseconds;
/// `nightwright` is the path of this program.
pub fn probe(nightwright: &Path) -> Result<(), String> {
    let options = NetworkOptions { socket: "/probe".into(), host_ports: Vec::new(), proxy: None };
    let mut arguments = options.to_arguments();
    arguments.push(TRUE.into());
    let finished = run_captured(CapturedCommand {
        program: nightwright.as_os_str(),
        arguments: &arguments,
        environment: &[],
        directory: Path::new("/"),
        input: Vec::new(),
        limit: PROBE_TIMEOUT,
        max_output: 0,
    });
    match finished {
        Ok(CapturedOutput { ended: CapturedEnd::Exited(exit), .. }) if exit.is_success() => Ok(()),
        Ok(CapturedOutput { complaint, .. }) => Err(complaint),
        Err(error) => Err(error.to_string()),
    }
}

/// Listens on the loopback of the sandbox.
fn listen_inside(ports: &[u16]) -> io::Result<Vec<(u16, TcpListener)>> {
    let mut listeners = Vec::new();
    for port in ports {
        listeners.push((*port, TcpListener::bind((Ipv4Addr::LOCALHOST, *port))?));
        // Some machines have no IPv6.
        let v6 = TcpListener::bind((IpAddr::from(Ipv6Addr::LOCALHOST), *port));
        listeners.extend(v6.ok().map(|listener| (*port, listener)));
    }
    Ok(listeners)
}

/// Starts the program, which then is the only one that holds its pipes.
fn start(command: &mut Command) -> io::Result<Child> {
    system_calls::tie_to_this_thread(command);
    let child = command.spawn().map_err(|error| {
        let program = Path::new(command.get_program()).display();
        io::Error::new(error.kind(), format!("cannot run {program}: {error}"))
    })?;
    let nothing = std::fs::File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing)?;
    rustix::stdio::dup2_stdout(&nothing)?;
    rustix::stdio::dup2_stderr(&nothing)?;
    Ok(child)
}

async fn exit_of(mut child: Child) -> io::Result<ExitStatus> {
    let number = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = number.ok_or_else(|| io::Error::other("a child has a number"))?;
    let handle = system_calls::watch(pidfd_open(pid, PidfdFlags::NONBLOCK)?)?;
    loop {
        let mut ready = handle.readable().await?;
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        ready.clear_ready();
    }
}

/// Ends this process as the program ended.
fn pass_on(status: ExitStatus) -> ExitCode {
    if let Some(signal) = status.signal() {
        if signal == Signal::KILL.as_raw() {
            // If this fails, the exit code says the same.
            let _ = kill_process(getpid(), Signal::KILL);
        }
        return ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX));
    }
    ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
}
