//! Damage by the agent to the folder of the run: it never blocks the run, and nothing is written
//! elsewhere.

use super::*;

/// An agent that does this in the folder of its run, as `$run`, in the first iteration, and after
/// that some work.
fn does(env: &TestEnv, harm: &str) -> String {
    let state = env.word("state");
    format!(
        "[[attempt]]\nsteps = [{{ run = '''cd {state}/*/runs/*; run=.; {harm}''' }}, \
         {{ run = \"echo more >> a.txt\" }}]\nend = {{ result = \"Some of it.\" }}\n{GOES_ON}"
    )
}

#[test]
fn a_pipe_in_the_place_of_the_log_of_hooks_blocks_nothing() {
    let env = project();
    hook(&env, "iteration_finished", "echo called >> SEEN/calls; echo words");
    let script = does(&env, "mkfifo $run/hooks.log");
    run(&env, &script, &["-m", "2"]).exits(0);
    assert_eq!(run_outcome(&env.journal()), "max_iterations");
    assert_eq!(seen(&env, "calls"), "called\ncalled\n");
}

#[test]
fn a_link_in_the_place_of_the_log_of_hooks_is_not_followed() {
    let env = project();
    let outside = env.path("outside");
    hook(&env, "iteration_finished", "echo words");
    let script = does(&env, &format!("ln -s {} $run/hooks.log", shell_path(&outside)));
    run(&env, &script, &["-m", "1"]).exits(0);
    assert!(fs::symlink_metadata(env.runs()[0].join("hooks.log")).unwrap().is_symlink());
    assert!(!outside.exists(), "it was written through a link");
}

#[test]
fn a_file_in_the_place_of_a_system_prompt_is_replaced() {
    for harm in
        ["mkfifo $run/prompts/002-1.system.md", "ln -s OUTSIDE $run/prompts/002-1.system.md"]
    {
        let env = project();
        let outside = env.path("outside");
        let script = does(&env, &harm.replace("OUTSIDE", &shell_path(&outside)));
        run(&env, &script, &["-m", "2"]).exits(0);
        assert_eq!(run_outcome(&env.journal()), "max_iterations", "{harm}");
        let prompts = env.runs()[0].join("prompts");
        let second = prompts.join("002-1.system.md");
        assert!(fs::symlink_metadata(&second).unwrap().is_file(), "{harm}");
        let first = fs::read(prompts.join("001-1.system.md")).unwrap();
        assert_eq!(fs::read(second).unwrap(), first, "{harm}");
        assert!(!outside.exists(), "{harm}: it was written through a link");
    }
}
