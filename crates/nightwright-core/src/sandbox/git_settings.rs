//! The user's git configuration in a sandbox: identity and habits, and nothing that runs a program.

use std::fmt::Write as _;
use std::path::{Component, Path, PathBuf};

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
        text.push('/');
        for letter in path.to_string_lossy().chars() {
            // These have a meaning in ignore rules.
            if matches!(letter, '\\' | '*' | '?' | '[' | ']' | ' ') {
                text.push('\\');
            }
            text.push(letter);
        }
        text.push('\n');
    }
    text
}

/// The files that the settings of a repository name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepositorySettings {
    /// The folder with the hooks.
    pub hooks_path: Option<PathBuf>,
    /// The files with further settings.
    pub included: Vec<PathBuf>,
    /// The file with ignore rules that the repository itself names.
    pub ignore_file: Option<PathBuf>,
}

/// Reads the output of `git config --list --null --show-scope --show-origin` at the top of a work
/// tree.
pub fn of_repository(listed: &[u8], top: &Path, home: &Path) -> RepositorySettings {
    let mut fields = listed.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let mut found = RepositorySettings::default();
    while let (Some(scope), Some(origin), Some(entry)) =
        (fields.next(), fields.next(), fields.next())
    {
        let Some((name, value)) = entry.split_once('\n') else { continue };
        let named = |base: &Path| match value.strip_prefix("~/") {
            Some(rest) => home.join(rest),
            None => plain(&base.join(value)),
        };
        if name == "core.hookspath" {
            found.hooks_path = (!value.is_empty()).then(|| named(top));
        } else if name == IGNORE_FILE {
            let is_own = matches!(&*scope, "local" | "worktree");
            found.ignore_file = is_own.then(|| named(top));
        } else if is_include(name) {
            let file = top.join(origin.strip_prefix("file:").unwrap_or_default());
            found.included.push(named(file.parent().unwrap_or(top)));
        }
    }
    found
}

fn is_include(name: &str) -> bool {
    let conditional = name.strip_prefix("includeif.");
    name == "include.path"
        || conditional.is_some_and(|rest| rest.rsplit('.').next() == Some("path"))
}

/// The path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}

/// The folder of the files that the configuration in a git folder names, in the text of its file
/// `config`.
pub fn work_tree_in(config: &str, git_folder: &Path) -> Option<PathBuf> {
    let mut is_core = false;
    let mut found = None;
    for line in config.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            is_core =
                section.split(']').next().is_some_and(|name| name.eq_ignore_ascii_case("core"));
        } else if is_core
            && let Some((name, value)) = line.split_once('=')
            && name.trim().eq_ignore_ascii_case("worktree")
        {
            found = Some(plain(&git_folder.join(value.trim().trim_matches('"'))));
        }
    }
    found
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
        assert_eq!(
            ignore("", &["o *[x]?\\/.mcp.json".into()]),
            "/o\\ \\*\\[x\\]\\?\\\\/.mcp.json\n"
        );
    }

    #[test]
    fn the_files_that_the_settings_of_a_repository_name_are_found() {
        let listed = b"global\0file:/users/u/.gitconfig\0core.excludesfile\n~/ignore\0\
            global\0file:/users/u/.gitconfig\0include.path\nwork\0\
            local\0file:.git/config\0core.bare\0\
            local\0file:.git/config\0include.path\n../.gitconfig\0\
            local\0file:.git/config\0includeif.onbranch:x.path\n/abs\0\
            local\0file:.git/config\0core.hookspath\n.husky/_\0";
        let found = of_repository(listed, Path::new("/p"), Path::new("/users/u"));
        assert_eq!(found.hooks_path.as_deref(), Some(Path::new("/p/.husky/_")));
        let included = ["/users/u/work", "/p/.gitconfig", "/abs"].map(PathBuf::from);
        assert_eq!(found.included, included);
        assert_eq!(found.ignore_file, None);
        let listed = b"local\0file:.git/config\0core.excludesfile\n.ignore\0";
        let found = of_repository(listed, Path::new("/p"), Path::new("/users/u"));
        assert_eq!(found.ignore_file.as_deref(), Some(Path::new("/p/.ignore")));
    }

    #[test]
    fn a_git_folder_says_where_its_files_are() {
        let config =
            "[user]\n\tworktree = no\n[core]\n\tbare = false\n\tworktree = ../../../lib\n[x]\n";
        let found = work_tree_in(config, Path::new("/p/.git/modules/lib"));
        assert_eq!(found.as_deref(), Some(Path::new("/p/lib")));
        assert_eq!(work_tree_in("[core]\n", Path::new("/p/.git")), None);
    }
}
