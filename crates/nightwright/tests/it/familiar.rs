//! Commands and options of other loop runners: each gets one line with the nightwright command that
//! does the same.

use super::harness::TestEnv;

/// A command line without the program, and a part of its answer.
const ANSWERS: [(&str, &str); 56] = [
    // claude-iterate
    ("init migrate-api", "`nightwright new migrate-api`"),
    ("init --force", "`nightwright init --yes`"),
    ("init --notify-url https://ntfy.sh/x", "`nightwright config set notify.url URL`"),
    ("setup migrate-api", "`nightwright task setup migrate-api`"),
    ("edit migrate-api", "`nightwright task edit migrate-api`"),
    ("validate migrate-api", "`nightwright task validate migrate-api`"),
    ("ls", "`nightwright list`"),
    ("list --status error", "`nightwright list --json`"),
    ("show migrate-api", "`nightwright task show migrate-api`"),
    ("clean migrate-api --force", "`nightwright task delete migrate-api`"),
    ("reset migrate-api", "`nightwright task reset migrate-api`"),
    ("archive save migrate-api", "`nightwright task archive migrate-api`"),
    ("archive list", "`ls .nightwright/archive`"),
    ("archive restore migrate-api", "`nightwright task restore migrate-api`"),
    ("archive show migrate-api", "`nightwright task restore migrate-api`"),
    ("archive delete migrate-api --force", "delete the file in `.nightwright/archive`"),
    ("template list", "`nightwright task template list`"),
    ("tpl list", "`nightwright task template --help`"),
    ("config --keys", "`nightwright config list`"),
    ("config --list", "`nightwright config list`"),
    ("config --global notifyUrl https://ntfy.sh/x", "`nightwright config set --user KEY VALUE`"),
    ("config --workspace shop verification.depth deep", "`nightwright config set --task shop"),
    ("config notifyUrl https://ntfy.sh/x", "`nightwright config set notify.url URL`"),
    ("config defaultMaxIterations 100", "`nightwright config set limits.max_iterations N`"),
    ("config claude.args --add --verbose", "`nightwright config set agent.args ARG ...`"),
    ("verify shop --show-report", "`nightwright verify shop --json`"),
    ("run shop --no-colors", "`--color never`"),
    // fresher
    ("upgrade --check", "`nightwright version`"),
    ("docker shell", "`nightwright run` inside your container"),
    ("migrate-plan --dry-run", "`nightwright build`"),
    ("verify shop --plan-file PLAN.md", "`nightwright verify shop`"),
    // claude-loop
    ("-p x --max-runs 5", "`nightwright run -p GOAL -m 10`"),
    ("--prompt x", "`nightwright run -p GOAL -m 10`"),
    ("run -p x --max-runs 5", "use `-m`"),
    ("run -p x --max-runs=5", "use `-m`"),
    ("run -p x --worktree tests", "`git worktree add DIR`"),
    ("--list-worktrees", "`git worktree list`"),
    ("run -p x --cleanup-worktree", "`git worktree remove DIR`"),
    ("run -p x --disable-commits", "only the agent makes commits"),
    ("run -p x --disable-branches", "works on the current branch"),
    ("run -p x --merge-strategy squash", "`nightwright report`"),
    ("run -p x --owner me", "does not use GitHub"),
    ("run -p x --ci-retry-max 2", "`--verify CMD`"),
    ("run -p x --reset-principles", "`nightwright principles --yes`"),
    ("run -p x --stream", "`nightwright log -f`"),
    ("run -p x --plan-only", "`nightwright plan`"),
    ("run --resume 7", "`nightwright resume RUN`"),
    ("run -p x --disable-updates", "never updates itself"),
    ("update", "`nightwright version`"),
    // ralph
    ("init --detect", "`nightwright init`"),
    ("run plans/pending/shop.md --max 30", "use `-m`"),
    ("worker --once", "`nightwright run --all`"),
    ("cleanup --dry-run", "`git worktree prune`"),
    ("run shop --create-pr", "`nightwright report`"),
    // the implementer loop
    ("--status", "`nightwright status`"),
    ("--reset", "`nightwright task reset TASK`"),
];

#[test]
fn a_familiar_command_or_option_gets_one_line_with_the_equivalent() {
    let env = TestEnv::new();
    for (line, answer) in ANSWERS {
        let output = env.run(&line.split(' ').collect::<Vec<_>>()).exits(2);
        let lines: Vec<_> = output.err.lines().collect();
        let [error, hint] = lines[..] else { panic!("{line}: {}", output.err) };
        assert!(error.starts_with("error: unknown "), "{line}: {error}");
        assert!(hint.starts_with("hint: ") && hint.contains(answer), "{line}: {hint}");
        assert_eq!(output.out, "", "{line}");
    }
    assert!(!env.project().join(".nightwright").exists());
}

#[test]
fn a_typo_is_no_familiar_word() {
    let env = TestEnv::new();
    env.run(&["rnu"]).exits(2).says(&["did you mean `nightwright run`?"]);
    env.run(&["run", "-p", "x", "--max-iteration", "3"]).exits(2).says(&["--max-iterations"]);
    env.run(&["config", "sett", "delay", "1"]).exits(2).says(&["did you mean"]);
}
