//! Files in a repository that the agent program itself uses: settings, which can contain hooks, and
//! MCP servers.

use std::path::Path;

use super::{TrustItem, file};

/// The files, with a description of each.
const FILES: [(&str, &str); 3] = [
    (".claude/settings.json", "agent settings, which can contain hooks"),
    (".claude/settings.local.json", "agent settings, which can contain hooks"),
    (".mcp.json", "MCP servers, which give the agent additional tools"),
];

/// Returns the files that exist.
pub fn agent_files(project: &Path) -> Vec<TrustItem> {
    let files = FILES.iter().filter_map(|(name, what)| file(project, Path::new(name), what, size));
    files.map(|(item, _)| item).collect()
}

/// Shows only the size, because settings can contain secrets.
fn size(what: &str, bytes: &[u8]) -> String {
    format!("{what} ({} bytes)", bytes.len())
}
