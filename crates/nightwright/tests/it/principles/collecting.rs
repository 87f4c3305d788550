//! Principles that the agent is to write, and what becomes of what it wrote.

use nightwright_core::event::{Event, NoteEvent, Record};

use super::*;
use crate::harness::{names, run_outcome};

const HEADING: &str = "## Principles to write down";

/// How many warnings say this.
fn warnings(journal: &[Record], why: &str) -> usize {
    let says = |record: &&Record| matches!(&record.event, Event::Note(NoteEvent::Warning { text }) if text.contains(why));
    journal.iter().filter(says).count()
}

const COLLECTS: &str = r#"
[[attempt]]
steps = [{ write = ".nightwright/principles.toml", text = "preset = \"enterprise\"\n" }, { write = "a", text = "a" }]
[[attempt]]
steps = [{ write = "b", text = "b" }]
[[attempt]]
steps = [{ write = "c", text = "c" }]
"#;

fn collecting() -> TestEnv {
    TestEnv::with_files(&[(".nightwright/config.toml", "principles.collect = true\n")])
}

#[test]
fn principles_that_the_first_iteration_writes_hold_from_the_second_on() {
    let env = collecting();
    run(&env, COLLECTS, &["-m", "2"]).exits(0);
    let first = prompt(&env, "001-1.md");
    assert!(first.starts_with("# One iteration\n"), "{first}");
    assert!(first.contains("## Principles to write down"), "{first}");
    let text = Principles::of(Preset::Enterprise).text();
    let second = prompt(&env, "002-1.md");
    assert!(second.starts_with(&text), "{second}");
    assert!(!second.contains("## Principles to write down"), "{second}");
    assert!(names(&env.journal()).contains(&"principles_adopted"));

    // They stay valid when the run is resumed, even without the file.
    fs::remove_file(env.project().join(FILE)).unwrap();
    env.run(&["resume", "-m", "3"]).exits(0);
    assert!(prompt(&env, "003-1.md").starts_with(&text));
}

#[test]
fn a_broken_file_is_a_warning_and_the_next_iteration_learns_what_is_wrong() {
    let env = collecting();
    let broken = COLLECTS.replacen("enterprise", "enterprize", 1);
    let mended = broken.replace(
        "{ write = \"b\", text = \"b\" }",
        "{ write = \".nightwright/principles.toml\", text = \"preset = 'enterprise'\" }, { write = \"b\", text = \"b\" }",
    );
    run(&env, &mended, &["-m", "3"]).exits(0);
    let why = "`.nightwright/principles.toml`, line 1: `preset` must be one of `startup`, \
               `enterprise`, `opensource`, `custom`; did you mean `enterprise`?";
    let journal = env.journal();
    assert_eq!(warnings(&journal, why), 1);
    let second = prompt(&env, "002-1.md");
    let (_, section) = second.split_once("## Principles to write down\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    assert!(section.contains(why) && section.contains("fix that file"), "{section}");
    assert_eq!(second.matches(why).count(), 1, "{second}");
    assert!(!second.contains("## New messages for you"), "{second}");
    let third = prompt(&env, "003-1.md");
    assert!(third.starts_with(&Principles::of(Preset::Enterprise).text()), "{third}");
    assert!(!third.contains(why), "{third}");
    assert_eq!(run_outcome(&journal), "max_iterations");
}

#[test]
fn principles_are_requested_only_in_the_first_prompt() {
    let env = collecting();
    let script = "[[attempt]]\nsteps = [{ write = \"a\", text = \"a\" }]\n\
                  [[attempt]]\nsteps = [{ write = \"b\", text = \"b\" }]\n";
    run(&env, script, &["-m", "2"]).exits(0);
    assert!(prompt(&env, "001-1.md").contains(HEADING));
    let second = prompt(&env, "002-1.md");
    assert!(!second.contains(HEADING), "{second}");
}

#[test]
fn a_file_that_was_left_broken_blocks_no_run_and_is_kept() {
    let env = collecting();
    let broken = "# mine\n[product]\nauditability = 11\n";
    env.file(FILE, broken);
    let output = run(&env, COLLECTS, &["-m", "2"]).exits(0);
    let why = "line 3: `product.auditability` must be a whole number from 1 to 10";
    let output =
        output.says(&["The principles file is invalid: `.nightwright/principles.toml`", why]);
    assert!(output.err.contains("asks the agent to fix it"), "{}", output.err);
    let first = prompt(&env, "001-1.md");
    assert!(first.contains(HEADING) && first.contains(why), "{first}");
    assert_eq!(prompt(&env, "001-1-principles.toml"), broken);
    assert!(prompt(&env, "002-1.md").starts_with(&Principles::of(Preset::Enterprise).text()));

    // Without the wish to collect them it is a mistake in a file, as ever.
    env.file(FILE, broken);
    env.run(&["config", "set", "principles.collect", "false"]).exits(0);
    env.run(&["prompt", "-p", "work"]).exits(2).says(&["principles.toml:3:16"]);
}

#[test]
fn a_principles_file_that_the_agent_must_not_fix_blocks_the_run() {
    let env = collecting();
    env.file("README.md", "Read me.\n").file("p.yaml", "layer0: 3\n");
    fs::write(env.path("theirs"), "broken").unwrap();
    symlink(env.path("theirs"), env.project().join("link.toml")).unwrap();
    fs::create_dir(env.project().join("folder.toml")).unwrap();
    for file in ["README.md", "p.yaml", "link.toml", "folder.toml"] {
        env.run(&["config", "set", "principles.file", file]).exits(0);
        run(&env, COLLECTS, &["-m", "1"]).exits(2).says(&[file]);
    }
    assert!(env.runs().is_empty());
}

#[test]
fn a_broken_file_is_one_warning_an_iteration_also_with_a_review() {
    let env = collecting();
    let broken = COLLECTS.replacen("enterprise", "enterprize", 1);
    run(&env, &broken, &["-m", "2", "-r"]).exits(0);
    let journal = env.journal();
    let reviews = names(&journal).iter().filter(|name| **name == "call_started").count();
    assert_eq!(reviews, 2, "{:?}", names(&journal));
    assert_eq!(warnings(&journal, "cannot use the principles"), 2);
}
