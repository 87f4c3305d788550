//! Principles: how they are written, shown, passed to the agent and collected from it.

mod collecting;

use std::fs;
use std::os::unix::fs::symlink;

use insta::assert_snapshot;
use nightwright_core::principles::{Preset, Principles, Weight};

use super::agent_env::NIGHTWRIGHT;
use super::harness::{Output, TestEnv, finish};
use super::terminal::Terminal;

const FILE: &str = ".nightwright/principles.toml";
const FOREIGN: &str = ".claude/principles.yaml";
const YAML: &str = "version: \"2.3\"\npreset: opensource # ours\nlayer0:\n  auditability: 9\nlayer1:\n  blast_radius: 1\n";

fn weight(number: u8) -> Weight {
    Weight::new(number).unwrap()
}

/// The principles in the YAML file above.
fn imported() -> Principles {
    Principles::of(Preset::Opensource)
        .with("auditability", weight(9))
        .with("blast_radius", weight(1))
}

fn written(env: &TestEnv) -> Principles {
    Principles::parse_toml(&env.read(FILE)).unwrap()
}

/// A prompt from the folder of the only run.
fn prompt(env: &TestEnv, name: &str) -> String {
    fs::read_to_string(env.runs()[0].join("prompts").join(name)).unwrap()
}

fn run(env: &TestEnv, script: &str, more: &[&str]) -> Output {
    let script = env.script(script);
    let mut arguments =
        vec!["run", "-p", "work", "--dry-run", "--rehearsal", &script, "--no-delay"];
    arguments.extend(more);
    env.run(&arguments)
}

#[test]
fn a_preset_is_written_without_a_question() {
    for preset in Preset::ALL {
        let env = TestEnv::new();
        let output = env.run(&["principles", "--preset", preset.name()]).exits(0);
        assert_eq!(output.out, format!("{FILE}\n"));
        assert_eq!(written(&env), Principles::of(preset));
        assert!(output.err.contains("nightwright principles --show"), "{}", output.err);
    }
}

