//! The wire format between nightwright and a guard.
//!
//! ```text
//!   nightwright ─▶ guard   one order (with the agent's standard input attached), then single bytes
//!   guard ─▶ nightwright   messages of five bytes: a kind and a number
//! ```
//!
//! Both ends are the same binary, so there is no version: an unknown byte ends the connection.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use nightwright_core::stream::outcome::ProcessExit;

/// The maximum size of an order in bytes. The kernel's limit for arguments and environment is
/// lower.
pub(crate) const MAX_ORDER: usize = 16 << 20;
/// The size of a message in bytes.
pub(crate) const WORD: usize = 5;

/// The complete description of the program to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GuardOrder {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) directory: PathBuf,
    /// The lock file that shows that processes of a run are alive; empty for none.
    pub(crate) lock: PathBuf,
    /// The cgroup to create for the processes; empty for none.
    pub(crate) group: PathBuf,
    pub(crate) kill_scope: KillScope,
    pub(crate) sigterm_scope: SigtermScope,
}

/// The descendants of a guard that receive SIGTERM before they are killed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SigtermScope {
    /// All of them, including the program.
    #[default]
    All,
    /// Only those in a PID namespace that the program created. On SIGTERM, the program itself would
    /// kill them without a grace period.
    Namespace,
}

/// The descendants that are killed with a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KillScope {
    /// All descendants, however they hide.
    AllDescendants,
    /// Descendants that do not have their own session.
    Session,
}

/// A request to the guard, sent as one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GuardRequest {
    /// Terminate everything, with the usual grace.
    Terminate,
    Kill,
    /// The sender exits now: let the program run for a few seconds more, then kill it.
    LeaveRunning,
}

/// A message from the guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GuardMessage {
    /// The program has been started.
    Started,
    /// The program could not be started, for this system error.
    NotStarted { errno: i32 },
    /// The guard failed before it tried to start the program.
    Unprepared { errno: i32 },
    /// The program has exited; its descendants may be alive.
    Died(ProcessExit),
    /// No descendant is alive.
    Empty,
}

impl GuardRequest {
    pub(crate) fn to_byte(self) -> u8 {
        match self {
            Self::Terminate => b'T',
            Self::Kill => b'K',
            Self::LeaveRunning => b'L',
        }
    }

    pub(crate) fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            b'T' => Some(Self::Terminate),
            b'K' => Some(Self::Kill),
            b'L' => Some(Self::LeaveRunning),
            _ => None,
        }
    }
}

impl GuardMessage {
    pub(crate) fn to_bytes(self) -> [u8; WORD] {
        let (tag, number) = match self {
            Self::Started => (b'S', 0),
            Self::NotStarted { errno } => (b'N', errno),
            Self::Unprepared { errno } => (b'U', errno),
            Self::Died(ProcessExit::Code(code)) => (b'X', code),
            Self::Died(ProcessExit::Signal(signal)) => (b'D', signal),
            Self::Empty => (b'E', 0),
        };
        let [a, b, c, d] = number.to_le_bytes();
        [tag, a, b, c, d]
    }

    pub(crate) fn from_bytes([tag, rest @ ..]: [u8; WORD]) -> Option<Self> {
        let number = i32::from_le_bytes(rest);
        match tag {
            b'S' => Some(Self::Started),
            b'N' => Some(Self::NotStarted { errno: number }),
            b'U' => Some(Self::Unprepared { errno: number }),
            b'X' => Some(Self::Died(ProcessExit::Code(number))),
            b'D' => Some(Self::Died(ProcessExit::Signal(number))),
            b'E' => Some(Self::Empty),
            _ => None,
        }
    }
}

