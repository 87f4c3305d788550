//! Examples of every command, for its help and its manual page. A test parses all of them.

/// A command line, and a description of it.
pub(crate) type Example = (&'static str, &'static str);

/// The examples of every command, by its path; the first ones belong to the program itself.
#[rustfmt::skip]
pub(crate) const EXAMPLES: &[(&str, &[Example])] = &[
    ("", &[
        ("nightwright demo", "Watch a complete run in 10 seconds, without an account"),
        ("nightwright init", "Set up the project in the current folder"),
        ("nightwright run \"make the tests pass\" -m 10", "Work on a goal for up to 10 iterations"),
        ("nightwright new migrate-api && nightwright task setup migrate-api && nightwright run migrate-api", "Create a task, write its instructions and work on it"),
    ]),
    ("init", &[
        ("nightwright init", "Detect the type and the commands of the project, and ask about the rest"),
        ("nightwright init --yes", "Use the detected settings without asking"),
        ("nightwright init -C ../shop --no-import", "Set up another folder, without importing files of other tools"),
    ]),
    ("run", &[
        ("nightwright run \"make the tests pass\" -m 10", "Work on a goal for up to 10 iterations"),
        ("nightwright run migrate-api --max-cost 5 --max-duration 8h", "Work overnight for up to $5"),
        ("nightwright run --all --max-cost 20", "Work on all tasks, one after another, under one budget"),
        ("nightwright run -p \"fix the lint\" -m 3 --verify \"make lint\"", "Stop when `make lint` passes"),
    ]),
    ("status", &[
        ("nightwright status", "Show the active run, otherwise the last one"),
        ("nightwright status migrate-api --json", "Show a task's run as JSON"),
        ("nightwright status --all", "List all runs of the project"),
    ]),
    ("log", &[
        ("nightwright log", "Print the log of the active run, otherwise of the last one"),
        ("nightwright log migrate-api -f", "Follow a task's run until it ends"),
        ("nightwright log 20261115-233412 --raw", "Print the raw output of the agent"),
    ]),
    ("stop", &[
        ("nightwright stop", "Stop after the current iteration"),
        ("nightwright stop --now", "Stop now"),
        ("nightwright stop migrate-api --cancel", "Cancel a requested stop"),
    ]),
    ("resume", &[
        ("nightwright resume", "Resume this project's last run"),
        ("nightwright resume migrate-api -m 80", "Resume with a higher limit"),
        ("nightwright resume migrate-api --allowed-tools \"Bash(npm install:*)\"", "Resume, and \
                                                                                    allow a denied \
                                                                                    command"),
        ("nightwright resume 20261115-233412 --again", "Resume a completed run"),
    ]),
    ("report", &[
        ("nightwright report", "Print the last run as Markdown, for a pull request or an email"),
        ("nightwright report migrate-api -o report.html", "Write a task's run to an HTML page"),
        ("nightwright report 20261115-233412 --json", "Print all data of a run as JSON"),
    ]),
    ("doctor", &[
        ("nightwright doctor", "Check whether a run can start here"),
        ("nightwright doctor --probe", "Also check whether the agent answers"),
        ("nightwright doctor --json", "Print the findings as JSON"),
    ]),
    ("new", &[
        ("nightwright new migrate-api", "Create a task"),
        ("nightwright new tidy-up --mode iterative", "Create a task that does as much as possible per iteration"),
        ("nightwright new shop-2 --from shop", "Create a task with the instructions of a template"),
    ]),
    ("list", &[
        ("nightwright list", "List the tasks of this project"),
        ("nightwright list --json", "List the tasks as JSON"),
    ]),
    ("task", &[
        ("nightwright task new migrate-api", "Create a task"),
        ("nightwright task setup migrate-api", "Write its instructions with the agent"),
        ("nightwright task show migrate-api", "Show its state and what to do next"),
        ("nightwright task archive migrate-api", "Archive it"),
    ]),
    ("task new", &[
        ("nightwright task new migrate-api", "Create a task"),
        ("nightwright task new shop-2 --from shop", "Create a task with the instructions of a template"),
    ]),
    ("task setup", &[
        ("nightwright task setup migrate-api", "Write the instructions with the agent"),
        ("nightwright task setup migrate-api --model opus", "Use another model"),
    ]),
    ("task edit", &[
        ("nightwright task edit migrate-api", "Edit the instructions with the agent"),
        ("nightwright task edit migrate-api --model opus", "Use another model"),
    ]),
    ("task validate", &[
        ("nightwright task validate migrate-api", "Check whether the instructions are good enough for unattended work"),
        ("nightwright task validate migrate-api --json", "Print the result as JSON"),
    ]),
    ("task list", &[
        ("nightwright task list", "List the tasks of this project"),
        ("nightwright task list --json", "List the tasks as JSON"),
    ]),
    ("task show", &[
        ("nightwright task show migrate-api", "Show the state of a task and what to do next"),
        ("nightwright task show migrate-api --json", "Print it as JSON"),
    ]),
    ("task reset", &[
        ("nightwright task reset migrate-api", "Remove state, status and notes"),
        ("nightwright task reset migrate-api --todo --yes", "Also uncheck all checkboxes, without asking"),
    ]),
    ("task archive", &[
        ("nightwright task archive migrate-api", "Archive a task as one file"),
        ("nightwright task archive migrate-api -C ../shop", "Archive a task of another project"),
    ]),
    ("task restore", &[
        ("nightwright task restore migrate-api", "Restore the newest archive of a task"),
        ("nightwright task restore .nightwright/archive/migrate-api-20261115T233412.123Z.tar.gz", "Restore this archive"),
        ("nightwright task restore migrate-api --yes", "Replace the existing task, after archiving it"),
    ]),
    ("task delete", &[
        ("nightwright task delete migrate-api", "Archive a task and delete it"),
        ("nightwright task delete migrate-api --yes -C ../shop", "Delete a task of another project, without asking"),
    ]),
    ("task template", &[
        ("nightwright task template save migrate-api", "Save the instructions of a task"),
        ("nightwright task template use migrate-api migrate-web", "Create a task from them"),
        ("nightwright task template list", "List the templates"),
    ]),
    ("task template save", &[
        ("nightwright task template save migrate-api", "Save under the name of the task"),
        ("nightwright task template save migrate-api migration --user", "Save under another name, for all projects"),
    ]),
    ("task template use", &[
        ("nightwright task template use migration migrate-web", "Create a task from a template"),
        ("nightwright task template use migration migrate-web --user", "Use your own template instead of the project's"),
    ]),
    ("task template list", &[
        ("nightwright task template list", "List the templates of the project and your own"),
        ("nightwright task template list --json", "List them as JSON"),
    ]),
    ("task template show", &[
        ("nightwright task template show migration", "Print the files of a template"),
        ("nightwright task template show migration --json", "Print them as JSON"),
    ]),
    ("task template delete", &[
        ("nightwright task template delete migration", "Delete a template of the project"),
        ("nightwright task template delete migration --user --yes", "Delete your own template, without asking"),
    ]),
    ("plan", &[
        ("nightwright plan -m 5", "Write `IMPLEMENTATION_PLAN.md`"),
        ("nightwright plan -p \"only the web part\" -m 5", "Plan only a part of the work"),
    ]),
    ("build", &[
        ("nightwright build -m 30", "Implement up to 30 items of the plan"),
        ("nightwright build -m 30 --max-cost 20", "Spend up to $20"),
    ]),
    ("verify", &[
        ("nightwright verify migrate-api", "Check whether a task is complete"),
        ("nightwright verify migrate-api --depth deep", "Let the model read the project"),
        ("nightwright verify migrate-api --verify \"make test\" --json", "Use this check, and print JSON"),
    ]),
    ("demo", &[
        ("nightwright demo", "Watch a complete run in 10 seconds"),
        ("nightwright demo --verbose", "Also show the messages and tool calls of the agent"),
    ]),
    ("pause", &[
        ("nightwright pause", "Pause the active run until `nightwright resume`"),
        ("nightwright pause migrate-api", "Pause a task's run"),
    ]),
    ("tell", &[
        ("nightwright tell \"leave the old API in place\"", "Send a message to the agent of the active run"),
        ("nightwright tell migrate-api \"leave the old API in place\"", "Choose one of several runs"),
        ("nightwright tell migrate-api --retry-now", "Retry now instead of waiting"),
    ]),
    ("config", &[
        ("nightwright config list", "List all keys and their values"),
        ("nightwright config set limits.max_cost 5", "Set a key for this project"),
        ("nightwright config explain limits.max_cost", "Show where a value comes from"),
    ]),
    ("config get", &[
        ("nightwright config get limits.max_cost", "Print the effective value"),
        ("nightwright config get verify.commands --task migrate-api --json", "Print the value for a task as JSON"),
    ]),
    ("config set", &[
        ("nightwright config set verify.commands \"cargo test\" \"cargo clippy\"", "Set a list for this project"),
        ("nightwright config set --user model.name sonnet", "Set a key for all your projects"),
        ("nightwright config set --task migrate-api limits.max_cost 9", "Set a key for a task"),
    ]),
    ("config unset", &[
        ("nightwright config unset limits.max_cost", "Remove a key for this project"),
        ("nightwright config unset --user model.name", "Remove a key for all your projects"),
    ]),
    ("config list", &[
        ("nightwright config list", "List all keys with their values and where they come from"),
        ("nightwright config list --task migrate-api --json", "List the values for a task as JSON"),
    ]),
    ("config explain", &[
        ("nightwright config explain limits.max_cost", "Explain a key"),
        ("nightwright config explain delay --task migrate-api", "Explain a key for a task"),
    ]),
    ("config schema", &[
        ("nightwright config schema", "Print the schema, for completion and validation in editors"),
        ("nightwright config schema > nightwright.schema.json", "Write it to a file"),
    ]),
    ("trust", &[
        ("nightwright trust", "Show what the project would run, and approve it"),
        ("nightwright trust --list", "List everything without approving it"),
        ("nightwright trust --revoke", "Revoke the approvals"),
    ]),
    ("principles", &[
        ("nightwright principles", "Answer a few questions"),
        ("nightwright principles --preset startup", "Use a preset without asking"),
        ("nightwright principles --show", "Print the current principles"),
    ]),
    ("notify", &[
        ("nightwright notify test", "Send a test notification to every configured URL"),
        ("nightwright config set --user notify.url https://ntfy.sh/a-name-only-you-know", "Configure a URL for all your projects"),
    ]),
    ("notify test", &[
        ("nightwright notify test", "Send a test notification"),
        ("nightwright notify test --json", "Print the result as JSON"),
    ]),
    ("sandbox", &[
        ("nightwright sandbox explain", "Show what the agent could see and change"),
        ("nightwright sandbox test", "Test the sandbox on this machine"),
    ]),
    ("sandbox shell", &[
        ("nightwright sandbox shell", "Open your shell in the sandbox"),
        ("nightwright sandbox shell -- npm install", "Run a command there"),
    ]),
    ("sandbox explain", &[
        ("nightwright sandbox explain", "List the files, with the access to them"),
        ("nightwright sandbox explain --command", "Also print the command that starts the sandbox"),
    ]),
    ("sandbox test", &[
        ("nightwright sandbox test", "Test whether the sandbox protects"),
        ("nightwright sandbox test --verbose", "Also print everything that it tries"),
    ]),
    ("selftest", &[
        ("nightwright selftest", "Run all tests (takes at most 1 minute, needs no account)"),
        ("nightwright selftest --json", "Print the result as JSON"),
    ]),
    ("service", &[
        ("nightwright service install migrate-api", "Resume a task's run after a reboot"),
        ("nightwright service remove migrate-api", "Stop resuming it after a reboot"),
    ]),
    ("service install", &[
        ("nightwright service install migrate-api", "Write a systemd unit"),
        ("nightwright service install migrate-api --print", "Print the unit only"),
        ("nightwright service install migrate-api --enable", "Write and enable the unit"),
    ]),
    ("service remove", &[
        ("nightwright service remove migrate-api", "Remove the unit of a task"),
        ("nightwright service remove 20261115-233412-0a1b", "Remove the unit of a run"),
    ]),
    ("inspect", &[
        ("nightwright inspect output/003-1.ndjson", "Show the messages and tool calls of the agent"),
        ("nightwright inspect stream.ndjson --exit-code 1 --json", "Print how a run would classify the attempt, as JSON"),
    ]),
    ("prompt", &[
        ("nightwright prompt migrate-api", "Print the prompt of the first iteration"),
        ("nightwright prompt -p \"fix the tests\" --system", "Print the addition to the system prompt"),
        ("nightwright prompt migrate-api --json", "Print both as JSON"),
    ]),
    ("man", &[
        ("nightwright man run", "Open the page of a command in `man`"),
        ("nightwright man config set > config-set.1", "Write a page as roff"),
        ("nightwright man --dir ~/.local/share/man/man1", "Install all pages for `man`"),
    ]),
    ("completions", &[
        ("nightwright completions bash > ~/.local/share/bash-completion/completions/nightwright", "Install for bash"),
        ("nightwright completions zsh > ~/.zfunc/_nightwright", "Install for zsh, with ~/.zfunc in fpath"),
        ("nightwright completions fish > ~/.config/fish/completions/nightwright.fish", "Install for fish"),
    ]),
    ("help", &[
        ("nightwright help", "List all commands"),
        ("nightwright help config set", "Same as `nightwright config set --help`"),
    ]),
    ("version", &[
        ("nightwright version", "Print the version"),
        ("nightwright --version", "Same as `nightwright version`"),
    ]),
];
