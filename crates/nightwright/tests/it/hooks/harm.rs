//! What an agent can do to the folder of the run, in which it can write: it keeps nobody waiting, and
//! nothing is written anywhere else.

use super::*;

/// An agent that does this in the folder of its run, as `$run`, in the first iteration, and after
/// that some work.
fn does(hermit: &Hermit, harm: &str) -> String {
    let state = hermit.path("state").display().to_string();
    format!(
        "[[attempt]]\nsteps = [{{ run = \"run=$(echo {state}/*/runs/*); {harm}\" }}, \
         {{ run = \"echo more >> a.txt\" }}]\nending = {{ result = \"Some of it.\" }}\n{GOES_ON}"
    )
}

#[test]
fn a_pipe_in_the_place_of_the_log_of_hooks_keeps_nobody_waiting() {
    let hermit = project();
    hook(&hermit, "iteration_finished", "echo called >> SEEN/calls; echo words");
    let script = does(&hermit, "mkfifo $run/hooks.log");
    run(&hermit, &script, &["-m", "2"]).exits(0);
    assert_eq!(ending(&hermit.journal()), "max_iterations");
    assert_eq!(seen(&hermit, "calls"), "called\ncalled\n");
}

#[test]
fn a_link_in_the_place_of_the_log_of_hooks_is_not_followed() {
    let hermit = project();
    let outside = hermit.path("outside");
    hook(&hermit, "iteration_finished", "echo words");
    let script = does(&hermit, &format!("ln -s {} $run/hooks.log", outside.display()));
    run(&hermit, &script, &["-m", "1"]).exits(0);
    assert!(fs::symlink_metadata(hermit.runs()[0].join("hooks.log")).unwrap().is_symlink());
    assert!(!outside.exists(), "it was written through a link");
}

#[test]
fn whatever_lies_in_the_place_of_a_system_prompt_gives_way_to_it() {
    for harm in
        ["mkfifo $run/prompts/002-1.system.md", "ln -s OUTSIDE $run/prompts/002-1.system.md"]
    {
        let hermit = project();
        let outside = hermit.path("outside");
        let script = does(&hermit, &harm.replace("OUTSIDE", &outside.display().to_string()));
        run(&hermit, &script, &["-m", "2"]).exits(0);
        assert_eq!(ending(&hermit.journal()), "max_iterations", "{harm}");
        let prompts = hermit.runs()[0].join("prompts");
        let second = prompts.join("002-1.system.md");
        assert!(fs::symlink_metadata(&second).unwrap().is_file(), "{harm}");
        let first = fs::read(prompts.join("001-1.system.md")).unwrap();
        assert_eq!(fs::read(second).unwrap(), first, "{harm}");
        assert!(!outside.exists(), "{harm}: it was written through a link");
    }
}
