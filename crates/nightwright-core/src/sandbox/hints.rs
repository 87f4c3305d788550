//! Hints about a check in a sandbox: the thing that it lacks, read from its output, and the setting
//! that gives it.
//!
//! A check that fails inside and passes outside lacks something of this machine. The rules below
//! find it in the lines that the check printed only inside. The first rule that finds something
//! decides. If no rule does, only running the check outside helps.

mod line;
mod paths;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

pub use self::line::lines;
use self::paths::{Failure, of_failure};

/// Maximum number of needs that one check reports.
const MAX_NEEDS: usize = 4;

/// The number of neighboring lines that may name what a line reports as missing.
const NEAR: usize = 3;

/// The devices of graphics cards, which error messages seldom name.
const GPU_DEVICES: [&str; 5] =
    ["/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-uvm", "/dev/dri", "/dev/kfd"];
const KVM: &str = "/dev/kvm";

/// Something of the machine that a check needs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// A port of this machine's loopback address.
    Port(u16),
    /// Write access to a file or folder, as in the setting.
    Write(String),
    /// Read access to a file or folder, as in the setting.
    Read(String),
    Device(String),
    UserNamespaces,
    /// Names or hosts that only this machine's own network knows.
    Network,
    /// The daemon of Docker or Podman, which can do everything on this machine.
    Containers,
    /// No rule found the reason.
    Other,
}

impl Need {
    /// The need as an object of "it needs".
    pub fn words(&self) -> String {
        match self {
            Self::Port(port) => format!("port {port} of this machine"),
            Self::Write(path) => format!("write access to `{path}`"),
            Self::Read(path) => format!("read access to `{path}`"),
            Self::Device(path) => format!("the device `{path}`"),
            Self::UserNamespaces => {
                "user namespaces, or the option `--no-sandbox` of Chromium".to_owned()
            }
            Self::Network => "the network of this machine".to_owned(),
            Self::Containers => "the daemon of Docker or Podman".to_owned(),
            Self::Other => "something that the sandbox does not have".to_owned(),
        }
    }
}

/// A check that failed in the sandbox and passed outside, with what it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostNeeds {
    /// The command line of the check.
    pub command: String,
    pub needs: Vec<Need>,
}

impl HostNeeds {
    fn sentence(&self) -> String {
        let needs: Vec<_> = self.needs.iter().map(Need::words).collect();
        let command = &self.command;
        format!(
            "`{command}` fails in the sandbox and passes outside; it needs {}",
            needs.join(", ")
        )
    }
}

/// The findings in one sentence without a full stop: the first one, and how many there are besides.
/// `None` if there is none.
pub fn sentence(all: &[HostNeeds]) -> Option<String> {
    let (first, others) = all.split_first()?;
    let first = first.sentence();
    Some(match others {
        [] => first,
        [other] => format!("{first}; `{}` passes only outside, too", other.command),
        more => format!("{first}; {} more checks pass only outside, too", more.len()),
    })
}

/// The folders of the machine, and the files that existed before the check ran outside.
#[derive(Clone, Copy, Debug)]
pub struct HintContext<'a> {
    pub home: &'a Path,
    pub project: &'a Path,
    /// Those of [`candidates`] that exist outside.
    pub existing: &'a BTreeSet<PathBuf>,
}

/// The kinds of needs that a rule can find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gives {
    UserNamespaces,
    Containers,
    NamedDevice,
    Kvm,
    Gpu,
    Port,
    Write,
    Network,
    Read,
}

/// A rule: a line that matches reports a failure of this kind.
struct Rule {
    cause: &'static str,
    gives: Gives,
}

/// The rules, in the order in which they apply.
const RULES: [Rule; 9] = [
    Rule {
        cause: r"No usable sandbox!|Creating new namespace failed|No permissions to create (?:a )?new namespace|unshare failed: |clone\(CLONE_NEWUSER",
        gives: Gives::UserNamespaces,
    },
    Rule {
        cause: r"(?:docker|podman)\.sock|Cannot connect to the Docker daemon|Cannot connect to Podman|Could not find a valid Docker environment",
        gives: Gives::Containers,
    },
    Rule { cause: r"(?i)Could not access KVM|KVM is not available|/dev/kvm", gives: Gives::Kvm },
    Rule {
        cause: r"(?i)NVIDIA-SMI has failed|no CUDA-capable device|No CUDA GPUs|CUDA driver version is insufficient|no NVIDIA driver|no HIP GPUs|unable to open /dev/kfd",
        gives: Gives::Gpu,
    },
    Rule {
        cause: r"(?i)/dev/(?:dri|nvidia|snd|fuse|net/tun|video|tty(?:USB|ACM)|loop|bus/usb|vhost|uinput|input)\S*.*(?:no such|not found|cannot|could not|failed|denied|unable|not exist)|(?:no such|not found|cannot|could not|can't|failed|denied|unable|ENOENT|not exist).*/dev/(?:dri|nvidia|snd|fuse|net/tun|video|tty(?:USB|ACM)|loop|bus/usb|vhost|uinput|input)",
        gives: Gives::NamedDevice,
    },
    Rule {
        cause: r"(?i)connection refused|ECONNREFUSED|couldn't connect to server|could not connect to server|\[Errno 111\]|os error 111|connection to \S+ refused|can't connect to \S+ server",
        gives: Gives::Port,
    },
    Rule {
        cause: r"(?i)read-only file ?system|EROFS|config file \S+: Device or resource busy",
        gives: Gives::Write,
    },
    Rule {
        cause: r"(?i)could not (?:resolve|translate) host|name resolution|name or service not known|no such host|\bENOTFOUND\b|EAI_AGAIN|failed to lookup address|UnknownHostException|name does not resolve|ENETUNREACH|network is unreachable",
        gives: Gives::Network,
    },
    Rule {
        cause: r"(?i)no such file|ENOENT|os error 2\)|NoSuchFileException|cannot find the (?:file|path)|does not exist|not found|nonexistent",
        gives: Gives::Read,
    },
];

