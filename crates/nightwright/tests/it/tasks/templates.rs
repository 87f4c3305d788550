//! Instructions kept to be used again.

use std::fs;

use super::{TestEnv, tree, with_task};

#[test]
fn a_template_is_the_instructions_with_every_box_open() {
    let env = with_task();
    env.file(".nightwright/tasks/a/TODO.md", "- [x] one\n- [ ] two\n");
    env.file(".nightwright/tasks/a/task.toml", "mode = \"loop\" # ours\n");
    env.file(".nightwright/tasks/a/NOTES.md", "private");
    let output = env.run(&["task", "template", "save", "a", "t"]).exits(0);
    assert!(output.out.contains("nightwright new NAME --from t"), "{}", output.out);
    env.run(&["task", "template", "use", "t", "b"]).exits(0);
    env.run(&["new", "c", "--from", "t", "--mode", "iterative"]).exits(0);
    for (task, settings) in
        [("b", "mode = \"loop\" # ours\n"), ("c", "mode = \"iterative\" # ours\n")]
    {
        let folder = env.project().join(".nightwright/tasks").join(task);
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        assert_eq!(read("INSTRUCTIONS.md"), "Move every handler.\n");
        assert_eq!(read("TODO.md"), "- [ ] one\n- [ ] two\n");
        assert_eq!(read("task.toml"), settings);
        assert!(!folder.join("NOTES.md").exists());
    }
    let output = env.run(&["task", "template", "show", "t"]).exits(0);
    assert!(output.out.contains("--- TODO.md\n- [ ] one"), "{}", output.out);

    let before = tree(&env.project());
    env.run(&["task", "template", "save", "b", "t"])
        .exits(2)
        .says(&["the template `t` already exists"]);
    env.run(&["task", "template", "use", "t", "b"]).exits(2).says(&["Task already exists: b"]);
    env.run(&["task", "template", "delete", "t"]).exits(2).says(&["needs confirmation", "--yes"]);
    assert_eq!(tree(&env.project()), before);
    env.run(&["task", "template", "delete", "t", "--yes"]).exits(0);
    env.run(&["task", "template", "show", "t"]).exits(2).says(&["there is no template `t`"]);
}

#[test]
fn the_projects_template_wins_over_the_users() {
    let env = with_task();
    env.run(&["task", "template", "save", "a", "t", "--user"]).exits(0);
    assert!(env.path("home/.config/nightwright/templates/t/INSTRUCTIONS.md").exists());
    env.file(super::INSTRUCTIONS, "ours");
    env.run(&["task", "template", "save", "a", "t"]).exits(0);
    let output = env.run(&["task", "template", "list"]).exits(0);
    let owners: Vec<_> =
        output.out.lines().map(|line| line.split_whitespace().nth(1).unwrap()).collect();
    assert_eq!(owners, ["project", "user"]);
    env.run(&["new", "b", "--from", "t"]).exits(0);
    let text = |task: &str| {
        let file = format!(".nightwright/tasks/{task}/INSTRUCTIONS.md");
        fs::read_to_string(env.project().join(file)).unwrap()
    };
    assert_eq!(text("b"), "ours");
    env.run(&["task", "template", "use", "t", "c", "--user"]).exits(0);
    assert_eq!(text("c"), "Move every handler.\n");
    env.run(&["task", "template", "delete", "t", "--yes"]).exits(0);
    env.run(&["task", "template", "use", "t", "d"]).exits(0);
    assert_eq!(text("d"), "Move every handler.\n");
}

#[test]
fn an_invalid_template_is_refused() {
    let env = TestEnv::new();
    env.run(&["new", "a"]).exits(0);
    env.run(&["task", "template", "save", "a"]).exits(2).says(&["has no instructions to keep"]);
    env.file(super::INSTRUCTIONS, "x");
    for name in ["", "../x", "a/b", "ä"] {
        env.run(&["task", "template", "save", "a", "--", name])
            .exits(2)
            .says(&["invalid template name"]);
        env.run(&["new", "b", "--from", name]).exits(2).says(&["invalid template name"]);
    }
    env.run(&["new", "b", "--from", "t"]).exits(2).says(&["there is no template `t`"]);
    assert!(!env.project().join(".nightwright/tasks/b").exists());
    env.run(&["task", "template", "list"]).exits(0).says(&["no templates yet"]);
}
