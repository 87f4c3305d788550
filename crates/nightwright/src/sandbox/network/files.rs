//! The files by which programs inside look names up.

use std::fs;
use std::io;
use std::path::Path;

use nightwright_core::sandbox::facts::FileKind;
use nightwright_core::sandbox::network::stand_ins::BRIDGE;
use nightwright_core::sandbox::plan::NetworkMount;

/// The files, by their names in the folder of the network and in `/etc`.
const FILES: [&str; 3] = ["resolv.conf", "nsswitch.conf", "hosts"];
const ETC: &str = "/etc";

/// Writes the files into the folder of the network.
pub(super) fn write(folder: &Path) -> io::Result<()> {
    let switch = fs::read_to_string(Path::new(ETC).join(FILES[1])).unwrap_or_default();
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let contents = [resolver(), name_service(&switch), hosts(name.trim())];
    for (file, content) in FILES.iter().zip(contents) {
        fs::write(folder.join(file), content)?;
    }
    Ok(())
}

/// Mounts each file over the one of the host. A mount cannot cover a link, so the file that it leads
/// to is covered.
pub(super) fn mounts(folder: &Path) -> Vec<NetworkMount> {
    // Without a place to mount it, the file is missing for the host's programs, too.
    let place = |file: &&str| Path::new(ETC).join(file).canonicalize().ok();
    let mounts = FILES.iter().filter_map(|file| {
        let (place, from) = (place(file)?, folder.join(file));
        Some(NetworkMount { place, from, kind: FileKind::File })
    });
    mounts.collect()
}

fn resolver() -> String {
    // The host's resolver may need as long.
    format!("nameserver {BRIDGE}\noptions timeout:10 attempts:2\n")
}

/// The services for names, with only files and DNS for hosts.
fn name_service(text: &str) -> String {
    let others = text.lines().filter(|line| !line.trim_start().starts_with("hosts:"));
    let lines: Vec<_> = others.chain(["hosts: files dns"]).collect();
    lines.join("\n") + "\n"
}

/// Only the names of this machine: others are known to nightwright, which records them.
fn hosts(name: &str) -> String {
    format!("127.0.0.1 localhost {name}\n::1 localhost ip6-localhost ip6-loopback\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_services_for_hosts_are_replaced() {
        let text = "passwd: files systemd\n hosts: files mdns4_minimal [NOTFOUND=return] dns\n";
        assert_eq!(name_service(text), "passwd: files systemd\nhosts: files dns\n");
        assert_eq!(name_service(""), "hosts: files dns\n");
    }
}