static CAUSES: LazyLock<Vec<(Regex, Gives)>> = LazyLock::new(|| {
    let compiled = RULES
        .iter()
        .map(|rule| (Regex::new(rule.cause).expect("a test compiles every rule"), rule.gives));
    compiled.collect()
});

/// A port of the loopback address, as clients of databases and HTTP write it.
static LOOPBACK_PORT: LazyLock<Regex> = LazyLock::new(|| {
    let host = r"(?:127\.\d+\.\d+\.\d+|\blocalhost|\b0\.0\.0\.0|\[?::1\]?)";
    Regex::new(&format!(r"{host}(?:[:/]|.{{0,80}}?\bport[= ])(?<port>\d{{1,5}})\b"))
        .expect("the pattern is a constant")
});

static DEVICE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"/dev/[\w./-]*\w").expect("the pattern is a constant"));

/// The lines of the output inside that the check did not print outside.
#[derive(Clone, Debug)]
struct Output<'a>(Vec<&'a str>);

impl<'a> Output<'a> {
    fn new(inside: &'a str, outside: &str) -> Self {
        let known: BTreeSet<&str> = outside.lines().map(str::trim).collect();
        let is_new = |line: &&str| !known.contains(line.trim());
        Self(inside.lines().filter(is_new).collect())
    }

    /// The line, and its neighbors in one text.
    fn around(&self, at: usize) -> String {
        let end = (at + NEAR).min(self.0.len());
        self.0[at.saturating_sub(NEAR)..end].join(" ")
    }
}

/// The files whose existence decides what a check needs. They must be looked at before the check
/// runs outside, which may create them.
pub fn candidates(inside: &str, home: &Path) -> BTreeSet<PathBuf> {
    let output = Output::new(inside, "");
    let mut all: BTreeSet<PathBuf> = GPU_DEVICES.iter().chain([&KVM]).map(PathBuf::from).collect();
    for (at, line) in output.0.iter().enumerate() {
        for (cause, gives) in &*CAUSES {
            let Some(found) = cause.find(line) else { continue };
            match gives {
                Gives::NamedDevice => {
                    all.extend(DEVICE.find_iter(line).map(|it| it.as_str().into()));
                }
                Gives::Write | Gives::Read => {
                    let failure = Failure { lines: &output.0, at, cause: found.range() };
                    let path = of_failure(&failure).map(|path| paths::absolute(&path, home));
                    for path in path.iter().flat_map(|path| path.ancestors()) {
                        all.insert(path.to_owned());
                    }
                }
                Gives::UserNamespaces
                | Gives::Containers
                | Gives::Kvm
                | Gives::Gpu
                | Gives::Port
                | Gives::Network => {}
            }
        }
    }
    all
}

/// Returns the needs of a check that printed this inside, and passed outside.
pub fn needs(inside: &str, outside: &str, context: HintContext<'_>) -> Vec<Need> {
    let output = Output::new(inside, outside);
    for (cause, gives) in &*CAUSES {
        let mut found = Vec::new();
        for (at, line) in output.0.iter().enumerate() {
            let Some(range) = cause.find(line).map(|it| it.range()) else { continue };
            let failure = Failure { lines: &output.0, at, cause: range };
            for need in gives.of(&output, &failure, context) {
                if !found.contains(&need) && found.len() < MAX_NEEDS {
                    found.push(need);
                }
            }
        }
        if !found.is_empty() {
            return found;
        }
    }
    vec![Need::Other]
}

impl Gives {
    fn of(self, output: &Output<'_>, failure: &Failure<'_>, context: HintContext<'_>) -> Vec<Need> {
        let line = failure.lines[failure.at];
        let existing = |path: &str| context.existing.contains(Path::new(path));
        let devices = |paths: &mut dyn Iterator<Item = &str>| -> Vec<Need> {
            paths.filter(|path| existing(path)).map(|path| Need::Device(path.to_owned())).collect()
        };
        match self {
            Self::UserNamespaces => vec![Need::UserNamespaces],
            Self::Containers => vec![Need::Containers],
            Self::Network => vec![Need::Network],
            Self::Kvm => devices(&mut [KVM].into_iter()),
            Self::Gpu => devices(&mut GPU_DEVICES.into_iter()),
            Self::NamedDevice => devices(&mut DEVICE.find_iter(line).map(|it| it.as_str())),
            Self::Port => {
                let near = output.around(failure.at);
                let found = LOOPBACK_PORT.captures(line).or_else(|| LOOPBACK_PORT.captures(&near));
                let port = found.and_then(|found| found["port"].parse().ok());
                port.filter(|port| *port > 0).map(Need::Port).into_iter().collect()
            }
            Self::Write => paths::to_write(failure, context).into_iter().collect(),
            Self::Read => paths::to_read(failure, context).into_iter().collect(),
        }
    }
}
