//! The page about scripts, for people who write some.

use std::fmt::Write as _;

/// A script that uses a bit of everything. A test reads it, so it can't be wrong.
pub const EXAMPLE: &str = include_str!("example.toml");

const TOP: &str = "\
# Rehearsal scripts

The *rehearsal agent* is nightwright's own stand-in for the agent program. It is started like the real
one, reads its prompt from standard input and prints the same stream, by a script. Its tools really
write, edit, read and run, inside the project; a path that leads out of it is an error. No network,
no account, no cost.

A script is a TOML file. It has a list for each kind of process: `[[attempt]]` for the work itself,
`[[verify]]`, `[[review]]`, `[[advise]]` and `[[council]]` for the calls around it, and `[[validate]]`
for `nightwright task validate TASK --dry-run`. The first entry is played by the first process of its kind, and so
on; the last one repeats. A kind that is not mentioned gets a plain answer (a verifier says yes, and
instructions are found good). What the agent was asked is kept, one line of JSON for each request.

";

const SCENE: [(&str, &str); 6] = [
    ("`steps`", "what it says and does, in order (below)"),
    ("`ending`", "how it ends (below); without it a result that repeats its last words"),
    ("`cost`", "US dollars that its result reports; `0.01` without it, nothing if it never spoke"),
    (
        "`tokens`",
        "`{ input, output, cache_read, cache_write }`, spread over its messages; 1200 and 300 without it",
    ),
    ("`model`", "the model it claims to be; without it the one it is asked to be"),
    (
        "`replies`",
        "what it makes of further messages of a session that stays open, one after the other, once \
         its turn is over: words, or `{ steps = [...], says = \"...\" }`; the last one repeats",
    ),
];

const VERIFY: [(&str, &str); 3] = [
    ("`verdict`", "`\"yes\"`, `\"no\"`, or `\"unreadable\"` for an answer without a verdict"),
    ("`reason`", "why"),
    ("`missing`", "a list of what is missing"),
];

const VALIDATE: [(&str, &str); 2] = [
    ("`fail`", "a list of the criteria that are not met, by their names; all others are"),
    ("`reason`", "why"),
];

const STEPS: [(&str, &str); 15] = [
    ("`{ say = \"...\" }`", "words of the agent"),
    ("`{ think = \"...\" }`", "thoughts, which count for nothing"),
    ("`{ write = \"path\", text = \"...\" }`", "writes a file, with its folders"),
    ("`{ edit = \"path\", old = \"...\", new = \"...\" }`", "replaces a text that occurs once"),
    (
        "`{ run = \"command\" }`",
        "runs a command with `sh`; an exit code other than 0 is a tool error",
    ),
    ("`{ read = \"path\" }`", "reads a file"),
    ("`{ denied = \"Bash\" }`", "wants to use this tool and is not allowed to"),
    (
        "`{ denied = \"Bash\", command = \"make\" }`",
        "wants to run this command; it runs if the permissions of the run allow it",
    ),
    ("`{ wait = \"300ms\" }`", "is silent for so long"),
    ("`{ garbage = \"...\" }`", "prints this line, whatever it is"),
    ("`{ flood = 100000 }`", "prints so many bytes of lines that are no messages"),
    (
        "`{ quota = 80, window = \"five_hour\" }`",
        "reports how much of the account's quota is used, in percent; or `\"seven_day\"`",
    ),
    ("`{ compact = true }`", "its context is full and is replaced by a summary"),
    ("`{ run = \"command\", times = 30 }`", "the same so often; `times` goes with every step"),
    ("`{ repeat = [...], times = 10 }`", "these steps, so often"),
];

const ENDINGS: [(&str, &str); 21] = [
    ("`{ result = \"...\" }`", "last words and a good result"),
    ("`{ hang_after_result = \"...\" }`", "the same, but the process does not leave"),
    ("`{ hang = true }`", "falls silent and does not leave"),
    ("`{ hang_at_start = true }`", "never says anything and does not leave"),
    ("`{ crash = 139 }`", "exits with this code, without a result"),
    ("`{ signal = 9 }`", "is killed by this signal, without a result"),
    ("`{ silent_exit = 0 }`", "exits with this code and has said nothing at all"),
    ("`{ bad_start = \"...\" }`", "complains on standard error and exits with 1"),
    ("`{ max_turns = true }`", "its turns are used up"),
    ("`{ budget = true }`", "its cap on the cost is used up"),
    ("`{ limit = \"2h13m\" }`", "the account's usage limit, which ends after so long"),
    ("`{ limit_unknown = true }`", "too many requests, without a date"),
    ("`{ overloaded = true }`", "the provider is overloaded"),
    ("`{ network = true }`", "the provider can't be reached"),
    ("`{ auth = \"...\" }`", "the login is refused in these words"),
    ("`{ billing = true }`", "no credit"),
    ("`{ too_long = true }`", "the prompt is too long for the model"),
    ("`{ no_model = true }`", "there is no such model"),
    ("`{ error = \"...\" }`", "the request is rejected in these words"),
    ("`{ refuse = true }`", "the model declines"),
    ("`{ output_limit = true }`", "the answer was too long"),
];

/// The whole page, as Markdown.
pub fn page() -> String {
    let mut page = TOP.to_owned();
    table(&mut page, "## An entry", "member", &SCENE);
    table(&mut page, "## `[[verify]]` has these instead of an ending", "member", &VERIFY);
    table(&mut page, "## `[[validate]]` can have these instead of an ending", "member", &VALIDATE);
    table(&mut page, "## Steps", "step", &STEPS);
    table(&mut page, "## Endings", "ending", &ENDINGS);
    page.push_str(
        "An ending that hangs can also have `ignore_term = true`: then only SIGKILL ends it.\n\n",
    );
    page.push_str("## An example\n\n```toml\n");
    page.push_str(EXAMPLE);
    page.push_str("```\n");
    page
}

fn table(page: &mut String, title: &str, column: &str, rows: &[(&str, &str)]) {
    // Writing to a string can't fail.
    let _ = write!(page, "{title}\n\n| {column} | meaning |\n| --- | --- |\n");
    for (name, meaning) in rows {
        let _ = writeln!(page, "| {name} | {meaning} |");
    }
    page.push('\n');
}
