//! The arguments of this process, as other users of the machine see them.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;

/// Hides all arguments after the first `keep` from process lists. A goal or a message may be
/// confidential, and every user can read the arguments of every process. The arguments of this
/// process are gone afterwards, so the caller keeps a copy.
///
/// They stay visible from the start of the process until this call.
pub fn hide(keep: usize) -> io::Result<()> {
    let stat = fs::read("/proc/self/stat")?;
    let unknown = || io::Error::from(io::ErrorKind::InvalidData);
    let (start, end) = range(&String::from_utf8_lossy(&stat)).ok_or_else(unknown)?;
    let shown = fs::read("/proc/self/cmdline")?;
    let kept: usize = shown.split_inclusive(|byte| *byte == 0).take(keep).map(<[u8]>::len).sum();
    let from = start + kept as u64;
    let length =
        usize::try_from(end.checked_sub(from).ok_or_else(unknown)?).map_err(|_| unknown())?;
    let memory: File = OpenOptions::new().write(true).open("/proc/self/mem")?;
    memory.write_all_at(&vec![0; length], from)
}

/// Returns where the kernel finds the arguments: the fields 48 and 49 of `/proc/self/stat`. The
/// second field is a name in parentheses that may contain spaces.
fn range(stat: &str) -> Option<(u64, u64)> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(45);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_of_the_arguments_is_found_behind_any_name() {
        let fields: Vec<_> = (3..=52).map(|number| number.to_string()).collect();
        assert_eq!(range(&format!("1 (a) b) {}", fields.join(" "))), Some((48, 49)));
        assert_eq!(range("1 (a) S 1"), None);
        let own = fs::read_to_string("/proc/self/stat").unwrap();
        let (start, end) = range(&own).unwrap();
        assert!(start < end, "{start} {end}");
    }
}