impl GuardOrder {
    /// Encodes the order, preceded by its length.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut body = Vec::with_capacity(4096);
        body.extend_from_slice(&[0; 4]);
        for path in [&self.program, &self.directory, &self.lock, &self.group] {
            put(&mut body, path.as_os_str());
        }
        put_count(&mut body, usize::from(self.kill_scope == KillScope::Session));
        put_count(&mut body, usize::from(self.sigterm_scope == SigtermScope::Namespace));
        put_count(&mut body, self.arguments.len());
        for argument in &self.arguments {
            put(&mut body, argument);
        }
        put_count(&mut body, self.environment.len());
        for (name, value) in &self.environment {
            put(&mut body, name);
            put(&mut body, value);
        }
        let length = number(body.len() - 4);
        body[..4].copy_from_slice(&length);
        body
    }

    /// Decodes an order without its length.
    pub(crate) fn decode(body: &[u8]) -> Option<Self> {
        let mut rest = body;
        let program = take(&mut rest)?.into();
        let directory = take(&mut rest)?.into();
        let lock = take(&mut rest)?.into();
        let group = take(&mut rest)?.into();
        let kill_scope = match take_count(&mut rest)? {
            0 => KillScope::AllDescendants,
            1 => KillScope::Session,
            _ => return None,
        };
        let sigterm_scope = match take_count(&mut rest)? {
            0 => SigtermScope::All,
            1 => SigtermScope::Namespace,
            _ => return None,
        };
        let arguments =
            (0..take_count(&mut rest)?).map(|_| take(&mut rest)).collect::<Option<Vec<_>>>()?;
        let environment = (0..take_count(&mut rest)?)
            .map(|_| Some((take(&mut rest)?, take(&mut rest)?)))
            .collect::<Option<Vec<_>>>()?;
        let order = Self {
            program,
            arguments,
            environment,
            directory,
            lock,
            group,
            kill_scope,
            sigterm_scope,
        };
        rest.is_empty().then_some(order)
    }
}

/// Encodes a length. A length beyond the maximum is rejected by the other end.
fn number(length: usize) -> [u8; 4] {
    u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes()
}

fn put_count(body: &mut Vec<u8>, count: usize) {
    body.extend_from_slice(&number(count));
}

fn put(body: &mut Vec<u8>, text: &OsStr) {
    put_count(body, text.len());
    body.extend_from_slice(text.as_bytes());
}

fn take_count(rest: &mut &[u8]) -> Option<usize> {
    let (count, after) = rest.split_first_chunk()?;
    *rest = after;
    usize::try_from(u32::from_le_bytes(*count)).ok()
}

fn take(rest: &mut &[u8]) -> Option<OsString> {
    let length = take_count(rest)?;
    let (text, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(OsString::from_vec(text.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order() -> GuardOrder {
        GuardOrder {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), String::new().into(), OsString::from_vec(vec![0xFF])],
            environment: vec![("A".into(), "1\n2".into()), ("EMPTY".into(), String::new().into())],
            directory: "/tmp".into(),
            lock: PathBuf::new(),
            group: "/sys/fs/cgroup/x".into(),
            kill_scope: KillScope::Session,
            sigterm_scope: SigtermScope::Namespace,
        }
    }

    #[test]
    fn an_order_arrives_as_it_was_given() {
        let encoded = order().encode();
        let (length, body) = encoded.split_first_chunk().unwrap();
        assert_eq!(u32::from_le_bytes(*length) as usize, body.len());
        assert_eq!(GuardOrder::decode(body), Some(order()));
    }

    #[test]
    fn an_order_that_is_cut_or_too_long_is_none() {
        let encoded = order().encode();
        let body = &encoded[4..];
        for length in 0..body.len() {
            assert_eq!(GuardOrder::decode(&body[..length]), None, "{length} bytes");
        }
        assert_eq!(GuardOrder::decode(&[body, b"x"].concat()), None);
    }

    #[test]
    fn messages_and_requests_arrive_unchanged() {
        for word in [
            GuardMessage::Started,
            GuardMessage::NotStarted { errno: 2 },
            GuardMessage::Unprepared { errno: 13 },
            GuardMessage::Died(ProcessExit::Code(143)),
            GuardMessage::Died(ProcessExit::Signal(9)),
            GuardMessage::Empty,
        ] {
            assert_eq!(GuardMessage::from_bytes(word.to_bytes()), Some(word));
        }
        for request in [GuardRequest::Terminate, GuardRequest::Kill, GuardRequest::LeaveRunning] {
            assert_eq!(GuardRequest::from_byte(request.to_byte()), Some(request));
        }
        assert_eq!(GuardMessage::from_bytes(*b"?????"), None);
        assert_eq!(GuardRequest::from_byte(b'?'), None);
    }
}
