//! What the agent program itself would take from a repository: settings with hooks of their own,
//! and servers for further tools.

use std::path::Path;

use super::{TrustItem, file};

/// The files, and what the agent does with them.
const FILES: [(&str, &str); 3] = [
    (".claude/settings.json", "settings of the agent, which can have hooks"),
    (".claude/settings.local.json", "settings of the agent, which can have hooks"),
    (".mcp.json", "programs that give the agent further tools"),
];

/// Those that are there.
pub fn agent_files(project: &Path) -> Vec<TrustItem> {
    let files = FILES.iter().filter_map(|(name, what)| file(project, Path::new(name), what, size));
    files.map(|(item, _)| item).collect()
}

/// Nothing of what is in them: settings can have secrets in them.
fn size(what: &str, bytes: &[u8]) -> String {
    format!("{what} ({} bytes)", bytes.len())
}
