//! Inherited file descriptors: those that the parent process left open must not reach child
//! processes.
//!
//! This needs unsafe code. The interface for a raw descriptor requires that the number is open; here
//! the kernel has just listed it.

use std::fs;
use std::os::fd::{BorrowedFd, RawFd};

use rustix::io::{FdFlags, fcntl_getfd, fcntl_setfd};

/// The last of the three standard descriptors.
const STANDARD: RawFd = 2;

/// Sets close-on-exec on all descriptors but the standard three. Call this first: with a single
/// thread, no number can be reused meanwhile.
pub fn set_cloexec_on_inherited_fds() {
    // Without the list, nothing can be done.
    let Ok(entries) = fs::read_dir("/dev/fd") else { return };
    let numbers: Vec<RawFd> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|number| *number > STANDARD)
        .collect();
    // The descriptor of the list itself is closed by now. The kernel rejects a closed number, which
    // does no harm.
    for number in numbers {
        #[expect(unsafe_code, reason = "a number that the kernel has just listed as open")]
        // SAFETY: only flags are read and set, through a borrow that does not outlive this line.
        // Nothing is closed, and the kernel rejects a number that is not open.
        let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
        if let Ok(flags) = fcntl_getfd(descriptor) {
            // This fails only for a number that is not open.
            let _ = fcntl_setfd(descriptor, flags | FdFlags::CLOEXEC);
        }
    }
}
