//! The user's git configuration in a sandbox: identity and habits, and nothing that runs a program.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Settings that are copied. A name that ends with a dot stands for all settings in the section
/// whose values are words or numbers.
const COPIED: &[&str] = &[
    "user.name",
    "user.email",
    "user.useconfigonly",
    "init.defaultbranch",
    "core.autocrlf",
    "core.eol",
    "core.safecrlf",
    "core.quotepath",
    "core.ignorecase",
    "core.precomposeunicode",
    "merge.conflictstyle",
    "merge.ff",
    "pull.rebase",
    "pull.ff",
    "push.default",
    "push.autosetupremote",
    "push.followtags",
    "fetch.prune",
    "rebase.autosquash",
    "rebase.autostash",
    "rebase.updaterefs",
    "rerere.enabled",
    "diff.algorithm",
    "diff.colormoved",
    "diff.renames",
    "diff.mnemonicprefix",
    "branch.sort",
    "tag.sort",
    "column.ui",
    "color.ui",
    "status.short",
    "log.date",
    "commit.verbose",
    "commit.cleanup",
    "feature.manyfiles",
    "index.version",
];

/// The setting that names a file with ignore rules.
pub const IGNORE_FILE: &str = "core.excludesfile";

/// The name of the file with ignore rules, in the private home.
pub const IGNORE_PLACE: &str = ".config/git/nightwright-ignore";

/// Returns the file `~/.gitconfig` of a sandbox. `listed` is the output of `git config --list
/// --null` for the user's own files.
pub fn config(listed: &[u8], safe: &[PathBuf], home: &Path) -> String {
    let mut text = String::from(
        "# nightwright writes this file before each program. It contains the settings of your \
         ~/.gitconfig\n# that run no program.\n",
    );
    for (name, value) in entries(listed) {
        let is_alias = name.strip_prefix("alias.").is_some_and(|rest| !rest.contains('.'));
        let is_copied = COPIED.contains(&name.as_str()) || (is_alias && !value.starts_with('!'));
        if is_copied {
            setting(&mut text, &name, &value);
        }
    }
    // There are no keys inside.
    setting(&mut text, "commit.gpgsign", "false");
    setting(&mut text, "tag.gpgsign", "false");
    // The folder `info` is read-only.
    setting(&mut text, "repack.updateserverinfo", "false");
    setting(&mut text, IGNORE_FILE, &home.join(IGNORE_PLACE).to_string_lossy());
    for folder in safe {
        setting(&mut text, "safe.directory", &folder.to_string_lossy());
    }
    text
}

/// Returns the ignore rules of a sandbox: the user's, and the entries that exist only inside.
pub fn ignore(users: &str, placeholders: &[PathBuf]) -> String {
    let mut text = users.trim_end().to_owned();
    if !text.is_empty() {
        text.push('\n');
    }
    for path in placeholders {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "/{}", path.display());
    }
    text
}

/// The value of a setting in the output of `git config --list --null`: the last one counts.
pub fn value_of(listed: &[u8], name: &str) -> Option<String> {
    entries(listed).filter(|(known, _)| known == name).last().map(|(_, value)| value)
}

fn entries(listed: &[u8]) -> impl Iterator<Item = (String, String)> {
    listed.split(|byte| *byte == 0).filter_map(|entry| {
        let entry = std::str::from_utf8(entry).ok()?;
        // A name without a value stands for `true`.
        let (name, value) = entry.split_once('\n').unwrap_or((entry, "true"));
        (!name.is_empty()).then(|| (name.to_owned(), value.to_owned()))
    })
}

fn setting(text: &mut String, name: &str, value: &str) {
    let Some((section, key)) = name.rsplit_once('.') else { return };
    let quoted = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    // Writing to a string cannot fail.
    let _ = writeln!(text, "[{section}]\n\t{key} = \"{quoted}\"");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_and_harmless_aliases_are_copied_and_programs_are_not() {
        let listed = b"user.name\nJo \"X\" Doe\0alias.st\nstatus -sb\0alias.up\n!evil\0\
            core.pager\nless\0credential.helper\nstore\0commit.gpgsign\ntrue\0rerere.enabled\0\
            filter.lfs.clean\nevil\0core.fsmonitor\nevil\0alias.a.b\nx\0";
        let text = config(listed, &["/p".into()], Path::new("/users/u"));
        for wanted in [
            "[user]\n\tname = \"Jo \\\"X\\\" Doe\"",
            "[alias]\n\tst = \"status -sb\"",
            "[rerere]\n\tenabled = \"true\"",
            "[commit]\n\tgpgsign = \"false\"",
            "[safe]\n\tdirectory = \"/p\"",
            "[core]\n\texcludesfile = \"/users/u/.config/git/nightwright-ignore\"",
        ] {
            assert!(text.contains(wanted), "{wanted}: {text}");
        }
        for unwanted in ["evil", "pager", "credential", "alias.a"] {
            assert!(!text.contains(unwanted), "{unwanted}: {text}");
        }
        assert_eq!(value_of(listed, "commit.gpgsign").as_deref(), Some("true"));
    }

    #[test]
    fn placeholders_are_ignored_besides_what_the_user_ignores() {
        assert_eq!(ignore("*.log\n\n", &[".mcp.json".into()]), "*.log\n/.mcp.json\n");
        assert_eq!(ignore("", &[]), "");
    }
}
