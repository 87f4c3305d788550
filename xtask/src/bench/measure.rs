//! Measures the duration and the peak memory of one program.

use std::fs;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use crate::program;

/// The interval between two readings of the memory. The kernel keeps the peak, so only the time
/// between the last reading and the exit can be missed.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// The resources that a program used.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Taken {
    pub(super) time: Duration,
    /// The peak memory of the program in bytes, without its children.
    pub(super) peak: u64,
}

/// Runs a program until it exits; a failure is an error.
pub(super) fn measure(command: &mut Command) -> Result<Taken, String> {
    let begin = Instant::now();
    let child =
        command.spawn().map_err(|error| format!("cannot start `{}`: {error}", shown(command)))?;
    let (ended, peak) = watch(child).map_err(|error| format!("`{}`: {error}", shown(command)))?;
    if ended {
        Ok(Taken { time: begin.elapsed(), peak })
    } else {
        Err(format!("`{}` failed", shown(command)))
    }
}

/// Waits for the exit; returns whether it succeeded, and the peak memory.
fn watch(mut child: Child) -> std::io::Result<(bool, u64)> {
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        if let Some(found) = fs::read_to_string(&status).ok().and_then(|text| high_water(&text)) {
            peak = found;
        }
        if let Some(status) = child.try_wait()? {
            return Ok((status.success(), peak));
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// Parses `VmHWM:     12345 kB` and returns bytes.
fn high_water(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// Returns the median, or `None` for an empty list.
pub(super) fn median<T: Copy + Ord>(mut values: Vec<T>) -> Option<T> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

fn shown(command: &Command) -> String {
    program::shown(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_what_the_kernel_says() {
        let status = "Name:\tcat\nVmPeak:\t  9999 kB\nVmHWM:\t    2048 kB\nVmRSS:\t 1024 kB\n";
        assert_eq!(high_water(status), Some(2 << 20));
        assert_eq!(high_water("Name:\tcat\nState:\tZ (zombie)\n"), None);
    }

    #[test]
    fn the_median_of_the_rounds_counts() {
        assert_eq!(median(vec![3, 1, 2]), Some(2));
        assert_eq!(median(Vec::<u8>::new()), None);
    }

    #[test]
    fn a_program_that_fails_is_not_measured() {
        assert!(measure(Command::new("sh").args(["-c", "exit 3"])).is_err());
        assert!(measure(&mut Command::new("no-such-program-anywhere")).is_err());
        assert!(measure(Command::new("sh").args(["-c", "sleep 0.05"])).unwrap().peak > 0);
    }
}
