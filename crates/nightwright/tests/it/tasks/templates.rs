//! Instructions kept to be used again.

use std::fs;

use super::{Hermit, tree, with_task};

#[test]
fn a_template_is_the_instructions_with_every_box_open() {
    let hermit = with_task();
    hermit.file(".nightwright/tasks/a/TODO.md", "- [x] one\n- [ ] two\n");
    hermit.file(".nightwright/tasks/a/task.toml", "mode = \"loop\" # ours\n");
    hermit.file(".nightwright/tasks/a/NOTES.md", "private");
    let did = hermit.run(&["template", "save", "a", "t"]).exits(0);
    assert!(did.out.contains("nightwright new NAME --from t"), "{}", did.out);
    hermit.run(&["template", "use", "t", "b"]).exits(0);
    hermit.run(&["new", "c", "--from", "t", "--mode", "iterative"]).exits(0);
    for (task, settings) in
        [("b", "mode = \"loop\" # ours\n"), ("c", "mode = \"iterative\" # ours\n")]
    {
        let folder = hermit.project().join(".nightwright/tasks").join(task);
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        assert_eq!(read("INSTRUCTIONS.md"), "Move every handler.\n");
        assert_eq!(read("TODO.md"), "- [ ] one\n- [ ] two\n");
        assert_eq!(read("task.toml"), settings);
        assert!(!folder.join("NOTES.md").exists());
    }
    let did = hermit.run(&["template", "show", "t"]).exits(0);
    assert!(did.out.contains("--- TODO.md\n- [ ] one"), "{}", did.out);

    let before = tree(&hermit.project());
    hermit.run(&["template", "save", "b", "t"]).exits(2).says(&["there is a template `t` already"]);
    hermit.run(&["template", "use", "t", "b"]).exits(2).says(&["Task already exists: b"]);
    hermit.run(&["template", "delete", "t"]).exits(2).says(&["needs --force"]);
    assert_eq!(tree(&hermit.project()), before);
    hermit.run(&["template", "delete", "t", "--force"]).exits(0);
    hermit.run(&["template", "show", "t"]).exits(2).says(&["there is no template `t`"]);
}

#[test]
fn the_projects_template_wins_over_the_users() {
    let hermit = with_task();
    hermit.run(&["template", "save", "a", "t", "--user"]).exits(0);
    assert!(hermit.path("home/.config/nightwright/templates/t/INSTRUCTIONS.md").exists());
    hermit.file(super::INSTRUCTIONS, "ours");
    hermit.run(&["template", "save", "a", "t"]).exits(0);
    let did = hermit.run(&["template", "list"]).exits(0);
    let owners: Vec<_> =
        did.out.lines().map(|line| line.split_whitespace().nth(1).unwrap()).collect();
    assert_eq!(owners, ["project", "user"]);
    hermit.run(&["new", "b", "--from", "t"]).exits(0);
    let text = |task: &str| {
        let file = format!(".nightwright/tasks/{task}/INSTRUCTIONS.md");
        fs::read_to_string(hermit.project().join(file)).unwrap()
    };
    assert_eq!(text("b"), "ours");
    hermit.run(&["template", "use", "t", "c", "--user"]).exits(0);
    assert_eq!(text("c"), "Move every handler.\n");
    hermit.run(&["template", "delete", "t", "--force"]).exits(0);
    hermit.run(&["template", "use", "t", "d"]).exits(0);
    assert_eq!(text("d"), "Move every handler.\n");
}

#[test]
fn what_can_not_be_a_template_is_refused() {
    let hermit = Hermit::new();
    hermit.run(&["new", "a"]).exits(0);
    hermit.run(&["template", "save", "a"]).exits(2).says(&["has no instructions to keep"]);
    hermit.file(super::INSTRUCTIONS, "x");
    for name in ["", "../x", "a/b", "ä"] {
        hermit
            .run(&["template", "save", "a", "--", name])
            .exits(2)
            .says(&["no template can be called"]);
        hermit.run(&["new", "b", "--from", name]).exits(2).says(&["no template can be called"]);
    }
    hermit.run(&["new", "b", "--from", "t"]).exits(2).says(&["there is no template `t`"]);
    assert!(!hermit.project().join(".nightwright/tasks/b").exists());
    hermit.run(&["template", "list"]).exits(0).says(&["there are no templates yet"]);
}
