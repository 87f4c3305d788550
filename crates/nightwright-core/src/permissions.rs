//! What the agent may do without asking. Nobody is there to answer a question, so everything else
//! is denied.

pub mod command;
pub mod denial;
mod programs;
pub mod usual;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::settings::Agent;

/// So many commands are named in one sentence.
const NAMED_MAX: usize = 7;

/// What lets the agent commit its work.
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
    /// Everything.
    #[serde(alias = "bypassPermissions")]
    Bypass,
}

impl Permissions {
    /// Every value that the setting takes: the names of the levels, and the agent program's own
    /// words for two of them.
    pub const VALUES: &'static [&'static str] =
        &["usual", "edits", "bypass", "none", "acceptEdits", "bypassPermissions"];

    /// Its name in settings and events.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Edits => "edits",
            Self::Usual => "usual",
            Self::Bypass => "bypass",
        }
    }
}

/// The rules of the levels, as they are when a run starts. They hold until its end, whatever becomes
/// of the project.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct Rules {
    /// What `edits` allows besides editing files: what the mode asks for.
    pub edits: Vec<String>,
    /// What `usual` allows besides editing files.
    pub usual: Vec<String>,
}

/// The rules that the agent gets.
pub fn granted(agent: &Agent) -> Vec<String> {
    let of_level: &[String] = match agent.permissions {
        Permissions::None | Permissions::Bypass => &[],
        Permissions::Edits => &agent.rules.edits,
        Permissions::Usual => &agent.rules.usual,
    };
    let mut all = of_level.to_vec();
    let more = agent.allowed_tools.iter().filter(|rule| !of_level.contains(rule));
    all.extend(more.cloned());
    all
}

/// What the agent may do, in a sentence or two.
pub fn describe(agent: &Agent) -> String {
    match agent.permissions {
        Permissions::Bypass => {
            return "The agent may do everything without asking, and there is no sandbox."
                .to_owned();
        }
        Permissions::None if agent.allowed_tools.is_empty() => {
            return "The agent's own settings decide what it may do. Everything else is denied."
                .to_owned();
        }
        Permissions::None | Permissions::Edits | Permissions::Usual => {}
    }
    let mut named: Vec<&str> = Vec::new();
    let mut tools: Vec<&str> = Vec::new();
    for rule in &agent.allowed_tools {
        match command_of(rule) {
            Some(command) => named.push(command),
            None => tools.push(rule),
        }
    }
    let of_level: &[String] = match agent.permissions {
        Permissions::None | Permissions::Bypass => &[],
        Permissions::Edits => &agent.rules.edits,
        Permissions::Usual => &agent.rules.usual,
    };
    let mut more = false;
    for command in of_level.iter().filter_map(|rule| command_of(rule)) {
        if named.len() < NAMED_MAX || (command == "git commit" && !named.contains(&command)) {
            named.push(command);
        } else {
            more = true;
        }
    }
    let start = match agent.permissions {
        Permissions::None => "The agent may do what its own settings allow",
        Permissions::Edits | Permissions::Usual | Permissions::Bypass => "The agent may edit files",
    };
    let commands = match (named.is_empty(), more) {
        (true, _) => String::new(),
        (false, false) => format!(" and run: {}", named.join(", ")),
        (false, true) => format!(" and run: {}, ...", named.join(", ")),
    };
    let tools = if tools.is_empty() {
        String::new()
    } else {
        format!(" It may also use: {}.", tools.join(", "))
    };
    let stop = if more { "" } else { "." };
    format!("{start}{commands}{stop}{tools} Everything else is denied.")
}

/// The command that a rule is about, if it is about one.
fn command_of(rule: &str) -> Option<&str> {
    let command = rule.strip_prefix("Bash(")?.strip_suffix(')')?;
    Some(command.strip_suffix(":*").unwrap_or(command))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(permissions: Permissions, allowed: &[&str]) -> Agent {
        let own = ["npm test".to_owned(), "npm run lint".to_owned()];
        let rules = Rules {
            edits: COMMIT.map(str::to_owned).to_vec(),
            usual: usual::rules(&["npm".to_owned()], &own),
        };
        let allowed_tools = allowed.iter().map(|rule| (*rule).to_owned()).collect();
        Agent { permissions, rules, allowed_tools, ..Agent::default() }
    }

    #[test]
    fn the_start_of_a_run_says_what_the_agent_may_do() {
        let rows = [
            (
                Permissions::Usual,
                &[][..],
                "The agent may edit files and run: npm test, npm run lint, npm run, npm install, \
                 npm ci, npx, npm i, git commit, ... Everything else is denied.",
            ),
            (
                Permissions::Usual,
                &["Bash(docker compose:*)", "WebFetch"],
                "The agent may edit files and run: docker compose, npm test, npm run lint, npm run, \
                 npm install, npm ci, npx, git commit, ... It may also use: WebFetch. Everything \
                 else is denied.",
            ),
            (
                Permissions::Edits,
                &[],
                "The agent may edit files and run: git add, git commit. Everything else is denied.",
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
            assert_eq!(describe(&agent(level, allowed)), expected);
        }
        let bare = Agent { permissions: Permissions::Edits, ..Agent::default() };
        assert_eq!(describe(&bare), "The agent may edit files. Everything else is denied.");
    }

    #[test]
    fn what_is_allowed_by_name_adds_to_the_rules_of_the_level() {
        let allowed = ["WebFetch", "Bash(git add:*)"];
        let edits = granted(&agent(Permissions::Edits, &allowed));
        assert_eq!(edits, ["Bash(git add:*)", "Bash(git commit:*)", "WebFetch"]);
        let usual = granted(&agent(Permissions::Usual, &allowed));
        assert!(usual.iter().any(|rule| rule == "Bash(npm test:*)"));
        assert_eq!(usual.last().map(String::as_str), Some("WebFetch"));
        assert_eq!(granted(&agent(Permissions::None, &allowed)), allowed);
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
