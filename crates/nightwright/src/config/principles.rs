//! Files of principles: which one applies to a run, mistakes in them, and files that the agent
//! writes.

use std::path::Path;

use nightwright_core::principles::{Mistake, MistakeHelp, Principles};
use nightwright_core::prompt::CollectedPrinciples;
use nightwright_core::settings::Settings;

use crate::config::nearest::nearest;
use crate::config::{self, ConfigError, ResolvedConfig, ValueOrigin};
use crate::error::Failure;
use crate::files;

/// The file of another tool, relative to the project.
pub const FOREIGN: &str = ".claude/principles.yaml";

/// The default file, relative to the project.
pub const USUAL: &str = ".nightwright/principles.toml";

/// The maximum size of a file of principles.
const MAX_FILE_BYTES: u64 = 64 << 10;

/// The maximum size of an invalid file that is backed up before the agent rewrites it.
const MAX_BACKUP_BYTES: u64 = 16 << 20;

/// The folder of nightwright in a project.
const NIGHTWRIGHT: &str = ".nightwright";

/// File names in that folder that have another purpose.
const RESERVED_NAMES: [&str; 3] = ["config.toml", "mode.toml", "task.toml"];

/// The principles of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunPrinciples {
    /// The principles, if any.
    pub principles: Option<Principles>,
    /// The file that the agent has to write, because no usable principles exist.
    pub to_write: Option<String>,
    /// A note for the user about that.
    pub note: Option<String>,
}

impl RunPrinciples {
    fn found(principles: Principles) -> Self {
        Self { principles: Some(principles), ..Self::default() }
    }
}

/// The principles of a run: from the file named for it, otherwise from the configured file.
pub fn chosen(
    project: &Path,
    named: Option<&Path>,
    resolved: &ResolvedConfig,
) -> Result<RunPrinciples, Failure> {
    if let Some(path) = named {
        return named_file("--principles-file", path).map(RunPrinciples::found);
    }
    let Some(file) = configured(resolved) else { return Ok(RunPrinciples::default()) };
    let origin = resolved.origin("principles.file");
    if resolved.get_bool("principles.collect") == Some(true) {
        return to_be_collected(project, file, origin);
    }
    match (inside(project, &file)?, origin) {
        (Some(principles), _) => Ok(RunPrinciples::found(principles)),
        // A user-wide default path does not mean that every project has principles.
        (None, ValueOrigin::BuiltIn | ValueOrigin::User(_)) => Ok(RunPrinciples::default()),
        (
            None,
            ValueOrigin::Mode(_)
            | ValueOrigin::Project(_)
            | ValueOrigin::Task(_)
            | ValueOrigin::Environment(_)
            | ValueOrigin::Flag(_),
        ) => Err(Failure::usage(format!("`principles.file` names `{file}`, which does not exist"))
            .hint(how_to_write(&file, origin))),
    }
}

/// Like `chosen`, but the agent writes a missing file and rewrites an invalid one.
fn to_be_collected(
    project: &Path,
    file: String,
    origin: &ValueOrigin,
) -> Result<RunPrinciples, Failure> {
    if is_yaml(Path::new(&file)) {
        return inside(project, &file)?.map(RunPrinciples::found).ok_or_else(|| {
            Failure::usage(format!(
                "cannot use `{file}` with `principles.collect`: the agent writes only TOML"
            ))
            .hint(name_toml(origin))
        });
    }
    if is_own(project, &file) {
        return Err(own(&file, origin));
    }
    match collected(project, &file) {
        Ok(Some(principles)) => Ok(RunPrinciples::found(principles)),
        Ok(None) => Ok(RunPrinciples { to_write: Some(file), ..RunPrinciples::default() }),
        Err(why) if can_be_overwritten(project, &file) => {
            let note = format!(
                "The principles file is invalid: {why}. nightwright asks the agent to fix it, and keeps \
                 a copy with the prompts."
            );
            Ok(RunPrinciples { principles: None, to_write: Some(file), note: Some(note) })
        }
        Err(_) => Ok(inside(project, &file)?.map(RunPrinciples::found).unwrap_or_default()),
    }
}

/// Whether the agent may overwrite the file: a regular file in the project that is meant to be
/// TOML.
fn can_be_overwritten(project: &Path, file: &str) -> bool {
    let path = Path::new(file);
    is_toml(path) && matches!(files::open_inside(project, path), Ok(Some(_)))
}

/// A hint how to create a missing file, depending on where it is configured.
pub fn how_to_write(file: &str, origin: &ValueOrigin) -> String {
    let write = match origin {
        ValueOrigin::BuiltIn => return "run `nightwright principles` to write it".to_owned(),
        ValueOrigin::User(_)
        | ValueOrigin::Project(_)
        | ValueOrigin::Environment(_)
        | ValueOrigin::Flag(_) => "run `nightwright principles` to write it".to_owned(),
        // The command does not know the task or the mode.
        ValueOrigin::Mode(_) | ValueOrigin::Task(_) => format!(
            "run `NIGHTWRIGHT_PRINCIPLES_FILE={} nightwright principles` to write it",
            shell_words::quote(file)
        ),
    };
    let write = if is_yaml(Path::new(file)) {
        "create the file, name one that ends in `.toml`".to_owned()
    } else {
        write
    };
    format!("{write}, or use the default file (now set by {origin}): {}", how_to_unset(origin))
}

