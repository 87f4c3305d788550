//! Examples of every command, for its help and its manual page. A test reads every one of them.

/// A command line, and what it does.
pub(super) type Example = (&'static str, &'static str);

/// The examples of every command, by its path; the first are those of the whole program.
#[rustfmt::skip]
pub(super) const EXAMPLES: &[(&str, &[Example])] = &[
    ("", &[
        ("legwork demo", "a whole run in ten seconds, no account needed"),
        ("legwork init", "set this project up"),
        ("legwork run -p \"make the tests pass\" -m 10", "work on a goal"),
        ("legwork new migrate-api && legwork setup migrate-api && legwork run migrate-api", "work on a task"),
    ]),
    ("init", &[
        ("legwork init", "find out type and commands, and ask"),
        ("legwork init --yes", "ask nothing"),
        ("legwork init -C ../shop --no-import", "elsewhere, and leave alone what other tools left"),
    ]),
    ("new", &[
        ("legwork new migrate-api", "make a task"),
        ("legwork new tidy-up --mode iterative", "one whose iterations do as much as they can"),
        ("legwork new shop-2 --from shop", "one with the instructions of a template"),
    ]),
    ("setup", &[
        ("legwork setup migrate-api", "write its instructions together with the agent"),
        ("legwork setup migrate-api --model opus", "the same with another model"),
    ]),
    ("edit", &[
        ("legwork edit migrate-api", "change its instructions together with the agent"),
        ("legwork edit migrate-api --model opus", "the same with another model"),
    ]),
    ("validate", &[
        ("legwork validate migrate-api", "are the instructions good enough for work without you?"),
        ("legwork validate migrate-api --json", "the same for a program"),
    ]),
    ("run", &[
        ("legwork run migrate-api", "work on a task until it is done and verified"),
        ("legwork run -p \"make the tests pass\" -m 10", "work on a goal, at most ten iterations"),
        ("legwork run migrate-api --max-cost 5 --max-duration 8h", "overnight, for at most five dollars"),
        ("legwork run -p \"fix the lint\" -m 3 --verify \"make lint\"", "done when this command passes"),
    ]),
    ("plan", &[
        ("legwork plan -m 5", "write `IMPLEMENTATION_PLAN.md`"),
        ("legwork plan -p \"only the web part\" -m 5", "about a part of it"),
    ]),
    ("build", &[
        ("legwork build -m 30", "work the plan off, at most 30 items"),
        ("legwork build -m 30 --max-cost 20", "for at most twenty dollars"),
    ]),
    ("resume", &[
        ("legwork resume", "the last run of this project"),
        ("legwork resume migrate-api -m 80", "with more room than it had"),
        ("legwork resume 20261115-233412 --again", "though it has ended"),
        ("legwork resume migrate-api --detach", "without this terminal"),
    ]),
    ("stop", &[
        ("legwork stop", "after the iteration that is going on"),
        ("legwork stop --now", "at once"),
        ("legwork stop migrate-api --cancel", "take the request back"),
    ]),
    ("pause", &[
        ("legwork pause", "start nothing new; `legwork resume` goes on"),
        ("legwork pause migrate-api", "the run of this task"),
    ]),
    ("tell", &[
        ("legwork tell migrate-api \"leave the old API in place\"", "a word for the agent"),
        ("legwork tell migrate-api --retry-now", "try now what is being waited for"),
    ]),
    ("verify", &[
        ("legwork verify migrate-api", "is it really done?"),
        ("legwork verify migrate-api --depth deep", "with a closer look"),
        ("legwork verify migrate-api --verify \"make test\" --json", "with this check, for a program"),
    ]),
    ("service", &[
        ("legwork service install migrate-api", "go on with its run after a reboot"),
        ("legwork service remove migrate-api", "no longer"),
    ]),
    ("service install", &[
        ("legwork service install migrate-api", "write a unit of systemd or an agent of launchd"),
        ("legwork service install migrate-api --print", "look at it only"),
        ("legwork service install migrate-api --enable", "and tell the system about it"),
    ]),
    ("service remove", &[
        ("legwork service remove migrate-api", "what was installed for this task"),
        ("legwork service remove 20261115-233412-0a1b", "what was installed for this run"),
    ]),
    ("status", &[
        ("legwork status", "the run that is going on, else the last"),
        ("legwork status migrate-api --json", "the same for a program"),
    ]),
    ("log", &[
        ("legwork log", "what the last run did"),
        ("legwork log migrate-api -f", "what it is doing, until it ends"),
        ("legwork log 20261115-233412 --raw", "what the agent printed, line by line"),
    ]),
    ("report", &[
        ("legwork report", "the last run as Markdown, for a pull request or a mail"),
        ("legwork report migrate-api -o report.html", "as one page to look at and pass on"),
        ("legwork report 20261115-233412 --json", "everything, for a program"),
    ]),
    ("list", &[
        ("legwork list", "the tasks of this project"),
        ("legwork list --json", "the same for a program"),
    ]),
    ("show", &[
        ("legwork show migrate-api", "where it stands, and what to do next"),
        ("legwork show migrate-api --json", "the same for a program"),
    ]),
    ("prompt", &[
        ("legwork prompt migrate-api", "what the next iteration would be told"),
        ("legwork prompt -p \"fix the tests\" --system", "what is added to the system prompt"),
        ("legwork prompt migrate-api --json", "both, for a program"),
    ]),
    ("reset", &[
        ("legwork reset migrate-api", "state, status and notes go"),
        ("legwork reset migrate-api --todo --yes", "and every box is opened; ask nothing"),
    ]),
    ("archive", &[
        ("legwork archive migrate-api", "put a task away as one file"),
        ("legwork archive migrate-api -C ../shop", "of another project"),
    ]),
    ("restore", &[
        ("legwork restore migrate-api", "the latest archive of this task"),
        ("legwork restore .legwork/archive/migrate-api-20261115-233412.tar.gz", "this archive"),
    ]),
    ("delete", &[
        ("legwork delete migrate-api --force", "archive a task and remove it"),
        ("legwork delete migrate-api --force -C ../shop", "of another project"),
    ]),
    ("template", &[
        ("legwork template save migrate-api", "keep the instructions of a task"),
        ("legwork template use migrate-api migrate-web", "make a task of them"),
        ("legwork template list", "what there is"),
    ]),
    ("template save", &[
        ("legwork template save migrate-api", "under the name of the task"),
        ("legwork template save migrate-api migration --user", "under another, for all projects"),
    ]),
    ("template use", &[
        ("legwork template use migration migrate-web", "make a task of a template"),
        ("legwork template use migration migrate-web --user", "of your own one, not the project's"),
    ]),
    ("template list", &[
        ("legwork template list", "the project's and your own"),
        ("legwork template list --json", "the same for a program"),
    ]),
    ("template show", &[
        ("legwork template show migration", "what is in it"),
        ("legwork template show migration --json", "the same for a program"),
    ]),
    ("template delete", &[
        ("legwork template delete migration --force", "remove the project's"),
        ("legwork template delete migration --user --force", "remove your own"),
    ]),
    ("config", &[
        ("legwork config list", "all keys and their values"),
        ("legwork config set limits.max_cost 5", "set one for this project"),
        ("legwork config explain limits.max_cost", "who says so?"),
    ]),
    ("config get", &[
        ("legwork config get limits.max_cost", "the value that holds here"),
        ("legwork config get verify.commands --task migrate-api --json", "the one for a task, for a program"),
    ]),
    ("config set", &[
        ("legwork config set verify.commands \"cargo test\" \"cargo clippy\"", "for this project"),
        ("legwork config set --user model.name sonnet", "for all your projects"),
        ("legwork config set --task migrate-api limits.max_cost 9", "for a task"),
    ]),
    ("config unset", &[
        ("legwork config unset limits.max_cost", "for this project"),
        ("legwork config unset --user model.name", "for all your projects"),
    ]),
    ("config list", &[
        ("legwork config list", "all keys, their values, and where these come from"),
        ("legwork config list --task migrate-api --json", "for a task, for a program"),
    ]),
    ("config explain", &[
        ("legwork config explain limits.max_cost", "what it may be, and who says what"),
        ("legwork config explain delay --task migrate-api", "for a task"),
    ]),
    ("config schema", &[
        ("legwork config schema", "for editors that complete and check"),
        ("legwork config schema > legwork.schema.json", "as a file"),
    ]),
    ("trust", &[
        ("legwork trust", "look at what the project would run, and approve it"),
        ("legwork trust --list", "look only"),
        ("legwork trust --revoke", "take the approval back"),
    ]),
    ("notify", &[
        ("legwork notify test", "send one notification to every configured address"),
        ("legwork config set --user notify.url https://ntfy.sh/a-name-nobody-guesses", "configure one for all your projects"),
    ]),
    ("notify test", &[
        ("legwork notify test", "does it arrive?"),
        ("legwork notify test --json", "the same for a program"),
    ]),
    ("principles", &[
        ("legwork principles", "answer some questions"),
        ("legwork principles --preset startup", "take the usual weights and ask nothing"),
        ("legwork principles --show", "what holds here"),
    ]),
    ("selftest", &[
        ("legwork selftest", "less than a minute, no account needed"),
        ("legwork selftest --json", "for a program"),
    ]),
    ("demo", &[
        ("legwork demo", "a whole run in ten seconds"),
        ("legwork demo --verbose", "with what the agent says and does"),
    ]),
    ("doctor", &[
        ("legwork doctor", "can a run start here?"),
        ("legwork doctor --probe", "and does the agent answer?"),
        ("legwork doctor --json", "for a program"),
    ]),
    ("inspect", &[
        ("legwork inspect output/003-1.ndjson", "what the agent said and did"),
        ("legwork inspect stream.ndjson --exit-code 1 --json", "what a run would make of it, for a program"),
    ]),
    ("completions", &[
        ("legwork completions bash > ~/.local/share/bash-completion/completions/legwork", "for bash"),
        ("legwork completions zsh > ~/.zfunc/_legwork", "for zsh, with ~/.zfunc in fpath"),
        ("legwork completions fish > ~/.config/fish/completions/legwork.fish", "for fish"),
    ]),
    ("man", &[
        ("legwork man | man -l -", "read the main page"),
        ("legwork man config set | man -l -", "read that of a command"),
        ("legwork man --dir ~/.local/share/man/man1", "put all pages where `man` finds them"),
    ]),
    ("version", &[
        ("legwork version", "the version of this program"),
        ("legwork --version", "the same"),
    ]),
];
