//! `bench sandbox`: what a sandbox adds to each iteration, and the time of its test.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use super::bench_env::BenchEnv;
use super::measure::{measure, median};
use crate::program::{self, built, cargo};

/// The number of rounds for each run; the median counts.
const ROUNDS: usize = 7;
/// The lengths of the two runs whose difference is the time of the iterations in between.
const SHORT: u32 = 1;
const LONG: u32 = 11;
/// The most that a sandbox may add to an iteration.
const MOST_ADDED: f64 = 15.0;
/// The most that its test may take.
const MOST_TEST: f64 = 50.0;

/// The agent: it changes a file and says so, in the form of Claude Code.
const AGENT: &str = r#"read -r prompt
echo work >> "$PWD/made.txt"
cat <<'END'
{"type":"system","subtype":"init","session_id":"s","model":"claude-x","tools":["Bash"],"mcp_servers":[],"permissionMode":"default","cwd":"/","apiKeySource":"none","claude_code_version":"2.1.325"}
{"type":"result","subtype":"success","is_error":false,"duration_ms":1,"num_turns":1,"result":"More remains.","session_id":"s","total_cost_usd":0.01,"usage":{"input_tokens":1,"output_tokens":1},"permission_denials":[]}
END
"#;

pub(crate) fn run(root: &Path) -> Result<(), String> {
    program::run(&mut cargo(root, &["build", "--release", "--package", "nightwright"]))?;
    let nightwright = built(root, "release");
    let env = BenchEnv::new("bench-sandbox")?;
    env.agent(AGENT)?;
    let git = "git init -q && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m a";
    program::run(env.command(Path::new("/bin/sh")).args(["-c", git]))?;

    let kinds = ["off", "bwrap"];
    let mut times = [const { Vec::new() }; 2];
    let mut tests = Vec::new();
    for round in 0..ROUNDS {
        eprintln!("==> round {} of {ROUNDS}", round + 1);
        for (kind, times) in kinds.iter().zip(&mut times) {
            let short = iterations(&env, &nightwright, kind, SHORT)?;
            let long = iterations(&env, &nightwright, kind, LONG)?;
            times.push(long.saturating_sub(short) / (LONG - SHORT));
        }
        tests.push(test(&env, &nightwright)?);
    }
    let middle = |times: Vec<Duration>| milliseconds(median(times).unwrap_or_default());
    let [off, bwrap] = times.map(middle);
    report(off, bwrap, middle(tests))
}

/// Runs this many iterations; returns the time.
fn iterations(
    env: &BenchEnv,
    nightwright: &Path,
    kind: &str,
    count: u32,
) -> Result<Duration, String> {
    let mut command = env.command(nightwright);
    command.args(["run", "-p", "move the handlers", "--quiet", "--sandbox", kind]);
    command.args(["-m", &count.to_string()]).stderr(Stdio::null());
    let taken = measure(&mut command)?;
    let made = fs::read_to_string(env.path("project/made.txt")).unwrap_or_default();
    let done = made.lines().count();
    env.tidy()?;
    fs::remove_file(env.path("project/made.txt"))
        .map_err(|error| format!("the agent did nothing: {error}"))?;
    if done == count as usize {
        Ok(taken.time)
    } else {
        Err(format!("{done} of {count} iterations in the sandbox `{kind}`"))
    }
}

/// The time that the test of the sandbox reports, without the start of nightwright.
fn test(env: &BenchEnv, nightwright: &Path) -> Result<Duration, String> {
    let mut command = env.command(nightwright);
    command.args(["sandbox", "test"]).stdout(Stdio::piped());
    let said = program::stdout(&mut command)?;
    let took = said.split(" ms").next().and_then(|text| text.split(' ').next_back()?.parse().ok());
    took.map(Duration::from_millis).ok_or_else(|| format!("no time in `{}`", said.trim()))
}

fn report(off: f64, bwrap: f64, test: f64) -> Result<(), String> {
    let added = bwrap - off;
    println!("\n| | ms | target |\n| --- | ---: | ---: |");
    println!("| an iteration without a sandbox | {off:.1} | |");
    println!("| an iteration with bwrap | {bwrap:.1} | |");
    println!("| added by the sandbox | {added:.1} | <= {MOST_ADDED} |");
    println!("| its test before the run | {test:.0} | <= {MOST_TEST} |");
    let mut missed = Vec::new();
    if added > MOST_ADDED {
        missed.push("the time added to an iteration");
    }
    if test > MOST_TEST {
        missed.push("the time of the test");
    }
    if missed.is_empty() { Ok(()) } else { Err(format!("targets missed: {}", missed.join(", "))) }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_sandbox_is_an_error() {
        assert_eq!(report(20.0, 34.0, 30.0), Ok(()));
        let slow = "targets missed: the time added to an iteration, the time of the test";
        assert_eq!(report(20.0, 36.0, 51.0), Err(slow.to_owned()));
    }
}