/// A hint how to unset the file, depending on where it is configured.
pub fn how_to_unset(origin: &ValueOrigin) -> String {
    let unset = "nightwright config unset";
    match origin {
        ValueOrigin::User(_) => format!("{unset} --user principles.file"),
        ValueOrigin::Task(path) => {
            let task = path.parent().and_then(Path::file_name).unwrap_or_default();
            format!("{unset} --task {} principles.file", task.display())
        }
        ValueOrigin::Environment(name) | ValueOrigin::Flag(name) => format!("unset {name}"),
        ValueOrigin::Mode(name) => format!("remove `principles.file` from the mode `{name}`"),
        ValueOrigin::BuiltIn | ValueOrigin::Project(_) => format!("{unset} principles.file"),
    }
}

/// Whether the path is reserved: it is, or may become, one of nightwright's own files.
pub fn is_own(project: &Path, file: &str) -> bool {
    let path = project.join(file);
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    let beside = || Some(folder?.join(path.file_name()?));
    // Another path may lead to the same file.
    let target = path.canonicalize().ok().or_else(beside);
    let root = project.canonicalize().ok();
    let inside =
        target.as_deref().zip(root).and_then(|(target, root)| target.strip_prefix(root).ok());
    is_own_name(Path::new(file)) || inside.is_some_and(is_own_name)
}

/// Like `is_own`, by the path in the project alone.
pub fn is_own_name(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    path.starts_with(NIGHTWRIGHT) && (!is_toml(path) || RESERVED_NAMES.contains(&name.as_str()))
}

/// The error for a reserved path.
pub fn own(file: &str, origin: &ValueOrigin) -> Failure {
    Failure::usage(format!(
        "`principles.file` names `{file}`, where nightwright keeps its own files"
    ))
    .hint(name_toml(origin))
}

/// A hint to configure a file that nightwright can write.
pub fn name_toml(origin: &ValueOrigin) -> String {
    format!(
        "set `principles.file` to a file that ends in `.toml`, such as `{USUAL}` (now set by {origin})"
    )
}

/// The configured file, if any.
pub fn configured(resolved: &ResolvedConfig) -> Option<String> {
    resolved.get_optional("principles.file").flatten()
}

/// Reads a file named by an option; it may be anywhere.
pub fn named_file(option: &str, path: &Path) -> Result<Principles, Failure> {
    match config::read_anywhere(path)? {
        Some(text) => Ok(parse(path, &text)?),
        None => Err(Failure::usage(format!("{option} `{}` does not exist", path.display()))),
    }
}

/// Reads a file of the project; `None` if it does not exist.
pub fn inside(project: &Path, file: &str) -> Result<Option<Principles>, Failure> {
    let path = Path::new(file);
    match config::read_inside(project, path, MAX_FILE_BYTES)? {
        Some(text) => Ok(Some(parse(path, &text)?)),
        None => Ok(None),
    }
}

/// The file that the agent has to write, as long as the run has no principles.
pub fn to_collect(settings: &Settings) -> Option<&str> {
    settings.files.principles.as_deref().filter(|_| settings.principles.is_none())
}

/// The state of the file that the agent has to write.
pub fn found(project: &Path, settings: &Settings) -> CollectedPrinciples {
    match to_collect(settings).map(|file| collected(project, file)) {
        None | Some(Ok(None)) => CollectedPrinciples::Missing,
        Some(Ok(Some(_))) => CollectedPrinciples::Written,
        Some(Err(why)) => CollectedPrinciples::Unusable(why),
    }
}

/// The raw content of that file; `None` if it cannot be read.
pub fn read_raw(project: &Path, settings: &Settings) -> Option<Vec<u8>> {
    let file = to_collect(settings)?;
    files::read_inside(project, Path::new(file), MAX_BACKUP_BYTES).ok().flatten()
}

/// Reads the file that the agent has to write; `None` if it does not exist. The error is a single
/// line.
pub fn collected(project: &Path, file: &str) -> Result<Option<Principles>, String> {
    let bytes = files::read_inside(project, Path::new(file), MAX_FILE_BYTES)
        .map_err(|error| Failure::because(&error).message)?;
    let Some(bytes) = bytes else { return Ok(None) };
    let text = String::from_utf8(bytes).map_err(|_| format!("`{file}` is not UTF-8 text"))?;
    let text = without_mark(&text);
    let found = Principles::parse_toml(text);
    found.map(Some).map_err(|mistakes| in_a_line(file, text, &mistakes))
}

