//! `nightwright config`: its output, the files that it writes, and errors in these files.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use insta::assert_snapshot;
use serde_json::Value;

use super::harness::{Output, TestEnv, finish};

/// A project with a configuration.
fn configured(text: &str) -> TestEnv {
    let env = TestEnv::new();
    fs::create_dir(env.project().join(".nightwright")).unwrap();
    env.file(".nightwright/config.toml", text);
    env
}

fn text_of(env: &TestEnv) -> String {
    fs::read_to_string(env.project().join(".nightwright/config.toml")).unwrap()
}

/// Runs the command with one more environment variable.
fn with(env: &TestEnv, name: &str, value: &str, arguments: &[&str]) -> Output {
    finish(env.command(arguments).env(name, value).spawn().unwrap())
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&output.out).unwrap()
}

/// Replaces the folders of the test, whose names differ each time.
fn named(env: &TestEnv, text: &str) -> String {
    let project = env.project().canonicalize().unwrap();
    let text = text.replace(&project.display().to_string(), "PROJECT");
    text.replace(&env.path("home").display().to_string(), "HOME")
}

#[test]
fn the_winner_and_all_other_layers_are_shown_with_their_files() {
    let env = configured("[limits]\nmax_cost = 5\n");
    let user = env.path("home").join(".config/nightwright");
    fs::create_dir_all(&user).unwrap();
    fs::write(user.join("config.toml"), "[limits]\nmax_cost = 2.5\n").unwrap();
    fs::create_dir_all(env.project().join(".nightwright/tasks/night")).unwrap();
    env.file(".nightwright/tasks/night/task.toml", "limits.max_cost = 9\n");

    let explain = ["config", "explain", "limits.max_cost", "--task", "night"];
    let output = env.run(&explain).exits(0);
    assert!(output.out.contains("-> user"), "{}", output.out);
    let note = "note: This project sets limits.max_cost = 9, which is looser than yours (2.5).";
    assert!(output.err.starts_with(note) && output.err.lines().count() == 1, "{}", output.err);
    let asked = env.run(&["trust", "--yes"]).exits(0).out;
    assert!(asked.contains("limits.max_cost = 9, looser than yours (2.5)"), "{asked}");
    let output = env.run(&explain).exits(0);
    assert_snapshot!(named(&env, &output.out), @r#"
    limits.max_cost
      Stop when the total cost of the run reaches USD.

      type         money
      allowed      an amount in US dollars of at least $0.01, such as 5 or 2.50
      default      no limit
      environment  NIGHTWRIGHT_MAX_COST
      flag         --max-cost
      trust        a project needs your approval to loosen it

      layers (the last one wins):
         user (HOME/.config/nightwright/config.toml): 2.5
         project (PROJECT/.nightwright/config.toml): 5
      -> task (PROJECT/.nightwright/tasks/night/task.toml): 9
    "#);

    let get = |arguments: &[&str]| env.run(arguments).exits(0).out;
    assert_eq!(get(&["config", "get", "limits.max_cost"]), "5\n");
    assert_eq!(get(&["config", "get", "limits.max_cost", "--task", "night"]), "9\n");
    let explain = ["config", "explain", "limits.max_cost", "--json"];
    let output = with(&env, "NIGHTWRIGHT_MAX_COST", "7", &explain).exits(0);
    let layers = json(&output)["layers"].clone();
    assert_eq!(layers[2]["origin"]["name"], "NIGHTWRIGHT_MAX_COST");
    assert_eq!((&layers[1]["wins"], &layers[2]["wins"]), (&false.into(), &true.into()));
    let list = json(&env.run(&["config", "list", "--json"]).exits(0));
    let entry = list.as_array().unwrap().iter().find(|entry| entry["key"] == "limits.max_cost");
    assert_eq!(entry.unwrap()["origin"]["layer"], "project");
}

#[test]
fn a_list_shows_every_key_its_value_and_its_origin() {
    let env = configured("agent.env = { TOKEN = \"hunter2\" }\nverify.commands = [\"make\"]\n");
    let output = with(&env, "NIGHTWRIGHT_MODEL", "opus", &["config", "list"]).exits(0);
    for key in nightwright::config::KEYS {
        assert!(output.out.contains(key.name), "{}", key.name);
    }
    let line = |key: &str| {
        let line = output.out.lines().find(|line| line.starts_with(key)).unwrap();
        named(&env, &line.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    assert_eq!(line("limits.max_wait"), "limits.max_wait \"12h\" built-in");
    assert_eq!(line("limits.max_tokens"), "limits.max_tokens (no limit) built-in");
    assert_eq!(line("model.name"), "model.name \"opus\" environment (NIGHTWRIGHT_MODEL)");
    assert_eq!(
        line("verify.commands"),
        "verify.commands [\"make\"] project (PROJECT/.nightwright/config.toml)"
    );
    assert!(!output.out.contains("hunter2"), "a value that may be secret is not listed");
    let asked = env.run(&["config", "get", "agent.env"]).exits(0);
    assert_eq!(asked.out, "TOKEN=...\n");
    let asked =
        asked.says(&["nightwright hides the values of variables; see project (", "config.toml"]);
    assert!(!asked.err.contains("hunter2"), "{}", asked.err);
    let asked = env.run(&["config", "get", "agent.env", "--json"]).exits(0);
    assert_eq!(json(&asked)["value"]["TOKEN"], "...");
}

#[test]
fn a_mistake_among_variables_is_shown_without_their_values() {
    for (text, words) in [
        (
            "[agent.env]\nMY_DB_PASSWORD = correct-horse\n",
            // Its end is unknown in invalid TOML, so the excerpt is hidden as a whole.
            &["config.toml:2:", "************** * ***"][..],
        ),
        ("[agent]\nenv = [\"MY_DB_PASSWORD=correct-horse\"]\n", &["config.toml:2:7", "env = ***"]),
        ("[agent.env]\nA = \"correct-horse\nstaple\"\n", &["config.toml:2:", "* * ***"]),
        ("[agent.env]\nA = [\"correct-horse\"]\n", &["config.toml:2:5", "A = ***"]),
    ] {
        let env = configured(text);
        let arguments = ["run", "-p", "x", "-m", "1", "--dry-run"];
        for arguments in [&["config", "list"][..], &arguments] {
            let output = env.run(arguments).exits(2).says(words);
            let said = format!("{}{}", output.out, output.err);
            assert!(!said.contains("horse") && !said.contains("staple"), "{said}");
        }
    }
    let env = configured("");
    let output = env.run(&["config", "set", "agent.env", "correct-horse"]).exits(2);
    assert!(!output.err.contains("horse"), "{}", output.err);
}

#[test]
fn unset_and_unknown_keys_are_distinguished() {
    let env = TestEnv::new();
    env.run(&["config", "get", "limits.max_cost"]).exits(1).says(&["is not set: no limit"]);
    let null = json(&env.run(&["config", "get", "limits.max_cost", "--json"]).exits(0));
    assert_eq!(null["value"], Value::Null);
    for command in ["get", "explain", "unset"] {
        env.run(&["config", command, "limits.max_iteration"])
            .exits(2)
            .says(&["unknown key `limits.max_iteration`", "`limits.max_iterations`?"]);
    }
    env.run(&["config", "set", "limits", "5"])
        .exits(2)
        .says(&["choose a key of the table `limits`"]);
    env.run(&["config", "list", "--task", "nope"]).exits(2).says(&["Task not found: nope"]);
    env.run(&["config", "list", "--task", "../x"]).exits(2).says(&["name of a task"]);
    with(&env, "NIGHTWRIGHT_MODE", "lopo", &["config", "list"]).exits(2).says(&[
        "unknown mode `lopo`",
        "did you mean `loop`?",
        "iterative",
    ]);
}

#[test]
fn comments_and_order_are_kept_by_set_and_unset() {
    let before = "# the night\n\n[limits] # of us\nmax_cost = 3 # dollars\n\n# later\n[retry]\n";
    let env = configured(before);
    env.run(&["config", "set", "limits.max_cost", "$4.50"]).exits(0).says(&["max_cost = 4.5"]);
    assert_eq!(text_of(&env), before.replace("= 3 #", "= 4.5 #"));
    env.run(&["config", "set", "retry.delay", "1h 30m"]).exits(0);
    assert!(text_of(&env).ends_with("[retry]\ndelay = \"1h 30m\"\n"));
    env.run(&["config", "unset", "retry.delay"]).exits(0);
    env.run(&["config", "unset", "retry.delay"]).exits(0).says(&["is not set in"]);
    assert_eq!(text_of(&env), before.replace("= 3 #", "= 4.5 #"));
}

#[test]
fn set_makes_the_file_that_is_meant() {
    let env = TestEnv::new();
    fs::create_dir_all(env.project().join(".nightwright/tasks/night")).unwrap();
    let set = |arguments: &[&str]| {
        let mut all = vec!["config", "set"];
        all.extend(arguments);
        env.run(&all).exits(0);
    };
    set(&["verify.commands", "cargo test", "[ -f README.md ]"]);
    set(&["agent.env", "A=1", "B=x=y"]);
    set(&["--task", "night", "mode", "loop"]);
    set(&["--user", "output.color", "never"]);
    let user = env.path("home").join(".config/nightwright/config.toml");
    assert_eq!(fs::read_to_string(user).unwrap(), "[output]\ncolor = \"never\"\n");
    let task = env.project().join(".nightwright/tasks/night/task.toml");
    assert_eq!(fs::read_to_string(task).unwrap(), "mode = \"loop\"\n");
    assert_eq!(
        text_of(&env),
        "[verify]\ncommands = [\"cargo test\", \"[ -f README.md ]\"]\n\n\
         [agent]\nenv = { A = \"1\", B = \"x=y\" }\n"
    );
    set(&["verify.commands", "[]"]);
    assert_eq!(env.run(&["config", "get", "verify.commands"]).exits(0).out, "");
    let key = ["config", "set", "--user", "verify.commands", "make"];
    env.run(&key).exits(0).says(&["warning: the new value has no effect", "project"]);
}

#[test]
fn a_value_that_is_not_allowed_is_not_written() {
    let env = configured("# mine\n");
    for (key, value, allowed) in [
        ("limits.max_iterations", "-1", "a whole number from 0"),
        ("limits.max_cost", "much", "an amount in US dollars"),
        ("limits.max_duration", "5s", "at least 1m"),
        ("limits.reserve", "91", "0 to 90"),
        ("output.level", "loud", "`quiet`, `progress`, `verbose`, `json`"),
        ("completion.detect", "perhaps", "true or false"),
        ("notes.file", "../../notes", "a path inside the project"),
        ("agent.settings", "global", "`user`, `project`, `local`"),
        ("agent.env", "A", "a table of variable names"),
    ] {
        let output = env.run(&["config", "set", key, value]).exits(2).says(&[key, allowed]);
        assert!(key == "agent.env" || output.err.contains(value), "{}", output.err);
    }
    env.run(&["config", "set", "delay", "1", "2"]).exits(2).says(&["one value"]);
    assert_eq!(text_of(&env), "# mine\n");
}

#[test]
fn a_file_that_is_wrong_is_named_with_line_and_key_and_not_written() {
    for (text, words) in [
        ("[limits]\nmax_iteration = 5\n", &["config.toml:2:1", "`limits.max_iterations`?"][..]),
        ("\n[limits]\nmax_cost = \"5\"\n", &["config.toml:3:12", "US dollars", "this is text"]),
        ("delay = -1\n", &["config.toml:1:9", "`delay` must be a duration"]),
        ("[limits\n", &["config.toml:1:8", "expected `]`"]),
        ("delay = 1\ndelay = 2\n", &["config.toml:2:1", "duplicate key"]),
        ("dealy = 1\n[limit]\n", &["`delay`?", "error: unknown key `limit`", "`limits`?"]),
    ] {
        let env = configured(text);
        env.run(&["config", "list"]).exits(2).says(words);
        env.run(&["config", "set", "mode", "loop"]).exits(2).says(words).says(&["is unchanged"]);
        assert_eq!(text_of(&env), text);
    }
    let env = configured("[limits]\nreserve = 300\n");
    env.run(&["config", "set", "limits.reserve", "30"]).exits(0);
    assert_eq!(text_of(&env), "[limits]\nreserve = 30\n");
}

#[test]
fn files_of_other_editors_can_be_read_and_written() {
    let env = configured("\u{feff}# größe\r\n[limits]\r\nmax_cost = 5\r\n");
    assert_eq!(env.run(&["config", "get", "limits.max_cost"]).exits(0).out, "5\n");
    env.run(&["config", "set", "limits.reserve", "20%"]).exits(0);
    let wanted = "\u{feff}# größe\r\n[limits]\r\nmax_cost = 5\r\nreserve = 20\r\n";
    assert_eq!(text_of(&env), wanted);
}

#[test]
fn a_binary_configuration_file_is_refused() {
    let env = configured("");
    let file = env.project().join(".nightwright/config.toml");
    fs::write(&file, b"# one\n# \xff\n").unwrap();
    env.run(&["config", "list"]).exits(2).says(&["config.toml` is not UTF-8 text: see line 2"]);
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    env.run(&["config", "list"]).exits(2).says(&["config.toml", "not a regular file"]);
    env.run(&["config", "set", "delay", "1"]).exits(2).says(&["not a regular file"]);
    let user = env.path("home").join(".config/nightwright/config.toml");
    fs::create_dir_all(&user).unwrap();
    fs::remove_dir(&file).unwrap();
    env.run(&["config", "list"]).exits(2).says(&[".config/nightwright", "not a regular file"]);
}

#[test]
fn a_link_out_of_the_project_is_neither_read_nor_written() {
    let env = TestEnv::new();
    let elsewhere = env.path("elsewhere.toml");
    fs::write(&elsewhere, "delay = 5\n").unwrap();
    fs::create_dir(env.project().join(".nightwright")).unwrap();
    symlink(&elsewhere, env.project().join(".nightwright/config.toml")).unwrap();
    let words = ["outside the project", "replace the link"];
    env.run(&["config", "get", "delay"]).exits(2).says(&words);
    env.run(&["config", "set", "delay", "9"]).exits(2).says(&words);
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "delay = 5\n");

    // A dangling link would be written through.
    fs::remove_file(&elsewhere).unwrap();
    env.run(&["config", "set", "delay", "9"]).exits(2).says(&words);
    assert!(!elsewhere.exists());
}

#[test]
fn the_users_own_file_may_be_a_link_and_stays_one() {
    let env = TestEnv::new();
    let folder = env.path("home").join(".config/nightwright");
    fs::create_dir_all(&folder).unwrap();
    let kept = env.path("home").join("dotfiles.toml");
    fs::write(&kept, "# kept\n").unwrap();
    symlink(&kept, folder.join("config.toml")).unwrap();
    env.run(&["config", "set", "--user", "delay", "2"]).exits(0);
    assert_eq!(fs::read_to_string(&kept).unwrap(), "# kept\n\ndelay = \"2s\"\n");
    assert!(folder.join("config.toml").is_symlink());
}

#[test]
fn a_new_user_configuration_is_private() {
    let env = TestEnv::new();
    env.run(&["config", "set", "--user", "notify.token", "tk_1234"]).exits(0);
    let file = env.path("home").join(".config/nightwright/config.toml");
    let mode = || fs::metadata(&file).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(), 0o600);
    // Permissions that the user has changed stay unchanged.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    env.run(&["config", "set", "--user", "delay", "2"]).exits(0);
    assert_eq!(mode(), 0o640);
}

#[test]
fn a_read_only_file_is_left_alone() {
    let env = configured("delay = 1\n");
    let file = env.project().join(".nightwright/config.toml");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    env.run(&["config", "set", "delay", "2"]).exits(1).says(&["is read-only", "chmod u+w"]);
    assert_eq!(text_of(&env), "delay = 1\n");
}

#[test]
fn a_project_may_have_any_name() {
    let env = TestEnv::new();
    let project = env.path("mein Projekt – größe");
    fs::create_dir(&project).unwrap();
    let place = project.display().to_string();
    env.run(&["config", "set", "-C", &place, "delay", "2"]).exits(0).says(&[&place]);
    assert_eq!(env.run(&["config", "get", "delay", "-C", &place]).exits(0).out, "2s\n");
    fs::write(project.join(".nightwright/config.toml"), "delay = -1\n").unwrap();
    env.run(&["config", "get", "delay", "-C", &place]).exits(2).says(&[&place]);
}

#[test]
fn a_variable_with_a_bad_value_is_named() {
    let env = TestEnv::new();
    with(&env, "NIGHTWRIGHT_MAX_COST", "much", &["config", "list"]).exits(2).says(&[
        "NIGHTWRIGHT_MAX_COST is `much`",
        "an amount in US dollars",
        "config explain limits.max_cost",
    ]);
    with(&env, "NIGHTWRIGHT_SOMETHING", "else", &["config", "list"]).exits(0);
}

#[test]
fn the_schema_is_the_one_that_is_shipped() {
    let env = TestEnv::new();
    let output = env.run(&["config", "schema"]).exits(0);
    let shipped = include_str!("../../../../docs/reference/config.schema.json");
    assert_eq!(output.out, shipped);
}