#[test]
fn the_file_says_what_low_and_high_weights_mean() {
    let env = TestEnv::new();
    env.run(&["principles", "--preset", "startup"]).exits(0);
    let text = env.read(FILE);
    let head: Vec<_> = text.lines().take(12).collect();
    assert_snapshot!(head.join("\n"), @r#"
    # Trade-off priorities of this project: weights from 1 to 10. A missing weight
    # comes from the preset. To print the text for the agent: nightwright principles --show
    preset = "startup"

    # The product itself.
    [product]
    # 1-3: Let people and input in easily; verify only where harm is possible.
    # 8-10: Trust nothing unverified: input, identity, every call.
    trust_architecture = 5
    # 1-3: Let algorithms choose what to show and keep.
    # 8-10: Let people decide what to show and keep.
    curation_model = 4
    "#);
}

#[test]
fn a_file_that_exists_is_not_overwritten_and_with_yes_it_is_kept() {
    let env = TestEnv::with_files(&[(FILE, "# mine\npreset = \"custom\"\n")]);
    let output = env.run(&["principles", "--preset", "startup"]).exits(1);
    assert_snapshot!(output.err, @"
    error: .nightwright/principles.toml already exists
    hint: run `nightwright principles --show` to print it, or add `--yes` to replace it (nightwright keeps the old file as `.nightwright/principles.toml.bak`)
    ");
    assert_eq!(env.read(FILE), "# mine\npreset = \"custom\"\n");

    env.run(&["principles", "--preset", "startup", "--yes"]).exits(0);
    assert_eq!(written(&env), Principles::of(Preset::Startup));
    assert_eq!(env.read(".nightwright/principles.toml.bak"), "# mine\npreset = \"custom\"\n");
    // An identical file needs no backup.
    env.run(&["principles", "--preset", "startup", "--yes"]).exits(0);
    env.run(&["principles", "--preset", "enterprise", "--yes"]).exits(0);
    assert!(env.read(".nightwright/principles.toml.bak2").contains("preset = \"startup\""));
    assert!(!env.project().join(".nightwright/principles.toml.bak3").exists());
}

#[test]
fn without_a_terminal_there_is_no_question() {
    let env = TestEnv::new();
    let (reader, _writer) = std::io::pipe().unwrap();
    let output = finish(env.command(&["principles"]).stdin(reader).spawn().unwrap()).exits(2);
    assert_snapshot!(output.err, @"
    error: cannot ask for principles: not a terminal
    hint: add --preset startup, enterprise, opensource or custom, or --from FILE
    ");
    assert!(!env.project().join(FILE).exists());
}

#[test]
fn without_a_terminal_the_file_of_another_tool_is_taken_unless_something_else_was_chosen() {
    let env = TestEnv::with_files(&[(FOREIGN, YAML)]);
    env.run(&["principles"]).exits(0).says(&["using `.claude/principles.yaml`"]);
    assert_eq!(written(&env), imported());
    assert_eq!(env.read(FOREIGN), YAML);

    let env = TestEnv::with_files(&[(FOREIGN, YAML)]);
    env.run(&["principles", "--preset", "startup"]).exits(0);
    assert_eq!(written(&env), Principles::of(Preset::Startup));
}

#[test]
fn invalid_input_is_named_and_writes_nothing() {
    let env = TestEnv::with_files(&[
        (FOREIGN, "layer0:\n  auditability: 99\n"),
        ("bad.toml", "[development]\nspeed_corectness = 3\n"),
        ("folder/x", ""),
    ]);
    for (arguments, words) in [
        (
            vec!["principles"],
            vec![FOREIGN, ":2:17", "`layer0.auditability` must be a whole number from 1 to 10"],
        ),
        (
            vec!["principles", "--from", "bad.toml"],
            vec!["bad.toml:2:1", "did you mean `speed_correctness`?"],
        ),
        (
            vec!["principles", "--from", "nothing.toml"],
            vec!["--from `nothing.toml` does not exist"],
        ),
        (vec!["principles", "--from", "folder"], vec!["folder", "not a regular file"]),
        (vec!["principles", "--preset", "statup"], vec!["startup, enterprise, opensource, custom"]),
        (vec!["principles", "--preset", "startup", "--from", "bad.toml"], vec!["cannot be used"]),
        (vec!["run", "-p", "x", "-m", "1", "--dry-run", "--principles-file", "no"], vec!["`no`"]),
        (
            vec!["run", "-p", "x", "-m", "1", "--dry-run", "--principles-file", "bad.toml"],
            vec!["did you mean `speed_correctness`?"],
        ),
    ] {
        env.run(&arguments).exits(2).says(&words);
    }
    assert!(!env.project().join(FILE).exists());
    assert!(env.runs().is_empty());
}

#[test]
fn a_link_out_of_the_project_is_not_followed() {
    let env = TestEnv::new();
    fs::create_dir(env.project().join(".nightwright")).unwrap();
    fs::write(env.path("theirs"), "preset = \"startup\"").unwrap();
    symlink(env.path("theirs"), env.project().join(FILE)).unwrap();
    env.run(&["principles", "--preset", "custom", "--yes"]).exits(1).says(&["outside the project"]);
    env.run(&["prompt", "-p", "x"]).exits(2).says(&["outside the project"]);
    assert_eq!(fs::read_to_string(env.path("theirs")).unwrap(), "preset = \"startup\"");
}

#[test]
fn the_text_for_the_agent_can_be_shown_before_and_after_writing() {
    let env = TestEnv::new();
    env.run(&["principles", "--show"]).exits(1).says(&["cannot read principles"]);
    let before = env.run(&["principles", "--show", "--preset", "startup"]).exits(0).out;
    assert!(!env.project().join(FILE).exists());
    env.run(&["principles", "--preset", "startup"]).exits(0);
    assert_eq!(env.run(&["principles", "--show"]).exits(0).out, before);
    assert_snapshot!(before, @"
    # Principles of this project

    These weights from 1 to 10 determine how to make trade-offs.

    Clear preferences:

    - scope_philosophy 2: Build the minimum that solves the problem.
    - ux_philosophy 8: Simple first: it works without explanation.
    - auditability 3: Log little: only enough to diagnose problems.
    - speed_correctness 3: Speed comes first: a rough result now is better than a perfect one later.
    - reversibility_priority 8: Make every step reversible.
    - urgency_tiers 3: Everything is urgent: take the shortest path to a usable result.
    - cost_efficiency 9: Use existing libraries and services before building anything.

    No clear preference (meaning of 1 - meaning of 10): trust_architecture 5 (permissive - strict verification); curation_model 4 (algorithms - human judgment); monetization_model 5 (free - premium); privacy_posture 6 (collects data - minimal data); authority_stance 5 (user freedom - strong guidance); interoperability 6 (closed - open); innovation_stability 5 (new - proven); blast_radius 6 (large changes - small changes); clarity_of_intent 6 (implicit - explicit); security_posture 6 (basic - maximum); migration_burden 4 (migrations are fine - avoid them).

    If two principles conflict with each other, or one conflicts with the task:

    1. Check whether they are compatible after all: most are.
    2. Constraints (what must be, or must not be) come before objectives (what would be good).
    3. Then: legal > security > user intent > data integrity > quality > speed > UX.

    Note the choice and the reason in one sentence, and continue. If these rules do not settle it, continue with other work. Put this on a line of your last message, not indented. nightwright may then ask a model to decide the conflict for you:

        PRINCIPLE_CONFLICT_UNRESOLVED: the two sides of the conflict, in one sentence
    ");
}

#[test]
fn every_prompt_of_a_run_begins_with_the_principles() {
    let env = TestEnv::with_files(&[(FILE, "preset = \"startup\"\n")]);
    let text = Principles::of(Preset::Startup).text();
    assert!(env.run(&["prompt", "-p", "work"]).exits(0).out.starts_with(&text));
    run(&env, "[[attempt]]\nsteps = [{ write = \"a\", text = \"a\" }]\n", &["-m", "2"]).exits(0);
    for name in ["001-1.md", "002-1.md"] {
        let prompt = prompt(&env, name);
        assert!(prompt.starts_with(&format!("{text}\n# One iteration\n")), "{prompt}");
        assert!(!prompt.contains("## Principles to write down"));
    }
}

#[test]
fn a_file_named_for_a_run_beats_that_of_the_configuration() {
    let env = TestEnv::with_files(&[(FILE, "preset = \"startup\"\n"), ("sub/x", "")]);
    fs::write(env.path("mine.yaml"), YAML).unwrap();
    let mut command =
        env.command(&["prompt", "-p", "work", "-C", "..", "--principles-file", "../../mine.yaml"]);
    command.current_dir(env.project().join("sub"));
    let output = finish(command.spawn().unwrap()).exits(0);
    assert!(output.out.starts_with(&imported().text()), "{}", output.out);
}

#[test]
fn a_file_that_the_configuration_names_has_to_be_there_unless_it_is_collected() {
    let env = TestEnv::new();
    env.run(&["config", "set", "principles.file", "docs/p.toml"]).exits(0);
    env.run(&["prompt", "-p", "work"]).exits(2).says(&["`docs/p.toml`, which does not exist"]);
    env.run(&["config", "set", "principles.collect", "true"]).exits(0);
    let output = env.run(&["prompt", "-p", "work"]).exits(0);
    assert!(output.out.contains("write them into `docs/p.toml`"), "{}", output.out);
    // The command writes to the file in the configuration.
    assert_eq!(env.run(&["principles", "--preset", "custom"]).exits(0).out, "docs/p.toml\n");
    let output = env.run(&["prompt", "-p", "work"]).exits(0);
    assert!(output.out.starts_with("# Principles of this project"), "{}", output.out);
    env.run(&["config", "set", "principles.file", "p.yaml"]).exits(0);
    env.run(&["principles", "--preset", "custom"]).exits(2).says(&["writes only TOML"]);
    env.run(&["prompt", "-p", "work"]).exits(2).says(&["ends in `.toml`"]);
    env.run(&["config", "set", "principles.file", ""]).exits(0);
    env.run(&["prompt", "-p", "work"]).exits(0);
}

/// A project with settings and a task.
fn with_task() -> TestEnv {
    let env = TestEnv::new();
    env.run(&["new", "t"]).exits(0);
    env.file(".nightwright/tasks/t/INSTRUCTIONS.md", "Work.\n");
    env
}

#[test]
fn a_file_that_is_not_there_is_named_with_who_names_it_and_what_helps() {
    let env = with_task();
    env.run(&["config", "set", "principles.file", "docs/p.toml"]).exits(0);
    env.run(&["prompt", "t"]).exits(2).says(&[
        "`docs/p.toml`, which does not exist",
        "run `nightwright principles` to write it, or use the default file (now set by project (",
        "): nightwright config unset principles.file",
    ]);
    env.run(&["principles", "--show"]).exits(1).says(&["(now set by project ("]);
    env.run(&["config", "unset", "principles.file"]).exits(0);

    env.run(&["config", "set", "--task", "t", "principles.file", "a b.toml"]).exits(0);
    let output = env.run(&["prompt", "t"]).exits(2).says(&[
        "(now set by task (",
        "task.toml",
        "nightwright config unset --task t principles.file",
    ]);
    // The advice in the message works.
    let (name, file) = ("NIGHTWRIGHT_PRINCIPLES_FILE", "a b.toml");
    assert!(output.err.contains(&format!("run `{name}='{file}' nightwright principles`")));
    let mut command = env.command(&["principles", "--preset", "startup"]);
    finish(command.env(name, file).spawn().unwrap()).exits(0);
    env.run(&["prompt", "t"]).exits(0);

    env.run(&["config", "set", "--task", "t", "principles.file", "p.yaml"]).exits(0);
    let output = env.run(&["prompt", "t"]).exits(2).says(&["create the file", "ends in `.toml`"]);
    assert!(!output.err.contains("nightwright principles"), "{}", output.err);
}

#[test]
fn a_usual_place_of_the_user_is_no_promise_that_a_file_is_there() {
    let env = TestEnv::new();
    env.run(&["config", "set", "--user", "principles.file", "docs/p.toml"]).exits(0);
    let output = env.run(&["prompt", "-p", "work"]).exits(0);
    assert!(output.out.starts_with("# One iteration"), "{}", output.out);
    assert_eq!(env.run(&["principles", "--preset", "custom"]).exits(0).out, "docs/p.toml\n");
    let output = env.run(&["prompt", "-p", "work"]).exits(0);
    assert!(output.out.starts_with("# Principles of this project"), "{}", output.out);
}

#[test]
fn with_principles_disabled_none_are_written() {
    for (whose, back) in [
        (&[][..], "nightwright config unset principles.file"),
        (&["--user"], "nightwright config unset --user principles.file"),
    ] {
        let env = TestEnv::new();
        let set = [&["config", "set"], whose, &["principles.file", ""]].concat();
        env.run(&set).exits(0);
        let output = env.run(&["principles", "--preset", "startup"]).exits(2);
        assert_eq!(
            output.err,
            format!(
                "error: principles are off: `principles.file` is empty\n\
                 hint: unset it: {back}\n"
            )
        );
        assert!(!env.project().join(FILE).exists());
        env.run(&["principles", "--show"]).exits(2);
        env.run(&["principles", "--show", "--preset", "startup"]).exits(0);
    }
}

#[test]
fn an_unwritable_path_is_reported_before_the_first_question() {
    let env = TestEnv::with_files(&[("taken", "a file")]);
    env.run(&["config", "set", "principles.file", "taken/p.toml"]).exits(0);
    let output = env.run(&["principles"]).exits(1).says(&["cannot write", "taken/p.toml"]);
    assert!(!output.err.contains("terminal"), "{}", output.err);
}

#[test]
fn files_of_nightwright_are_never_overwritten() {
    let env = with_task();
    env.run(&["config", "set", "delay", "1s"]).exits(0);
    symlink(".nightwright", env.project().join("link")).unwrap();
    let task = ".nightwright/tasks/t/task.toml";
    env.file(task, "delay = \"2s\"\n");
    for (file, own) in [
        (".nightwright/config.toml", ".nightwright/config.toml"),
        ("link/config.toml", ".nightwright/config.toml"),
        (task, task),
        (".nightwright/tasks/t/INSTRUCTIONS.md", ".nightwright/tasks/t/INSTRUCTIONS.md"),
    ] {
        env.run(&["config", "set", "principles.file", file]).exits(0);
        let before = env.read(own);
        let arguments = ["principles", "--preset", "startup", "--yes"];
        env.run(&arguments).exits(2).says(&[file, "nightwright keeps its own files"]);
        // The agent is not asked to write there either.
        let mut command = env.command(&["prompt", "t"]);
        command.env("NIGHTWRIGHT_PRINCIPLES_COLLECT", "true");
        finish(command.spawn().unwrap()).exits(2).says(&["its own files"]);
        assert_eq!(env.read(own), before);
    }
    env.run(&["config", "set", "principles.file", ".nightwright/tasks/t/p.toml"]).exits(0);
    env.run(&["principles", "--preset", "startup"]).exits(0);
}

#[test]
fn a_verification_needs_no_principles() {
    let env = TestEnv::with_files(&[(".nightwright/config.toml", "principles.collect = true\n")]);
    env.run(&["new", "t"]).exits(0);
    env.file(".nightwright/tasks/t/INSTRUCTIONS.md", "Work.\n").file(FILE, "broken");
    env.run(&["verify", "t", "--verify", "true", "--dry-run"]).exits(0);
}

#[test]
fn init_imports_them() {
    let env = TestEnv::with_files(&[(FOREIGN, YAML)]);
    env.run(&["init", "--yes"]).exits(0).says(&["Found claude-loop (`.claude/principles.yaml`)"]);
    assert_eq!(written(&env), imported());
}

#[test]
fn init_imports_them_to_where_the_user_has_them_or_leaves_them_alone() {
    let env = TestEnv::with_files(&[(FOREIGN, YAML)]);
    env.run(&["config", "set", "--user", "principles.file", "docs/p.toml"]).exits(0);
    env.run(&["init", "--yes"]).exits(0).says(&[".claude/principles.yaml -> docs/p.toml"]);
    assert_eq!(Principles::parse_toml(&env.read("docs/p.toml")).unwrap(), imported());
    assert!(!env.project().join(FILE).exists());

    for (file, why) in [
        ("", "`principles.file` turns principles off"),
        (FOREIGN, "nightwright uses it unchanged"),
        ("other.yml", "`principles.file` names `other.yml`"),
        (".nightwright/config.toml", "`principles.file` names `.nightwright/config.toml`"),
        ("mine.toml", "`mine.toml` already exists"),
    ] {
        let env = TestEnv::with_files(&[(FOREIGN, YAML), ("mine.toml", "mine")]);
        env.run(&["config", "set", "--user", "principles.file", file]).exits(0);
        env.run(&["init", "--yes"]).exits(0).says(&["skipped `", why]);
        assert!(!env.project().join(FILE).exists());
        assert_eq!(env.read("mine.toml"), "mine");
    }
}

fn answers(terminal: &Terminal, all: &[(&str, &str)]) {
    for (question, answer) in all {
        terminal.shows(question);
        terminal.types(&["-l", answer]);
        terminal.types(&["Enter"]);
    }
}

#[test]
fn on_a_terminal_a_preset_and_single_weights_are_asked_for() {
    let env = TestEnv::with_files(&[(FOREIGN, YAML)]);
    let terminal = Terminal::run(&env, &format!("{NIGHTWRIGHT} principles"));
    answers(
        &terminal,
        &[
            ("Import it? [Y/n]", "maybe"),
            ("Please answer y or n.", "n"),
            ("preset [custom]:", "strtup"),
            ("Did you mean `startup`?", "startup"),
            ("Which weight do you want to change?", "auditability"),
            ("auditability [3]:", "12"),
            ("Please answer with a whole number from 1 to 10.", "8"),
            ("Which weight do you want to change?", "18"),
            ("migration_burden [4]:", "2"),
            ("8-10  Avoid migrations", ""),
        ],
    );
    let screen = terminal.shows("exit=0");
    assert!(screen.contains("Wrote the principles of the preset `startup`"), "{screen}");
    let wanted = Principles::of(Preset::Startup)
        .with("auditability", weight(8))
        .with("migration_burden", weight(2));
    assert_eq!(written(&env), wanted);
}

#[test]
fn an_import_is_shown_once() {
    let env = TestEnv::with_files(&[(FOREIGN, YAML)]);
    let terminal = Terminal::run(&env, &format!("{NIGHTWRIGHT} principles"));
    answers(&terminal, &[("Import it? [Y/n]", "y"), ("Which weight do you want to change?", "")]);
    let screen = terminal.shows("exit=0");
    assert_eq!(screen.matches("migration_burden").count(), 1, "{screen}");
    assert_eq!(written(&env), imported());
}

#[test]
fn ctrl_c_or_the_end_of_input_at_a_question_writes_nothing() {
    for (key, code) in [("C-c", "exit=130"), ("C-d", "exit=1")] {
        let env = TestEnv::new();
        let terminal = Terminal::run(&env, &format!("{NIGHTWRIGHT} principles"));
        answers(&terminal, &[("preset [custom]:", "2")]);
        terminal.shows("Which weight do you want to change?");
        terminal.types(&[key]);
        // A line can be wrapped anywhere.
        let screen = terminal.shows(code).to_lowercase().replace('\n', "");
        assert!(screen.contains("nightwright wrote nothing"), "{screen}");
        assert!(!env.project().join(FILE).exists());
    }
}

#[test]
fn the_decisions_that_the_agent_reports_are_kept_and_asked_for_on_request() {
    let env = TestEnv::new();
    let script = env.script(
        "[[attempt]]\nend = { result = \"\"\"\n- **Decision**: keep `v1`\n- **Rationale**: stability\n\n\
         <promise>COMPLETE</promise>\"\"\" }\n",
    );
    let words = ["run", "-p", "x y", "-m", "1", "--dry-run", "--rehearsal", &script];
    env.run(&[&words[..], &["--log-decisions"]].concat()).exits(0);
    let run = &env.runs()[0];
    let line = fs::read_to_string(run.join("decisions.jsonl")).unwrap();
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&line["by"], &line["iteration"]), (&"agent".into(), &1.into()));
    assert_eq!((&line["decision"], &line["rationale"]), (&"keep `v1`".into(), &"stability".into()));
    let prompt = fs::read_to_string(run.join("prompts/001-1.md")).unwrap();
    assert!(prompt.contains("**Decision**: what you decided"), "{prompt}");
}