/// Parses the text of a file, in the format of its extension.
pub fn parse(path: &Path, text: &str) -> Result<Principles, ConfigError> {
    let text = without_mark(text);
    let found =
        if is_yaml(path) { Principles::parse_yaml(text) } else { Principles::parse_toml(text) };
    found.map_err(|mistakes| {
        let shown = mistakes.into_iter().map(|mistake| config::ConfigMistake {
            hint: hint(&mistake),
            span: mistake.span,
            message: mistake.message,
            label: mistake.label,
        });
        ConfigError::new(path, text, shown.collect())
    })
}

/// Whether a file has the YAML format, by its extension.
pub fn is_yaml(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default();
    extension.eq_ignore_ascii_case("yaml") || extension.eq_ignore_ascii_case("yml")
}

fn is_toml(path: &Path) -> bool {
    path.extension().unwrap_or_default().eq_ignore_ascii_case("toml")
}

/// The mistakes of a file in one line: the first one, and the number of others.
pub fn in_a_line(file: &str, text: &str, mistakes: &[Mistake]) -> String {
    let Some(first) = mistakes.first() else { return format!("`{file}` is invalid") };
    let hint = hint(first).map(|hint| format!("; {hint}")).unwrap_or_default();
    let others = match mistakes.len() - 1 {
        0 => String::new(),
        others => format!(" (and {others} more)"),
    };
    format!("`{file}`, line {}: {}{hint}{others}", first.line(text), first.message)
}

fn hint(mistake: &Mistake) -> Option<String> {
    match &mistake.help {
        MistakeHelp::None => None,
        MistakeHelp::Say(advice) => Some(advice.clone()),
        MistakeHelp::Nearest { word, among } => Some(match nearest(word, among.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("choose one of {}", among.join(", ")),
        }),
    }
}

fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use insta::assert_snapshot;

    use super::*;

    fn wrong(name: &str, text: &str) -> String {
        parse(Path::new(name), text).unwrap_err().to_string()
    }

    #[test]
    fn a_mistake_is_shown_at_its_place_with_the_nearest_name() {
        let text =
            "\u{feff}preset = \"startup\"\n\n[product]\nauditabilty = 3\nux_philosophy = 11\n";
        assert_snapshot!(wrong(".nightwright/principles.toml", text), @r"
        unknown principle `product.auditabilty`
         --> .nightwright/principles.toml:4:1
          |
        4 | auditabilty = 3
          | ^^^^^^^^^^^ unknown
          |
          = hint: did you mean `auditability`?

        error: `product.ux_philosophy` must be a whole number from 1 to 10
         --> .nightwright/principles.toml:5:17
          |
        5 | ux_philosophy = 11
          |                 ^^ this is not allowed
          |
          = hint: 1 is power users, 10 is simple first
        ");
        let text = "preset: opensorce\nlayer0:\n  blast_radius: 3\n";
        assert_snapshot!(wrong("p.yml", text), @r"
        `preset` must be one of `startup`, `enterprise`, `opensource`, `custom`
         --> p.yml:1:9
          |
        1 | preset: opensorce
          |         ^^^^^^^^^ this is none of them
          |
          = hint: did you mean `opensource`?

        error: `blast_radius` does not belong to `layer0`
         --> p.yml:3:3
          |
        3 |   blast_radius: 3
          |   ^^^^^^^^^^^^ in the wrong table
          |
          = hint: move it below `layer1:`
        ");
    }

    #[test]
    fn the_name_says_the_form() {
        for (name, yaml) in [("a.yaml", true), ("a.YML", true), ("a.toml", false), ("yaml", false)]
        {
            assert_eq!(is_yaml(Path::new(name)), yaml, "{name}");
        }
    }

    #[test]
    fn a_collected_file_that_is_broken_is_described_in_a_line() {
        let project = tempfile::tempdir().unwrap();
        let put = |bytes: &[u8]| fs::write(project.path().join("p.toml"), bytes).unwrap();
        let collected = || collected(project.path(), "p.toml");
        assert_eq!(collected(), Ok(None));
        put(b"preset = \"startup\"");
        assert!(collected().unwrap().is_some());
        put(b"[product]\nauditability = 0\nx = 1\n");
        assert_snapshot!(collected().unwrap_err(), @"`p.toml`, line 2: `product.auditability` must be a whole number from 1 to 10; 1 is minimal logging, 10 is full audit trail (and 1 more)");
        put(b"\xff");
        assert_snapshot!(collected().unwrap_err(), @"`p.toml` is not UTF-8 text");
        put(&vec![b'#'; 70_000]);
        assert!(collected().unwrap_err().contains("is larger than 65536 bytes"));
    }

    #[test]
    fn a_collected_file_that_leads_out_of_the_project_is_not_read() {
        let project = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let target = elsewhere.path().join("p.toml");
        fs::write(&target, "preset = \"startup\"").unwrap();
        std::os::unix::fs::symlink(&target, project.path().join("p.toml")).unwrap();
        let why = collected(project.path(), "p.toml").unwrap_err();
        assert!(why.contains("outside the project"), "{why}");
    }
}
