//! The log of hook output in the run directory.

use std::io::{self, Write as _};
use std::path::Path;

use nightwright_core::display::display_safe;

use crate::files;
use crate::store::run_dir::HOOK_LOG;

/// The maximum size of the log. Further output is dropped.
const MAX_LOG_BYTES: u64 = 4 << 20;

/// Appends the output of one hook.
pub(super) fn append(folder: &Path, hook: &str, how: &str, output: &str) -> io::Result<()> {
    let mut file = files::append_regular(&folder.join(HOOK_LOG))?;
    let length = file.metadata()?.len();
    if length >= MAX_LOG_BYTES {
        return Ok(());
    }
    let at = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ");
    let mut text = format!("[{at}] {hook} {how}\n{}", display_safe(output));
    if !text.ends_with('\n') {
        text.push('\n');
    }
    if length + text.len() as u64 >= MAX_LOG_BYTES {
        text.push_str("[... output truncated ...]\n");
    }
    file.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_has_an_end_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let much = "x".repeat(1 << 20);
        for _ in 0..8 {
            append(folder.path(), "started", "exited with 0", &much).unwrap();
        }
        let text = std::fs::read_to_string(folder.path().join(HOOK_LOG)).unwrap();
        assert!(text.len() < 6 << 20);
        assert_eq!(text.matches("output truncated").count(), 1);
        assert!(text.ends_with("[... output truncated ...]\n"));
    }

    #[test]
    fn cursor_movements_are_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        append(folder.path(), "finished", "exited with 3", "a\u{1b}[2Jb").unwrap();
        let text = std::fs::read_to_string(folder.path().join(HOOK_LOG)).unwrap();
        assert!(!text.contains('\u{1b}'));
        assert!(text.contains("finished exited with 3\na"), "{text}");
    }
}
