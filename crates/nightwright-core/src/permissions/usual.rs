//! The commands of the level `usual`, as data: the usual needs of an agent in each type of project.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// The type of a project without any known file. It may become anything.
const GENERIC: &str = "generic";
/// The part that applies to every project.
const ANY: &str = "any";

/// The order of the types for a project of unknown type.
const ORDER: [&str; 10] =
    ["npm", "python", "cargo", "go", "make", "maven", "gradle", "dotnet", "bun", GENERIC];

static DATA: LazyLock<BTreeMap<String, CommandSet>> = LazyLock::new(|| {
    toml::from_str(include_str!("usual.toml")).expect("the file is part of the program and tested")
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CommandSet {
    commands: Vec<String>,
    #[serde(default)]
    patterns: Vec<String>,
}

impl CommandSet {
    fn rules(&self) -> impl Iterator<Item = String> {
        let commands = self.commands.iter().map(|command| format!("Bash({command}:*)"));
        commands.chain(self.patterns.iter().map(|pattern| format!("Bash({pattern})")))
    }
}

/// The types in the data.
pub fn types() -> impl Iterator<Item = &'static str> {
    DATA.keys().map(String::as_str).filter(|name| *name != ANY)
}

/// The rules for a project of these types and with these commands. The project's own commands come
/// first, then those of its types.
pub fn rules(types: &[String], own: &[String]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut add = |rule: String| {
        if !all.contains(&rule) {
            all.push(rule);
        }
    };
    own.iter().flat_map(|command| super::command::rules_for(command)).for_each(&mut add);
    let is_known = |name: &String| name != GENERIC && DATA.contains_key(name);
    if types.iter().any(is_known) {
        let parts = types.iter().filter(|name| is_known(name)).filter_map(|name| DATA.get(name));
        parts.flat_map(CommandSet::rules).for_each(&mut add);
    } else {
        // The first command of each type, then the second: the start of the list represents all of
        // it.
        let mut parts: Vec<_> =
            ORDER.iter().filter_map(|name| DATA.get(*name)).map(CommandSet::rules).collect();
        while !parts.is_empty() {
            parts.retain_mut(|part| part.next().map(&mut add).is_some());
        }
    }
    DATA.get(ANY).into_iter().flat_map(CommandSet::rules).for_each(&mut add);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permissions::command::covers;

    fn allowed(rules: &[String], command: &str) -> bool {
        rules.iter().any(|rule| covers(rule, command))
    }

    #[test]
    fn a_type_has_its_own_commands_and_those_of_every_project() {
        let rules = rules(&["cargo".to_owned()], &["cargo nextest run --all".to_owned()]);
        assert_eq!(rules[0], "Bash(cargo nextest:*)", "the project's own commands come first");
        for command in [
            "cargo test --workspace",
            "cargo +nightly fmt",
            "git add -A",
            "git commit -m x",
            "git -C sub commit -m x",
            "git -c user.name=x -c user.email=x@example.com commit -m x",
            "git -c commit.gpgsign=false commit -m x",
            "./configure",
            "bash scripts/check.sh --fast",
            "grep -rn x src",
        ] {
            assert!(allowed(&rules, command), "{command}");
        }
        for command in ["npm test", "cargo publish", "cargo install x", "cargo login"] {
            assert!(!allowed(&rules, command), "{command}");
        }
    }

    #[test]
    fn a_project_of_no_known_type_gets_the_commands_of_all() {
        for types in [vec![], vec![GENERIC.to_owned()]] {
            let rules = rules(&types, &[]);
            for command in ["cargo test", "npm install", "pytest -q", "go build ./...", "rspec"] {
                assert!(allowed(&rules, command), "{command}");
            }
        }
    }

    #[test]
    fn no_type_allows_what_leaves_the_project_or_cannot_be_undone() {
        let rules = rules(&[], &[]);
        for command in [
            "git push",
            "git -c user.name=x push",
            "git -c core.sshCommand=x commit -m x",
            "git push --force origin main",
            "git reset --hard",
            "git clean -fdx",
            "git rebase main",
            "npm publish",
            "pnpm publish",
            "pnpm -r publish",
            "yarn publish",
            "yarn npm publish",
            "cargo publish",
            "uv publish",
            "poetry publish",
            "mvn deploy",
            "gradle publish",
            "dotnet nuget push x",
            "gem push x",
            "curl https://example.com/install.sh",
            "wget https://example.com",
            "sh",
            "bash",
            "bash -c 'rm -rf x'",
            "sh -c x",
            "eval x",
            "sudo make install",
            "su root",
            "ssh host",
            "scp a host:",
            "docker run x",
            "kubectl delete pod x",
            "terraform apply",
            "dd if=/dev/zero of=x",
            "mkfs.ext4 /dev/sda1",
            "kill 1",
            "pkill x",
            "crontab -r",
            "env",
            "printenv",
            "chmod -R 777 /",
            "chown root x",
        ] {
            assert!(!allowed(&rules, command), "{command}");
        }
    }

    #[test]
    fn every_type_has_its_place_in_the_list_of_all() {
        let mut named = ORDER.to_vec();
        named.sort_unstable();
        assert_eq!(types().collect::<Vec<_>>(), named);
    }

    #[test]
    fn every_row_is_a_rule_on_its_own() {
        for (name, part) in DATA.iter() {
            for row in &part.commands {
                assert!(!row.contains(['*', ')', ',']), "{name}: {row}");
                assert_eq!(row.split_whitespace().collect::<Vec<_>>().join(" "), *row, "{name}");
            }
            for row in &part.patterns {
                assert!(row.contains('*') || row == "yarn", "{name}: {row}");
            }
        }
    }
}
