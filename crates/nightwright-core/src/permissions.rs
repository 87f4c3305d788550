//! Permissions: what the agent may do without asking. A run cannot answer permission requests, so
//! everything else is denied.

pub mod command;
pub mod denial;
mod programs;
pub mod rule;
pub mod usual;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::phrases;
use crate::sandbox::network::{self, NetworkWay};
use crate::settings::{AgentSettings, SandboxKind, Settings};

/// The number of commands named in one sentence.
const MAX_NAMED: usize = 7;

/// The rules that let the agent commit its work.
pub const COMMIT: [&str; 2] = ["Bash(git add:*)", "Bash(git commit:*)"];

/// How much the agent may do without asking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Permissions {
    /// No permission flag: the agent program's own settings decide.
    None,
    /// Edit files, and use the tools of `agent.allowed_tools`.
    #[serde(alias = "acceptEdits")]
    Edits,
    /// Edit files, run the commands that this type of project usually needs, and use the tools of
    /// `agent.allowed_tools`.
    #[default]
    Usual,
    /// Everything is allowed without asking.
    #[serde(alias = "bypassPermissions")]
    Bypass,
}

impl Permissions {
    /// Every value of the setting: the names of the levels, and the agent program's own names for
    /// two of them.
    pub const VALUES: &'static [&'static str] =
        &["usual", "edits", "bypass", "none", "acceptEdits", "bypassPermissions"];

    /// The name in settings and events.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Edits => "edits",
            Self::Usual => "usual",
            Self::Bypass => "bypass",
        }
    }
}

/// The rules of each level, as determined at the start of a run. They stay the same until its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct PermissionRules {
    /// The rules of `edits` besides editing files: those that the mode requires.
    pub edits: Vec<String>,
    /// The rules of `usual` besides editing files.
    pub usual: Vec<String>,
}

impl AgentSettings {
    /// Allows and forbids more tools, for the options of the command line. A tool that is named
    /// again moves to the other list.
    pub fn add_tools(&mut self, allowed: &[String], disallowed: &[String]) {
        let add = |tools: &mut Vec<String>, more: &[String], not: &[String]| {
            // The configuration may name a tool twice.
            for tool in std::mem::take(tools).iter().chain(more) {
                if !tools.contains(tool) {
                    tools.push(tool.clone());
                }
            }
            tools.retain(|tool| !not.contains(tool));
        };
        add(&mut self.allowed_tools, allowed, disallowed);
        add(&mut self.disallowed_tools, disallowed, allowed);
    }
}

/// All rules that the agent gets.
pub fn granted(settings: &Settings) -> Vec<String> {
    let agent = &settings.agent;
    let mut all = Vec::new();
    for rule in of_level(settings).into_iter().chain(agent.allowed_tools.iter().cloned()) {
        if !all.contains(&rule) {
            all.push(rule);
        }
    }
    all
}

/// The first line of a run in a sandbox. Without a way, the sandbox uses the network of the host.
pub fn describe_sandbox(settings: &Settings, way: Option<NetworkWay>) -> Option<String> {
    let kind = settings.sandbox.kind;
    let is_free = settings.agent.permissions == Permissions::Bypass;
    let may = match kind {
        SandboxKind::Off => return None,
        SandboxKind::External if is_free => "The agent may do anything on this machine.".to_owned(),
        SandboxKind::External => "nightwright does not add a sandbox.".to_owned(),
        SandboxKind::Bwrap => {
            let network = network::describe(&settings.sandbox.network, way);
            let may = if is_free {
                "The agent may do anything inside this project"
            } else {
                "The agent can change only this project"
            };
            format!("{may}; {network}.")
        }
    };
    let outside = outside(settings).map(|text| format!(" {text}")).unwrap_or_default();
    Some(format!("Sandbox: {}. {may}{outside}", kind.name()))
}

