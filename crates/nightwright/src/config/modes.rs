//! Modes on disk: files of the project override those built into the program, one by one.

use std::fs;
use std::path::{Path, PathBuf};

use nightwright_core::display::one_line;
use nightwright_core::mode::{EMBEDDED, EmbeddedMode, ModeDefinition};
use nightwright_core::settings::EvidenceKind;

use crate::config::ConfigLayer;
use crate::config::nearest::known_names;
use crate::error::Failure;
use crate::files;
use crate::name::TaskName;

/// The folder in which a project keeps its own modes and overrides of built-in ones.
pub const FOLDER: &str = ".nightwright/modes";

/// The default mode of tasks.
pub const OF_TASKS: &str = "loop";
/// The default mode of goals without a task.
pub const OF_GOALS: &str = "prompt";

/// The maximum size of a mode's text file.
const MAX_PROMPT_BYTES: u64 = 1 << 20;

/// A mode with all its strings and defaults.
#[derive(Clone, Debug)]
pub struct Mode {
    pub name: String,
    pub definition: ModeDefinition,
    /// The defaults of the mode, which other layers may override.
    pub defaults: ConfigLayer,
    /// The content of `system.md`.
    pub system: String,
    /// The content of `prompt.md`.
    pub prompt: String,
    /// The files that come from the project.
    pub own: Vec<PathBuf>,
}

/// A text file of a mode, and whether it comes from the project.
struct ModeText {
    text: String,
    own: Option<PathBuf>,
}

/// Loads a mode with the overrides of the project.
pub fn load(project: &Path, name: &str) -> Result<Mode, Failure> {
    check(project, name)?;
    let need = |file: &str| {
        text(project, name, file)?.ok_or_else(|| {
            let path = own_file(name, file);
            Failure::usage(format!("the mode `{name}` has no `{file}`"))
                .hint(format!("write `{}`", path.display()))
        })
    };
    let definition = need("mode.toml")?;
    let (system, prompt) = (text(project, name, "system.md")?, need("prompt.md")?);
    let own = [&definition.own, &prompt.own, &system.as_ref().and_then(|text| text.own.clone())]
        .into_iter()
        .flatten()
        .cloned()
        .collect();
    let file = own_file(name, "mode.toml");
    let (parsed, defaults) = ConfigLayer::parse_mode(name, &file, &definition.text)?;
    let system = system.map(|text| text.text).unwrap_or_default();
    Ok(Mode {
        name: name.to_owned(),
        definition: parsed,
        defaults,
        system,
        prompt: prompt.text,
        own,
    })
}

impl Mode {
    /// Whether the project turns it into a mode that writes a plan, in which no configured check
    /// runs.
    pub fn is_planning_of_project(&self) -> bool {
        let plans =
            |definition: &ModeDefinition| definition.evidence.contains(&EvidenceKind::Planned);
        let file = own_file(&self.name, "mode.toml");
        let built_in = EMBEDDED.iter().find(|mode| mode.name == self.name);
        let built_in = built_in.and_then(|mode| {
            ConfigLayer::parse_mode(mode.name, Path::new(mode.name), mode.definition).ok()
        });
        plans(&self.definition)
            && self.own.contains(&file)
            && !built_in.is_some_and(|(definition, _)| plans(&definition))
    }
}

/// Reads another text of a mode, such as `setup.md`; `None` if there is none.
pub fn other_text(project: &Path, name: &str, file: &str) -> Result<Option<String>, Failure> {
    Ok(text(project, name, file)?.map(|text| text.text))
}

/// The names of all modes: first the built-in ones, then those of the project.
pub fn known(project: &Path) -> Vec<String> {
    let mut names: Vec<String> = EMBEDDED.iter().map(|mode| mode.name.to_owned()).collect();
    // A folder that cannot be read contains no usable modes.
    let entries = fs::read_dir(project.join(FOLDER)).into_iter().flatten().flatten();
    let mut own: Vec<String> = entries
        .filter(|entry| entry.path().is_dir())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| TaskName::of("mode", name).is_ok() && !names.contains(name))
        .collect();
    own.sort();
    names.extend(own);
    names
}

/// Fails if the mode does not exist.
pub fn check(project: &Path, name: &str) -> Result<(), Failure> {
    let known = known(project);
    if known.iter().any(|known| known == name) {
        return Ok(());
    }
    let names: Vec<_> = known.iter().map(String::as_str).collect();
    let shown = one_line(name, 80);
    Err(Failure::usage(format!("unknown mode `{shown}`")).hint(known_names(name, &names)))
}

/// The path of a project's override of a mode's file.
pub fn own_file(name: &str, file: &str) -> PathBuf {
    Path::new(FOLDER).join(name).join(file)
}

fn text(project: &Path, name: &str, file: &str) -> Result<Option<ModeText>, Failure> {
    let path = own_file(name, file);
    let own = files::read_inside(project, &path, MAX_PROMPT_BYTES)
        .map_err(|error| Failure::because(&error))?;
    if let Some(bytes) = own {
        let text = String::from_utf8(bytes)
            .map_err(|_| Failure::usage(format!("`{}` is not UTF-8 text", path.display())))?;
        return Ok(Some(ModeText { text, own: Some(path) }));
    }
    let ours = EMBEDDED.iter().find(|mode| mode.name == name);
    let text = ours.and_then(|mode| embedded(mode, file)).map(str::to_owned);
    Ok(text.map(|text| ModeText { text, own: None }))
}

fn embedded(mode: &EmbeddedMode, file: &str) -> Option<&'static str> {
    match file {
        "mode.toml" => Some(mode.definition),
        "system.md" => Some(mode.system),
        "prompt.md" => Some(mode.prompt),
        "setup.md" => mode.setup,
        "edit.md" => mode.edit,
        "validate.md" => mode.validate,
        _ => None,
    }
}
