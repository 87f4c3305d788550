//! The plain loops for comparison, as users write them: one never stops early, and one stops when
//! the completion marker is anywhere in the output.

use std::fs;
use std::path::Path;

use super::behaviour::Behaviour;
use super::observed::{HUNG, Observed};
use super::stage::{BehaviourEnv, to_the_end};

/// The timeout for the agent, in seconds.
const AGENT_TIMEOUT: &str = "60";
/// The timeout for an agent that hangs, short so that the benchmark does not take long.
const HUNG_AGENT_TIMEOUT: &str = "8";

#[derive(Clone, Copy, Debug)]
pub(super) enum PlainLoop {
    Bare,
    Grep,
}

impl PlainLoop {
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Bare => "bare loop",
            Self::Grep => "grep loop",
        }
    }

    fn script(self) -> &'static str {
        match self {
            Self::Bare => include_str!("loops/bare.sh"),
            Self::Grep => include_str!("loops/grep.sh"),
        }
    }
}

/// Plays a behavior with a plain loop.
pub(super) fn play(
    kind: PlainLoop,
    stage: &BehaviourEnv,
    program: &Path,
    behaviour: &Behaviour,
) -> Result<Observed, String> {
    let goal = stage.path("prompt.md");
    fs::write(&goal, &behaviour.goal).map_err(|error| format!("cannot write the goal: {error}"))?;
    let mut command = stage.command("/bin/bash".as_ref())?;
    command
        .args(["-c", kind.script()])
        .env("AGENT", program)
        .env("PROMPT", goal)
        .env("MAX", behaviour.max_iterations.to_string())
        .env("PATIENCE", if behaviour.hangs.is_some() { HUNG_AGENT_TIMEOUT } else { AGENT_TIMEOUT })
        .env("OUTPUT", stage.path("output"))
        .env("NIGHTWRIGHT_REHEARSAL_SCRIPT", stage.script());
    to_the_end(&mut command)?;
    let output = fs::read_to_string(stage.path("stdout"))
        .map_err(|error| format!("cannot read the output of the loop: {error}"))?;
    observed(&output, stage.holds(&behaviour.truth)?)
}

/// Parses the last line of a loop: the outcome and the number of iterations.
fn observed(output: &str, truth: bool) -> Result<Observed, String> {
    let line = output.lines().last().unwrap_or_default();
    let (outcome, iterations) = line.split_once(' ').ok_or("the loop did not say how it ended")?;
    let outcome = match outcome {
        "completed" | "max_iterations" | HUNG => outcome.to_owned(),
        other => return Err(format!("the loop ended as `{other}`")),
    };
    let iterations = iterations.parse().map_err(|_| format!("`{iterations}` is not a number"))?;
    let verified = outcome == "completed";
    Ok(Observed { outcome, verified, iterations, truth, ..Observed::default() })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Returns the output of a loop with this agent, after at most three iterations.
    fn ends(kind: PlainLoop, agent: &str, patience: &str) -> String {
        let name = format!("nightwright-plain-loop-{}-{}", std::process::id(), agent.len());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("rehearse"), agent).unwrap();
        let output = Command::new("/bin/bash")
            .args(["-c", kind.script()])
            .current_dir(&folder)
            .env("AGENT", "/bin/sh")
            .env("PROMPT", "/dev/null")
            .env("MAX", "3")
            .env("PATIENCE", patience)
            .env("OUTPUT", folder.join("output"))
            .output();
        fs::remove_dir_all(&folder).unwrap();
        String::from_utf8(output.unwrap().stdout).unwrap().trim_end().to_owned()
    }

    #[test]
    fn a_bare_loop_continues_whatever_the_agent_says() {
        assert_eq!(
            ends(PlainLoop::Bare, "echo '<promise>COMPLETE</promise>'", AGENT_TIMEOUT),
            "max_iterations 3"
        );
    }

    #[test]
    fn the_other_loop_accepts_the_marker_anywhere() {
        let late = "[ $NIGHTWRIGHT_ATTEMPT = 2 ] && echo 'not <promise>COMPLETE</promise> yet'";
        assert_eq!(ends(PlainLoop::Grep, late, AGENT_TIMEOUT), "completed 2");
        assert_eq!(
            ends(PlainLoop::Grep, "echo working; exit 1", AGENT_TIMEOUT),
            "max_iterations 3"
        );
    }

    #[test]
    fn an_agent_that_does_not_leave_keeps_a_loop_for_ever() {
        assert_eq!(ends(PlainLoop::Bare, "exec sleep 100", "1"), "hung 1");
    }

    #[test]
    fn the_last_line_says_how_a_loop_ended() {
        let seen = observed("noise\ncompleted 3\n", false).unwrap();
        assert_eq!((seen.outcome.as_str(), seen.iterations, seen.verified), ("completed", 3, true));
        for wrong in ["", "completed", "exploded 3", "hung many"] {
            assert!(observed(wrong, true).is_err(), "{wrong}");
        }
    }
}