/// The checks that run outside the sandbox, as a sentence.
fn outside(settings: &Settings) -> Option<String> {
    let outside = settings.checks_outside();
    match outside.as_slice() {
        [] => None,
        [one] => Some(format!("The check `{one}` runs outside.")),
        several => Some(format!("These checks run outside: {}.", phrases::commands(several))),
    }
}

/// The rules of the level alone.
fn of_level(settings: &Settings) -> Vec<String> {
    let Settings { agent, verify, .. } = settings;
    match agent.permissions {
        Permissions::None | Permissions::Bypass => Vec::new(),
        Permissions::Edits => agent.rules.edits.clone(),
        Permissions::Usual => {
            // The checks can change when a run is resumed, and the agent has to run them too.
            let checks = verify.commands.iter().flat_map(|check| command::rules_for(check));
            let changed = checks.filter(|rule| !agent.rules.usual.contains(rule));
            changed.chain(agent.rules.usual.iter().cloned()).collect()
        }
    }
}

/// A short description of what the agent may do.
pub fn describe(settings: &Settings) -> String {
    let agent = &settings.agent;
    let mut text = match agent.permissions {
        Permissions::Bypass if settings.sandbox.kind.is_made_here() => {
            "The agent may do anything inside this project.".to_owned()
        }
        Permissions::Bypass if settings.sandbox.kind.is_on() => {
            "The agent may do anything on this machine.".to_owned()
        }
        Permissions::Bypass => {
            "The agent may do everything without asking, and there is no sandbox.".to_owned()
        }
        Permissions::None if agent.allowed_tools.is_empty() => {
            "The agent's own settings decide what it may do.".to_owned()
        }
        Permissions::None | Permissions::Edits | Permissions::Usual => may_do(settings),
    };
    if !agent.disallowed_tools.is_empty() {
        text = format!("{text} It may not use: {}.", agent.disallowed_tools.join(", "));
    }
    match agent.permissions {
        Permissions::Bypass => text,
        Permissions::None => format!("{text} Everything else is denied."),
        Permissions::Edits | Permissions::Usual => {
            let own = if agent.sources == ["project"] { "the project's" } else { "your own" };
            format!("{text} Everything else is denied unless {own} agent settings allow it.")
        }
    }
}

/// Describes the rules, with the first commands of the level.
fn may_do(settings: &Settings) -> String {
    let agent = &settings.agent;
    let is_forbidden = |rule: &str| {
        let command = command_of(rule);
        agent.disallowed_tools.iter().any(|tool| {
            tool == rule || command.is_some_and(|command| command::covers(tool, command))
        })
    };
    let mut named: Vec<&str> = Vec::new();
    let mut tools: Vec<&str> = Vec::new();
    for rule in agent.allowed_tools.iter().filter(|rule| !is_forbidden(rule)) {
        let (list, name) = match command_of(rule) {
            Some(command) => (&mut named, command),
            None => (&mut tools, rule.as_str()),
        };
        if !list.contains(&name) {
            list.push(name);
        }
    }
    let of_level = of_level(settings);
    let mut more = false;
    for command in of_level.iter().filter(|rule| !is_forbidden(rule)).filter_map(|r| command_of(r))
    {
        if named.contains(&command) {
            continue;
        }
        if named.len() < MAX_NAMED || command == "git commit" {
            named.push(command);
        } else {
            more = true;
        }
    }
    let edits = ["Edit", "Write"].iter().any(|tool| !is_forbidden(tool));
    let start = match agent.permissions {
        Permissions::None => "The agent may do what its own settings allow",
        _ if edits => "The agent may edit files",
        _ => "The agent may read files",
    };
    let every = tools.iter().position(|tool| *tool == "Bash").map(|at| tools.remove(at));
    let commands = match (named.is_empty(), more) {
        _ if every.is_some() => " and run any command.".to_owned(),
        (true, _) => ".".to_owned(),
        (false, false) => format!(" and run: {}.", named.join(", ")),
        (false, true) => format!(" and run: {}, ...", named.join(", ")),
    };
    let tools = if tools.is_empty() {
        String::new()
    } else {
        format!(" It may also use: {}.", tools.join(", "))
    };
    format!("{start}{commands}{tools}")
}

