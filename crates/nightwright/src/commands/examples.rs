//! Examples of every command, for its help and its manual page. A test reads every one of them.

/// A command line, and what it does.
pub(super) type Example = (&'static str, &'static str);

/// The examples of every command, by its path; the first are those of the whole program.
#[rustfmt::skip]
pub(super) const EXAMPLES: &[(&str, &[Example])] = &[
    ("", &[
        ("nightwright demo", "a whole run in ten seconds, no account needed"),
        ("nightwright init", "set this project up"),
        ("nightwright run \"make the tests pass\" -m 10", "work on a goal"),
        ("nightwright new migrate-api && nightwright setup migrate-api && nightwright run migrate-api", "work on a task"),
    ]),
    ("init", &[
        ("nightwright init", "find out type and commands, and ask"),
        ("nightwright init --yes", "ask nothing"),
        ("nightwright init -C ../shop --no-import", "elsewhere, and leave alone what other tools left"),
    ]),
    ("new", &[
        ("nightwright new migrate-api", "make a task"),
        ("nightwright new tidy-up --mode iterative", "one whose iterations do as much as they can"),
        ("nightwright new shop-2 --from shop", "one with the instructions of a template"),
    ]),
    ("setup", &[
        ("nightwright setup migrate-api", "write its instructions together with the agent"),
        ("nightwright setup migrate-api --model opus", "the same with another model"),
    ]),
    ("edit", &[
        ("nightwright edit migrate-api", "change its instructions together with the agent"),
        ("nightwright edit migrate-api --model opus", "the same with another model"),
    ]),
    ("validate", &[
        ("nightwright validate migrate-api", "are the instructions good enough for work without you?"),
        ("nightwright validate migrate-api --json", "the same for a program"),
    ]),
    ("run", &[
        ("nightwright run migrate-api", "work on a task until it is done and verified"),
        ("nightwright run \"make the tests pass\" -m 10", "work on a goal, at most ten iterations"),
        ("nightwright run migrate-api --max-cost 5 --max-duration 8h", "overnight, for at most five dollars"),
        ("nightwright run -p \"fix the lint\" -m 3 --verify \"make lint\"", "done when this command passes"),
    ]),
    ("plan", &[
        ("nightwright plan -m 5", "write `IMPLEMENTATION_PLAN.md`"),
        ("nightwright plan -p \"only the web part\" -m 5", "about a part of it"),
    ]),
    ("build", &[
        ("nightwright build -m 30", "work the plan off, at most 30 items"),
        ("nightwright build -m 30 --max-cost 20", "for at most twenty dollars"),
    ]),
    ("resume", &[
        ("nightwright resume", "continue the last run of this project"),
        ("nightwright resume migrate-api -m 80", "with a higher limit"),
        ("nightwright resume migrate-api --allowed-tools \"Bash(npm install:*)\"", "with a command that was denied"),
        ("nightwright resume 20261115-233412 --again", "even though it completed"),
    ]),
    ("stop", &[
        ("nightwright stop", "after the iteration that is going on"),
        ("nightwright stop --now", "at once"),
        ("nightwright stop migrate-api --cancel", "take the request back"),
    ]),
    ("pause", &[
        ("nightwright pause", "start nothing new; `nightwright resume` goes on"),
        ("nightwright pause migrate-api", "the run of this task"),
    ]),
    ("tell", &[
        ("nightwright tell \"leave the old API in place\"", "tell the agent of the run that is running"),
        ("nightwright tell migrate-api \"leave the old API in place\"", "tell the agent of one of several runs"),
        ("nightwright tell migrate-api --retry-now", "try now what is being waited for"),
    ]),
    ("verify", &[
        ("nightwright verify migrate-api", "is it really done?"),
        ("nightwright verify migrate-api --depth deep", "with a closer look"),
        ("nightwright verify migrate-api --verify \"make test\" --json", "with this check, for a program"),
    ]),
    ("service", &[
        ("nightwright service install migrate-api", "go on with its run after a reboot"),
        ("nightwright service remove migrate-api", "no longer"),
    ]),
    ("service install", &[
        ("nightwright service install migrate-api", "write a systemd unit"),
        ("nightwright service install migrate-api --print", "look at it only"),
        ("nightwright service install migrate-api --enable", "and tell the system about it"),
    ]),
    ("service remove", &[
        ("nightwright service remove migrate-api", "what was installed for this task"),
        ("nightwright service remove 20261115-233412-0a1b", "what was installed for this run"),
    ]),
    ("status", &[
        ("nightwright status", "the run that is going on, else the last"),
        ("nightwright status migrate-api --json", "the same for a program"),
    ]),
    ("log", &[
        ("nightwright log", "what the last run did"),
        ("nightwright log migrate-api -f", "what it is doing, until it ends"),
        ("nightwright log 20261115-233412 --raw", "what the agent printed, line by line"),
    ]),
    ("report", &[
        ("nightwright report", "the last run as Markdown, for a pull request or a mail"),
        ("nightwright report migrate-api -o report.html", "as one page to look at and pass on"),
        ("nightwright report 20261115-233412 --json", "everything, for a program"),
    ]),
    ("list", &[
        ("nightwright list", "the tasks of this project"),
        ("nightwright list --json", "the same for a program"),
    ]),
    ("show", &[
        ("nightwright show migrate-api", "where it stands, and what to do next"),
        ("nightwright show migrate-api --json", "the same for a program"),
    ]),
    ("prompt", &[
        ("nightwright prompt migrate-api", "what the next iteration would be told"),
        ("nightwright prompt -p \"fix the tests\" --system", "what is added to the system prompt"),
        ("nightwright prompt migrate-api --json", "both, for a program"),
    ]),
    ("reset", &[
        ("nightwright reset migrate-api", "state, status and notes go"),
        ("nightwright reset migrate-api --todo --yes", "and every box is opened; ask nothing"),
    ]),
    ("archive", &[
        ("nightwright archive migrate-api", "put a task away as one file"),
        ("nightwright archive migrate-api -C ../shop", "of another project"),
    ]),
    ("restore", &[
        ("nightwright restore migrate-api", "the latest archive of this task"),
        ("nightwright restore .nightwright/archive/migrate-api-20261115T233412.123Z.tar.gz", "this archive"),
    ]),
    ("delete", &[
        ("nightwright delete migrate-api --force", "archive a task and remove it"),
        ("nightwright delete migrate-api --force -C ../shop", "of another project"),
    ]),
    ("template", &[
        ("nightwright template save migrate-api", "keep the instructions of a task"),
        ("nightwright template use migrate-api migrate-web", "make a task of them"),
        ("nightwright template list", "what there is"),
    ]),
    ("template save", &[
        ("nightwright template save migrate-api", "under the name of the task"),
        ("nightwright template save migrate-api migration --user", "under another, for all projects"),
    ]),
    ("template use", &[
        ("nightwright template use migration migrate-web", "make a task of a template"),
        ("nightwright template use migration migrate-web --user", "of your own one, not the project's"),
    ]),
    ("template list", &[
        ("nightwright template list", "the project's and your own"),
        ("nightwright template list --json", "the same for a program"),
    ]),
    ("template show", &[
        ("nightwright template show migration", "what is in it"),
        ("nightwright template show migration --json", "the same for a program"),
    ]),
    ("template delete", &[
        ("nightwright template delete migration --force", "remove the project's"),
        ("nightwright template delete migration --user --force", "remove your own"),
    ]),
    ("config", &[
        ("nightwright config list", "all keys and their values"),
        ("nightwright config set limits.max_cost 5", "set one for this project"),
        ("nightwright config explain limits.max_cost", "who says so?"),
    ]),
    ("config get", &[
        ("nightwright config get limits.max_cost", "the value that holds here"),
        ("nightwright config get verify.commands --task migrate-api --json", "the one for a task, for a program"),
    ]),
    ("config set", &[
        ("nightwright config set verify.commands \"cargo test\" \"cargo clippy\"", "for this project"),
        ("nightwright config set --user model.name sonnet", "for all your projects"),
        ("nightwright config set --task migrate-api limits.max_cost 9", "for a task"),
    ]),
    ("config unset", &[
        ("nightwright config unset limits.max_cost", "for this project"),
        ("nightwright config unset --user model.name", "for all your projects"),
    ]),
    ("config list", &[
        ("nightwright config list", "all keys, their values, and where these come from"),
        ("nightwright config list --task migrate-api --json", "for a task, for a program"),
    ]),
    ("config explain", &[
        ("nightwright config explain limits.max_cost", "what it may be, and who says what"),
        ("nightwright config explain delay --task migrate-api", "for a task"),
    ]),
    ("config schema", &[
        ("nightwright config schema", "for editors that complete and check"),
        ("nightwright config schema > nightwright.schema.json", "as a file"),
    ]),
    ("trust", &[
        ("nightwright trust", "look at what the project would run, and approve it"),
        ("nightwright trust --list", "look only"),
        ("nightwright trust --revoke", "take the approval back"),
    ]),
    ("notify", &[
        ("nightwright notify test", "send one notification to every configured address"),
        ("nightwright config set --user notify.url https://ntfy.sh/a-name-nobody-guesses", "configure one for all your projects"),
    ]),
    ("notify test", &[
        ("nightwright notify test", "does it arrive?"),
        ("nightwright notify test --json", "the same for a program"),
    ]),
    ("principles", &[
        ("nightwright principles", "answer some questions"),
        ("nightwright principles --preset startup", "take the usual weights and ask nothing"),
        ("nightwright principles --show", "what holds here"),
    ]),
    ("selftest", &[
        ("nightwright selftest", "less than a minute, no account needed"),
        ("nightwright selftest --json", "for a program"),
    ]),
    ("demo", &[
        ("nightwright demo", "a whole run in ten seconds"),
        ("nightwright demo --verbose", "with what the agent says and does"),
    ]),
    ("doctor", &[
        ("nightwright doctor", "can a run start here?"),
        ("nightwright doctor --probe", "and does the agent answer?"),
        ("nightwright doctor --json", "for a program"),
    ]),
    ("inspect", &[
        ("nightwright inspect output/003-1.ndjson", "what the agent said and did"),
        ("nightwright inspect stream.ndjson --exit-code 1 --json", "what a run would make of it, for a program"),
    ]),
    ("completions", &[
        ("nightwright completions bash > ~/.local/share/bash-completion/completions/nightwright", "for bash"),
        ("nightwright completions zsh > ~/.zfunc/_nightwright", "for zsh, with ~/.zfunc in fpath"),
        ("nightwright completions fish > ~/.config/fish/completions/nightwright.fish", "for fish"),
    ]),
    ("man", &[
        ("nightwright man run", "open the page of a command in `man`"),
        ("nightwright man config set > config-set.1", "write a page as roff"),
        ("nightwright man --dir ~/.local/share/man/man1", "install all pages where `man` finds them"),
    ]),
    ("help", &[
        ("nightwright help", "list all commands"),
        ("nightwright help config set", "the same as `nightwright config set --help`"),
    ]),
    ("version", &[
        ("nightwright version", "the version of this program"),
        ("nightwright --version", "the same"),
    ]),
];
