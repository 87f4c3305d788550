//! Descriptors that whoever started us left open: our children must not have them.
//!
//! This is the one place in nightwright with unsafe code. The system's interface for a descriptor that
//! is only a number takes it on trust that the number is open, and here we know it is: the kernel
//! has just listed it.

use std::fs;
use std::os::fd::{BorrowedFd, RawFd};

use rustix::io::{FdFlags, fcntl_getfd, fcntl_setfd};

/// The three that every program is given.
const STANDARD: RawFd = 2;

/// Keeps all descriptors but the standard three from our children. To be called before anything
/// else: while there is only one thread no number can change hands.
pub fn set_cloexec_on_inherited_fds() {
    // Where there is no such list there is nothing that could be done.
    let Ok(entries) = fs::read_dir("/dev/fd") else { return };
    let numbers: Vec<RawFd> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|number| *number > STANDARD)
        .collect();
    // The list itself was open while it was read, and is closed by now: a number that is not
    // open any more is refused by the kernel, and that is all.
    for number in numbers {
        #[expect(unsafe_code, reason = "a number that the kernel has just listed as open")]
        // SAFETY: only flags are read and set, through a borrow that does not outlive this line;
        // nothing is closed, and a number that is not open is answered with an error.
        let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
        if let Ok(flags) = fcntl_getfd(descriptor) {
            // Refused only for a number that is not open.
            let _ = fcntl_setfd(descriptor, flags | FdFlags::CLOEXEC);
        }
    }
}
