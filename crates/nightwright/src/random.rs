//! Random bytes from the system.

use std::fs::File;
use std::io::{self, Read as _};

/// Returns `N` random bytes.
pub(crate) fn bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Bytes that tell two processes apart. Without randomness from the kernel, the process id has to
/// do: a nonce protects nothing.
pub(crate) fn nonce() -> [u8; 8] {
    bytes().unwrap_or(u64::from(std::process::id()).to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_draws_differ() {
        assert_ne!(bytes::<16>().unwrap(), bytes::<16>().unwrap());
    }
}
