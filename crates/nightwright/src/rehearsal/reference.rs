//! The reference page for rehearsal scripts.

use std::fmt::Write as _;

/// An example script that uses most features. A test parses it.
pub const EXAMPLE: &str = include_str!("example.toml");

const TOP: &str = "\
# Rehearsal scripts

The *rehearsal agent* is a built-in replacement for the agent program. nightwright starts it like the
real one. It reads its prompt from standard input and prints the same stream, following a script. Its
tools really run, but only inside the project; a path outside it is an error. It needs no network and
no account, and costs nothing.

A script is a TOML file. It has a list for each kind of process: `[[attempt]]` for the work itself, and
`[[verify]]`, `[[review]]`, `[[advise]]` and `[[council]]` for the calls around it. `[[validate]]` is for
`nightwright task validate TASK --dry-run`. The first process of a kind follows the first entry, the
second process the second, and so on; the last entry repeats. A kind without entries gets a plain
answer (a verifier says yes, and validation passes). The rehearsal agent logs each request as one line
of JSON.

";

const SCENE: [(&str, &str); 6] = [
    ("`steps`", "messages and actions of the agent, in order (below)"),
    ("`end`", "outcome of the process (below); by default a result that repeats the last text"),
    (
        "`cost`",
        "the cost that its result reports, in US dollars; by default `0.01`, or nothing without any message",
    ),
    (
        "`tokens`",
        "`{ input, output, cache_read, cache_write }`, spread over its messages; by default 1200 input and 300 output tokens",
    ),
    ("`model`", "the model it reports; by default the requested one"),
    (
        "`replies`",
        "replies to further messages of a session that stays open after its turn: a string, or \
         `{ steps = [...], says = \"...\" }`; the last one repeats",
    ),
];

const VERIFY: [(&str, &str); 3] = [
    ("`verdict`", "`\"yes\"`, `\"no\"`, or `\"unreadable\"` for an answer without a verdict"),
    ("`reason`", "the explanation"),
    ("`missing`", "a list of the missing items"),
];

const VALIDATE: [(&str, &str); 2] = [
    ("`fail`", "a list of the names of the criteria that fail; all others pass"),
    ("`reason`", "the explanation"),
];

const STEPS: [(&str, &str); 15] = [
    ("`{ say = \"...\" }`", "text that the agent prints"),
    ("`{ think = \"...\" }`", "thoughts, which have no effect"),
    ("`{ write = \"path\", text = \"...\" }`", "writes a file, and creates missing folders"),
    (
        "`{ edit = \"path\", old = \"...\", new = \"...\" }`",
        "replaces text that occurs exactly once",
    ),
    (
        "`{ run = \"command\" }`",
        "runs a command with `sh`; an exit code other than 0 is a tool error",
    ),
    ("`{ read = \"path\" }`", "reads a file"),
    ("`{ denied = \"Bash\" }`", "tries to use this tool without permission"),
    (
        "`{ denied = \"Bash\", command = \"make\" }`",
        "tries to run this command, which runs if the permissions of the run allow it",
    ),
    ("`{ wait = \"300ms\" }`", "prints nothing for this time"),
    ("`{ garbage = \"...\" }`", "prints this line as it is"),
    ("`{ flood = 100000 }`", "prints this number of bytes in lines that are not messages"),
    (
        "`{ quota = 80, window = \"five_hour\" }`",
        "reports the used share of the account's quota, in percent; or `\"seven_day\"`",
    ),
    ("`{ compact = true }`", "a summary replaces the full context"),
    ("`{ run = \"command\", times = 30 }`", "repeats the step; every step can have `times`"),
    ("`{ repeat = [...], times = 10 }`", "repeats these steps"),
];

const ENDS: [(&str, &str); 21] = [
    ("`{ result = \"...\" }`", "a final text and a successful result"),
    ("`{ hang_after_result = \"...\" }`", "the same, but then the process hangs"),
    ("`{ hang = true }`", "hangs without further output"),
    ("`{ hang_at_start = true }`", "hangs without any output"),
    ("`{ crash = 139 }`", "exits with this code, without a result"),
    ("`{ signal = 9 }`", "this signal kills it, without a result"),
    ("`{ silent_exit = 0 }`", "exits with this code, without any output"),
    ("`{ bad_start = \"...\" }`", "prints this on standard error and exits with 1"),
    ("`{ max_turns = true }`", "reaches the maximum number of turns"),
    ("`{ budget = true }`", "reaches the cost cap"),
    ("`{ limit = \"2h13m\" }`", "reaches the account's usage limit, which resets after this time"),
    ("`{ limit_unknown = true }`", "too many requests, with an unknown reset time"),
    ("`{ overloaded = true }`", "the provider is overloaded"),
    ("`{ network = true }`", "cannot reach the provider"),
    ("`{ auth = \"...\" }`", "the provider refuses the login with this message"),
    ("`{ billing = true }`", "the account has no credit"),
    ("`{ too_long = true }`", "the prompt is too long for the model"),
    ("`{ no_model = true }`", "the model does not exist"),
    ("`{ error = \"...\" }`", "the provider rejects the request with this message"),
    ("`{ refuse = true }`", "the model declines"),
    ("`{ output_limit = true }`", "the answer is too long"),
];

/// Returns the whole page as Markdown.
pub fn page() -> String {
    let mut page = TOP.to_owned();
    table(&mut page, "## An entry", "field", &SCENE);
    table(&mut page, "## Keys of `[[verify]]` instead of `end`", "field", &VERIFY);
    table(&mut page, "## Keys of `[[validate]]` instead of `end`", "field", &VALIDATE);
    table(&mut page, "## Steps", "step", &STEPS);
    table(&mut page, "## Values of `end`", "value", &ENDS);
    page.push_str(
        "An `end` that hangs can also have `ignore_term = true`: then only SIGKILL kills the process.\n\n",
    );
    page.push_str("## An example\n\n```toml\n");
    page.push_str(EXAMPLE);
    page.push_str("```\n");
    page
}

fn table(page: &mut String, title: &str, column: &str, rows: &[(&str, &str)]) {
    // Writing to a string cannot fail.
    let _ = write!(page, "{title}\n\n| {column} | meaning |\n| --- | --- |\n");
    for (name, meaning) in rows {
        let _ = writeln!(page, "| {name} | {meaning} |");
    }
    page.push('\n');
}
