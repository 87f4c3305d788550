//! Programs whose next word is a subcommand, and their options that take a value.

/// A program and its options that take the next word as their value. Other options are switches,
/// unless the next word cannot be the name of a subcommand.
type Program = (&'static str, &'static [&'static str]);

const PROGRAMS: &[Program] = &[
    ("apt", &["-o", "-c", "-t", "--option", "--config-file", "--target-release"]),
    ("apt-get", &["-o", "-c", "-t", "--option", "--config-file", "--target-release"]),
    ("brew", &[]),
    ("bun", &["--cwd", "--filter", "-F", "--config", "-c", "--env-file", "--preload", "-r"]),
    ("bundle", &["--gemfile"]),
    ("cargo", &["-C", "-Z", "--config", "--manifest-path", "--color", "--target-dir"]),
    ("composer", &["-d", "--working-dir"]),
    ("deno", &["-c", "--config", "-L", "--log-level", "--import-map"]),
    ("docker", CONTAINERS),
    ("dotnet", &["--roll-forward", "--fx-version", "--additionalprobingpath"]),
    ("gem", &["--config-file"]),
    ("gh", &["-R", "--repo", "--hostname"]),
    ("git", &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env"]),
    ("go", &["-C"]),
    ("gradle", &["-p", "-b", "-c", "-I", "-g", "-x", "--project-dir", "--build-file", "--console"]),
    ("helm", &["-n", "--namespace", "--kube-context", "--kubeconfig"]),
    ("kubectl", &["-n", "--namespace", "--context", "--kubeconfig", "--cluster", "-s", "--user"]),
    ("make", &["-C", "-f", "-I", "-o", "-W", "--directory", "--file", "--makefile"]),
    ("mix", &[]),
    ("mvn", &["-f", "-pl", "-P", "-s", "-gs", "-rf", "-T", "--file", "--projects", "--settings"]),
    ("npm", NPM),
    ("nx", &["-p", "--project", "-c", "--configuration"]),
    ("pdm", &["-p", "-c", "--project", "--config"]),
    ("pip", PIP),
    ("pip3", PIP),
    ("pipenv", &["--python"]),
    ("pnpm", &["-C", "-F", "--dir", "--filter", "--filter-prod", "--prefix", "--loglevel"]),
    ("podman", CONTAINERS),
    ("poetry", &["-C", "-P", "--directory", "--project"]),
    ("rustup", &[]),
    ("systemctl", &["-H", "-M", "-t", "-p", "--host", "--machine", "--type", "--property"]),
    ("terraform", &[]),
    ("turbo", &["-F", "--filter", "--cwd", "--cache-dir"]),
    ("uv", UV),
    ("yarn", &["--cwd", "--use-yarnrc", "--registry"]),
];

/// The options of container programs, including those of `compose`.
const CONTAINERS: &[&str] = &[
    "-H",
    "-c",
    "-l",
    "--host",
    "--context",
    "--config",
    "--log-level",
    "-f",
    "--file",
    "-p",
    "--project-name",
    "--profile",
    "--env-file",
    "--project-directory",
];
const NPM: &[&str] = &[
    "-C",
    "-w",
    "--prefix",
    "--workspace",
    "--registry",
    "--loglevel",
    "--cache",
    "--userconfig",
    "--script-shell",
];
const PIP: &[&str] = &["--python", "--proxy", "--log", "--cache-dir", "--timeout", "--cert"];
const UV: &[&str] = &[
    "-p",
    "--python",
    "--project",
    "--directory",
    "--config-file",
    "--cache-dir",
    "--color",
    "--with",
    "--group",
    "--extra",
    "--package",
];

/// The options of a program that take a value, if its next word is a subcommand.
pub(super) fn options_with_value(program: &str) -> Option<&'static [&'static str]> {
    PROGRAMS.iter().find(|(name, _)| *name == program).map(|(_, options)| *options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_program_is_named_once_and_each_option_is_one() {
        for (index, (name, options)) in PROGRAMS.iter().enumerate() {
            assert!(PROGRAMS[..index].iter().all(|(other, _)| other < name), "{name}");
            assert!(options.iter().all(|option| option.starts_with('-')), "{name}");
        }
    }
}