/// The command that a rule is about, if it is about one.
fn command_of(rule: &str) -> Option<&str> {
    let command = rule.strip_prefix("Bash(")?.strip_suffix(')')?;
    Some(command.strip_suffix(":*").unwrap_or(command))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn settings(permissions: Permissions, allowed: &[&str], disallowed: &[&str]) -> Settings {
        let rules = PermissionRules {
            edits: strings(&COMMIT),
            usual: usual::rules(&strings(&["npm"]), &strings(&["npm test", "npm run lint"])),
        };
        let allowed_tools = strings(allowed);
        let disallowed_tools = strings(disallowed);
        let agent = AgentSettings {
            permissions,
            rules,
            allowed_tools,
            disallowed_tools,
            ..AgentSettings::default()
        };
        Settings { agent, ..Settings::default() }
    }

    #[test]
    fn the_start_of_a_run_says_what_the_agent_may_do() {
        let rows = [
            (
                Permissions::Usual,
                &[][..],
                "The agent may edit files and run: npm test, npm run lint, npm run, npm install, \
                 npm ci, npx, npm i, git commit, ... Everything else is denied unless your own \
                 agent settings allow it.",
            ),
            (
                Permissions::Usual,
                &["Bash(docker compose:*)", "WebFetch"],
                "The agent may edit files and run: docker compose, npm test, npm run lint, npm run, \
                 npm install, npm ci, npx, git commit, ... It may also use: WebFetch. Everything \
                 else is denied unless your own agent settings allow it.",
            ),
            (
                Permissions::Edits,
                &[],
                "The agent may edit files and run: git add, git commit. Everything else is denied \
                 unless your own agent settings allow it.",
            ),
            (
                Permissions::Edits,
                &["Bash"],
                "The agent may edit files and run any command. Everything else is denied unless \
                 your own agent settings allow it.",
            ),
            (
                Permissions::None,
                &[],
                "The agent's own settings decide what it may do. Everything else is denied.",
            ),
            (
                Permissions::None,
                &["Bash(make:*)"],
                "The agent may do what its own settings allow and run: make. Everything else is \
                 denied.",
            ),
            (
                Permissions::Bypass,
                &["Bash(make:*)"],
                "The agent may do everything without asking, and there is no sandbox.",
            ),
        ];
        for (level, allowed, expected) in rows {
            assert_eq!(describe(&settings(level, allowed, &[])), expected);
        }
        let mut bare = Settings::default();
        bare.agent.permissions = Permissions::Edits;
        bare.agent.sources = strings(&["project"]);
        assert_eq!(
            describe(&bare),
            "The agent may edit files. Everything else is denied unless the project's agent \
             settings allow it."
        );
    }

    #[test]
    fn the_start_of_a_run_says_which_sandbox_it_has_and_which_checks_run_outside() {
        let line = |kind, permissions, outside: &[&str]| {
            let mut settings = settings(permissions, &[], &[]);
            settings.sandbox.kind = kind;
            settings.verify.commands = strings(&["make", "make e2e", "make db"]);
            settings.verify.outside = strings(outside);
            describe_sandbox(&settings, None)
        };
        let bwrap = "Sandbox: bwrap. The agent may do anything inside this project; the network \
                     is not restricted.";
        let (bypass, usual) = (Permissions::Bypass, Permissions::Usual);
        assert_eq!(line(SandboxKind::Off, bypass, &["make e2e"]), None);
        assert_eq!(line(SandboxKind::Bwrap, bypass, &[]).as_deref(), Some(bwrap));
        assert_eq!(
            line(SandboxKind::Bwrap, bypass, &["make e2e"]),
            Some(format!("{bwrap} The check `make e2e` runs outside."))
        );
        assert_eq!(
            line(SandboxKind::Bwrap, bypass, &["make db", "make e2e", "gone"]),
            Some(format!("{bwrap} These checks run outside: `make e2e`, `make db`."))
        );
        // Everything runs on the same machine.
        assert_eq!(
            line(SandboxKind::External, bypass, &["make e2e"]).as_deref(),
            Some("Sandbox: external. The agent may do anything on this machine.")
        );
        assert_eq!(
            line(SandboxKind::External, usual, &[]).as_deref(),
            Some("Sandbox: external. nightwright does not add a sandbox.")
        );
    }

    #[test]
    fn the_start_of_a_run_names_a_command_once_and_none_that_is_forbidden() {
        let allowed = ["Bash(npm test)", "Bash(npm test:*)", "WebFetch", "WebFetch"];
        let disallowed = ["Bash(npm run:*)", "Bash(git commit:*)", "WebFetch"];
        assert_eq!(
            describe(&settings(Permissions::Usual, &allowed, &disallowed)),
            "The agent may edit files and run: npm test, npm install, npm ci, npx, npm i, npm t, \
             npm run-script, ... It may not use: Bash(npm run:*), Bash(git commit:*), WebFetch. \
             Everything else is denied unless your own agent settings allow it."
        );
        let nothing = settings(Permissions::Usual, &[], &["Bash", "Edit", "Write"]);
        assert!(describe(&nothing).starts_with("The agent may read files. It may not use: Bash,"));
        let bypass = describe(&settings(Permissions::Bypass, &[], &["WebFetch"]));
        assert!(bypass.ends_with("there is no sandbox. It may not use: WebFetch."), "{bypass}");
    }

    #[test]
    fn allowed_tools_add_to_the_rules_of_the_level() {
        let allowed = ["WebFetch", "Bash(git add:*)"];
        let edits = granted(&settings(Permissions::Edits, &allowed, &[]));
        assert_eq!(edits, ["Bash(git add:*)", "Bash(git commit:*)", "WebFetch"]);
        let usual = granted(&settings(Permissions::Usual, &allowed, &[]));
        assert!(usual.iter().any(|rule| rule == "Bash(npm test:*)"));
        assert_eq!(usual.last().map(String::as_str), Some("WebFetch"));
        assert_eq!(granted(&settings(Permissions::None, &allowed, &[])), allowed);
    }

    #[test]
    fn the_agent_may_run_the_checks_as_they_are_now() {
        for (level, expected) in [(Permissions::Usual, true), (Permissions::Edits, false)] {
            let mut settings = settings(level, &[], &[]);
            settings.verify.commands = strings(&["npm test && deno task check"]);
            let rules = granted(&settings);
            assert_eq!(rules.contains(&"Bash(deno task:*)".to_owned()), expected, "{rules:?}");
            let tests = rules.iter().filter(|rule| *rule == "Bash(npm test:*)").count();
            assert_eq!(tests, usize::from(expected), "{rules:?}");
        }
    }

    #[test]
    fn a_tool_that_is_named_again_moves_to_the_other_list() {
        let mut agent = AgentSettings {
            allowed_tools: strings(&["A", "B"]),
            disallowed_tools: strings(&["C"]),
            ..AgentSettings::default()
        };
        agent.add_tools(&strings(&["A", "C"]), &strings(&["B", "D"]));
        assert_eq!(agent.allowed_tools, ["A", "C"]);
        assert_eq!(agent.disallowed_tools, ["B", "D"]);
    }

    #[test]
    fn every_value_is_a_level_and_every_level_has_its_name() {
        for value in Permissions::VALUES {
            let read: Permissions =
                serde_json::from_value(serde_json::Value::from(*value)).expect("a known value");
            let name = match *value {
                "acceptEdits" => "edits",
                "bypassPermissions" => "bypass",
                name => name,
            };
            assert_eq!(
                (read.name(), serde_json::to_value(read).unwrap().as_str()),
                (name, Some(name))
            );
        }
        assert_eq!(Permissions::default().name(), "usual");
    }
}
