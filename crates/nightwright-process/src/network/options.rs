//! The command line of the hidden command.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;

use super::NAME;

const SOCKET: &str = "--socket";
const HOST_PORT: &str = "--host-port";
const END: &str = "--";

/// What the hidden command is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkOptions {
    /// The socket of nightwright.
    pub socket: PathBuf,
    /// The ports of the host that programs inside reach on their own loopback.
    pub host_ports: Vec<u16>,
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
}

impl NetworkOptions {
    /// The arguments of nightwright for these options.
    pub fn to_arguments(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec![NAME.into(), SOCKET.into()];
        arguments.push(self.socket.clone().into());
        for port in &self.host_ports {
            arguments.extend([HOST_PORT.into(), port.to_string().into()]);
        }
        arguments.extend([END.into(), self.program.clone().into()]);
        arguments.extend(self.arguments.iter().cloned());
        arguments
    }

    /// Reads the arguments after the name of the command.
    pub(super) fn parse(arguments: &[OsString]) -> io::Result<Self> {
        let wrong = || io::Error::new(io::ErrorKind::InvalidInput, "wrong arguments");
        let mut arguments = arguments.iter();
        let mut socket = None;
        let mut host_ports = Vec::new();
        loop {
            let option = arguments.next().and_then(|option| option.to_str()).ok_or_else(wrong)?;
            let mut value = || arguments.next().map(OsString::as_os_str).ok_or_else(wrong);
            match option {
                SOCKET => socket = Some(PathBuf::from(value()?)),
                HOST_PORT => {
                    let port = value()?.to_str().and_then(|port| port.parse().ok());
                    host_ports.push(port.ok_or_else(wrong)?);
                }
                END => {
                    let program = PathBuf::from(value()?);
                    let arguments = arguments.map(OsString::as_os_str).map(OsStr::to_owned);
                    let socket = socket.ok_or_else(wrong)?;
                    let arguments = arguments.collect();
                    return Ok(Self { socket, host_ports, program, arguments });
                }
                _ => return Err(wrong()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_as_they_were_written() {
        let options = NetworkOptions {
            socket: "/run/x/bridge.sock".into(),
            host_ports: vec![5432, 6379],
            program: "bwrap".into(),
            arguments: vec!["--".into(), "--socket".into()],
        };
        let arguments = options.to_arguments();
        assert_eq!(arguments[0], NAME);
        assert_eq!(NetworkOptions::parse(&arguments[1..]).unwrap(), options);
        for end in 1..arguments.len() - options.arguments.len() {
            assert!(NetworkOptions::parse(&arguments[1..end]).is_err(), "{end}");
        }
    }
}
