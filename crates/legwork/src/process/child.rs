//! One child and its group.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use legwork_core::agent::outcome::Death;
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpgrp, kill_process_group, test_kill_process_group,
    waitid,
};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, sleep, timeout};

/// What a process has between SIGTERM and SIGKILL.
pub const GRACE: Duration = Duration::from_secs(5);
/// How long the last of a killed group may take to vanish. Beyond that they are bodies that
/// nobody buries, or stuck in the kernel; waiting longer would help neither.
const VANISH: Duration = Duration::from_millis(500);
/// How often that is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// What to start, complete: nothing is inherited but what is named here.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The program: a path, or a name to be found in the `PATH` of `environment`.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Its whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Where it runs.
    pub directory: PathBuf,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit(pub Death);

impl Exit {
    /// Whether it ended of its own will with 0.
    pub fn is_success(self) -> bool {
        self.0 == Death::Code(0)
    }

    /// The code it exited with, if no signal killed it.
    pub fn code(self) -> Option<i32> {
        match self.0 {
            Death::Code(code) => Some(code),
            Death::Signal(_) => None,
        }
    }

    /// The signal that killed it, if one did.
    pub fn signal(self) -> Option<i32> {
        match self.0 {
            Death::Code(_) => None,
            Death::Signal(signal) => Some(signal),
        }
    }
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        Self(match (status.code(), status.signal()) {
            (Some(code), _) => Death::Code(code),
            (None, Some(signal)) => Death::Signal(signal),
            // Neither can be said only of a process that was stopped, which is not waited for.
            (None, None) => Death::Code(-1),
        })
    }
}

/// A process that we started, with everything in its group.
#[derive(Debug)]
pub struct Child {
    inner: tokio::process::Child,
    /// `None` once it is buried: its number may then be somebody else's.
    group: Option<Pid>,
}

/// Starts a process as leader of a group of its own, with all three pipes ours.
pub fn spawn(launch: &Launch) -> io::Result<Child> {
    let inner = Command::new(&launch.program)
        .args(&launch.arguments)
        .env_clear()
        .envs(launch.environment.iter().map(|(name, value)| (name, value)))
        .current_dir(&launch.directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()?;
    let group = inner.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    Ok(Child { inner, group: group.filter(|group| may_be_signalled(*group)) })
}

/// Our own group and the first process are never ours to signal, whatever we were told.
fn may_be_signalled(group: Pid) -> bool {
    !group.is_init() && group != getpgrp()
}

impl Child {
    /// The pipe to its standard input; closed by dropping it. `None` the second time.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.inner.stdin.take()
    }

    /// The pipe from its standard output. `None` the second time.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.inner.stdout.take()
    }

    /// The pipe from its standard error. `None` the second time.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.inner.stderr.take()
    }

    /// Asks the group to leave.
    pub fn terminate(&self) {
        self.send(Signal::TERM);
    }

    /// Ends the group.
    pub fn kill(&self) {
        self.send(Signal::KILL);
    }

    /// Waits for the death of the leader and leaves its number taken.
    pub async fn exited(&self) -> io::Result<()> {
        let Some(leader) = self.group else {
            return Ok(());
        };
        let died = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        // Listening begins before looking, so that no death falls between the two.
        let mut deaths = signal(SignalKind::child())?;
        while waitid(WaitId::Pid(leader), died)?.is_none() {
            deaths.recv().await;
        }
        Ok(())
    }

    /// SIGTERM, some seconds, SIGKILL; returns at the leader's death.
    pub async fn end(&self) -> io::Result<()> {
        self.terminate();
        if let Ok(exited) = timeout(GRACE, self.exited()).await {
            return exited;
        }
        self.kill();
        self.exited().await
    }

    /// Ends what is left of the group and says how the leader died. Waits for its death if need
    /// be, so call it after [`Child::exited`].
    pub async fn bury(&mut self) -> io::Result<Exit> {
        self.kill();
        let group = self.group;
        let status = self.inner.wait().await?;
        self.group = None;
        if let Some(group) = group {
            vanished(group).await;
        }
        Ok(status.into())
    }

    fn send(&self, signal: Signal) {
        let Some(group) = self.group else { return };
        match kill_process_group(group, signal) {
            // Gone already, or nothing but bodies (which is what macOS calls "not permitted").
            Ok(()) | Err(Errno::SRCH | Errno::PERM) => {}
            // Only a signal that does not exist is left, and ours do.
            Err(error) => debug_assert!(false, "signal to group {group:?}: {error}"),
        }
    }
}

impl Drop for Child {
    /// `kill_on_drop` reaches only the leader.
    fn drop(&mut self) {
        self.kill();
    }
}

/// Waits until a group that was killed has no members; asks without signalling.
async fn vanished(group: Pid) {
    let patience = Instant::now() + VANISH;
    while test_kill_process_group(group).is_ok() && Instant::now() < patience {
        sleep(LOOK).await;
    }
}
