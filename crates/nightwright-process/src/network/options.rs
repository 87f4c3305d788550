//! The command line of the hidden command.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use super::NAME;

const SOCKET: &str = "--socket";
const HOST_PORT: &str = "--host-port";
const PROXY: &str = "--proxy";
const END: &str = "--";

/// The options of the hidden command, without the program that it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkOptions {
    /// The socket of nightwright.
    pub socket: PathBuf,
    /// The ports of the host that programs inside reach on their own loopback.
    pub host_ports: Vec<u16>,
    /// The port of the proxy, if the command itself runs in the sandbox; `None` if it creates
    /// namespaces.
    pub proxy: Option<u16>,
}

impl NetworkOptions {
    /// The arguments of nightwright for these options. The program and its arguments follow.
    pub fn to_arguments(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec![NAME.into(), SOCKET.into()];
        arguments.push(self.socket.clone().into());
        let ports = self.host_ports.iter().map(|port| (HOST_PORT, port));
        for (option, port) in ports.chain(self.proxy.iter().map(|port| (PROXY, port))) {
            arguments.extend([option.into(), port.to_string().into()]);
        }
        arguments.push(END.into());
        arguments
    }

    /// Reads the arguments after the name of the command. Returns the program and its arguments,
    /// too.
    pub(super) fn parse(arguments: &[OsString]) -> io::Result<(Self, PathBuf, Vec<OsString>)> {
        let wrong = || io::Error::new(io::ErrorKind::InvalidInput, "wrong arguments");
        let mut arguments = arguments.iter();
        let mut socket = None;
        let mut host_ports = Vec::new();
        let mut proxy = None;
        loop {
            let option = arguments.next().and_then(|option| option.to_str()).ok_or_else(wrong)?;
            let value = arguments.next().ok_or_else(wrong)?;
            let port = || value.to_str().and_then(|port| port.parse().ok()).ok_or_else(wrong);
            match option {
                SOCKET => socket = Some(PathBuf::from(value)),
                HOST_PORT => host_ports.push(port()?),
                PROXY => proxy = Some(port()?),
                END => {
                    let options = Self { socket: socket.ok_or_else(wrong)?, host_ports, proxy };
                    return Ok((options, value.into(), arguments.cloned().collect()));
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
        for proxy in [None, Some(3128)] {
            let socket = "/run/x/bridge.sock".into();
            let options = NetworkOptions { socket, host_ports: vec![5432, 6379], proxy };
            let mut arguments = options.to_arguments();
            assert_eq!(arguments[0], NAME);
            for end in 1..=arguments.len() {
                assert!(NetworkOptions::parse(&arguments[1..end]).is_err(), "{end}");
            }
            let program = ["bwrap", "--", "--socket"].map(OsString::from);
            arguments.extend(program.clone());
            let (read, found, rest) = NetworkOptions::parse(&arguments[1..]).unwrap();
            assert_eq!((read, found), (options, "bwrap".into()));
            assert_eq!(rest, program[1..]);
        }
    }
}
