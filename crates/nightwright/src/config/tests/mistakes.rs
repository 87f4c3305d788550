//! Error messages for invalid configuration files.

use std::path::Path;

use insta::assert_snapshot;

use crate::config::*;

fn mistakes(text: &str) -> String {
    let path = Path::new(".nightwright/config.toml");
    match ConfigLayer::parse(ValueOrigin::Project(path.to_owned()), path, text) {
        Ok(_) => panic!("nothing is wrong with:\n{text}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn an_unknown_key_is_shown_with_the_nearest_one() {
    assert_snapshot!(mistakes("# mine\n[limits]\nmax_iteration = 5\n"), @r#"
    unknown key `limits.max_iteration`
     --> .nightwright/config.toml:3:1
      |
    3 | max_iteration = 5
      | ^^^^^^^^^^^^^ unknown
      |
      = hint: did you mean `limits.max_iterations`?
    "#);
}

#[test]
fn a_value_of_another_type_is_shown_with_what_is_allowed() {
    assert_snapshot!(mistakes("[limits]\nmax_iterations = \"ten\"\n"), @r#"
    `limits.max_iterations` must be a whole number from 0 to 1000000
     --> .nightwright/config.toml:2:18
      |
    2 | max_iterations = "ten"
      |                  ^^^^^ this is text
    "#);
}

#[test]
fn a_value_out_of_range_is_shown_with_the_range() {
    assert_snapshot!(mistakes("limits.reserve = 300\n"), @r#"
    `limits.reserve` must be a percentage from 0 to 90
     --> .nightwright/config.toml:1:18
      |
    1 | limits.reserve = 300
      |                  ^^^ this is not allowed
    "#);
}

#[test]
fn all_mistakes_of_a_file_are_shown_at_once() {
    let text = "delay = \"soon\"\n\n[limit]\nmax_cost = 5\n\n[verify]\ncommands = [\"a\", 7]\n";
    assert_snapshot!(mistakes(text), @r#"
    `delay` must be a duration: a number of seconds, or text such as "2s" or "1h 30m"
     --> .nightwright/config.toml:1:9
      |
    1 | delay = "soon"
      |         ^^^^^^ this is not allowed

    error: unknown key `limit`
     --> .nightwright/config.toml:3:2
      |
    3 | [limit]
      |  ^^^^^ unknown
      |
      = hint: did you mean `limits`?

    error: `verify.commands` must be a list of commands, each a non-empty string, or a table such as `{ run = "make e2e", sandbox = false }`
     --> .nightwright/config.toml:7:18
      |
    7 | commands = ["a", 7]
      |                  ^ this is a whole number
    "#);
}

#[test]
fn invalid_toml_is_shown_with_its_position() {
    assert_snapshot!(mistakes("[limits\nmax_cost = 5\n"), @r#"
    unclosed table
     --> .nightwright/config.toml:1:8
      |
    1 | [limits
      |        ^ expected `]`
    "#);
    assert_snapshot!(mistakes("delay = 1\ndelay = 2\n"), @r#"
    duplicate key
     --> .nightwright/config.toml:2:1
      |
    2 | delay = 2
      | ^^^^^ here
    "#);
    assert_snapshot!(mistakes("limits = 5\n"), @r#"
    `limits` must be a table
     --> .nightwright/config.toml:1:10
      |
    1 | limits = 5
      |          ^ this is not a table
      |
      = hint: write `[limits]`, and its keys below
    "#);
}

#[test]
fn invalid_addresses_are_reported_one_by_one_and_hidden() {
    let text = "[[notify]]\nurl = \"htps://ntfy.sh/topic-of-mine\"\n\n[[notify]]\nkind = \"mail\"\n\n\
                [[notify]]\nurl = 'https://ntfy.sh/x'\nevent = []\nevents = [\"morning\"]\n";
    assert_snapshot!(mistakes(text), @r#"
    `notify.url` must be a URL that begins with https:// or http://, without user, password or `#` ("": none)
     --> .nightwright/config.toml:2:7
      |
    2 | url = ******************************
      |       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ this is not allowed

    error: `notify` must be tables `[[notify]]` with the keys of `[notify]`, each with `url`
     --> .nightwright/config.toml:4:1
      |
    4 | [[notify]]
      | ^^^^^^^^^^ this has no `url`

    error: `notify.kind` must be one of `auto`, `ntfy`, `slack`, `discord`, `webhook`
     --> .nightwright/config.toml:5:8
      |
    5 | kind = "mail"
      |        ^^^^^^ this is not allowed

    error: unknown key `notify.event`
     --> .nightwright/config.toml:9:1
      |
    9 | event = **
      | ^^^^^ unknown
      |
      = hint: did you mean `notify.events`?

    error: `notify.events` must be a list of any of `setup_complete`, `execution_start`, `iteration`, `iteration_milestone`, `status_update`, `limit_wait`, `blocked`, `verification_failed`, `completion`, `stopped`, `error`
      --> .nightwright/config.toml:10:11
       |
    10 | events = ["morning"]
       |           ^^^^^^^^^ this is not allowed
    "#);
    for (text, wanted) in [
        (
            "notify = [{ url = 'https://ntfy.sh/topic-of-mine', secret = 'hush', kind = 5 }]",
            "this is a whole number",
        ),
        ("notify = 'https://ntfy.sh/topic-of-mine'", "notify = ****"),
        ("notify.token = \"topic-of-mine\\u0000hush\"", "token = ****"),
    ] {
        let found = mistakes(text);
        assert!(found.contains(wanted), "{found}");
        assert!(!found.contains("topic-of-mine") && !found.contains("hush"), "{found}");
    }
}

#[test]
fn marks_stay_in_their_place_whatever_the_text_is_made_of() {
    assert_snapshot!(mistakes("\u{feff}# größe\r\nlimits.reserve = 300 # ü\r\n"), @r#"
    `limits.reserve` must be a percentage from 0 to 90
     --> .nightwright/config.toml:2:18
      |
    2 | limits.reserve = 300 # ü
      |                  ^^^ this is not allowed
    "#);
}

#[test]
fn no_file_makes_the_picture_fail() {
    for text in [
        "=",
        "\u{1b}[31m = 1",
        "a = \"\u{1b}[31m\"",
        "x\r",
        "é = [",
        "[",
        "\t\ty = 日本",
        "a=1\u{0}",
    ] {
        assert!(!mistakes(text).contains('\u{1b}'), "{text:?}");
    }
    let many: Vec<_> = (0..30).map(|number| format!("x{number} = 1")).collect();
    let many = many.join("\n");
    assert!(mistakes(&many).ends_with("and 20 more"));
}

#[test]
fn a_mode_says_what_it_is_and_its_defaults_are_a_layer() {
    let path = Path::new("mode.toml");
    let text = "description = \"one item\"\nevidence = [\"promise\"]\nworks_on = \"task\"\n\
                [defaults]\nlimits.max_iterations = 50\ndelay = 2\n";
    let (definition, layer) = ConfigLayer::parse_mode("mine", path, text).unwrap();
    assert_eq!(definition.description, "one item");
    let resolved = ResolvedConfig::new([layer]);
    assert_eq!(resolved.get_count("limits.max_iterations"), Some(50));
    assert_eq!(resolved.origin("delay"), &ValueOrigin::Mode("mine".to_owned()));

    let wrong = |text: &str| ConfigLayer::parse_mode("mine", path, text).unwrap_err().to_string();
    assert!(wrong("").contains("description"));
    assert!(wrong(&text.replace("works_on", "work_on")).contains("did you mean `works_on`?"));
    assert!(wrong(&text.replace("delay", "dealy")).contains("did you mean `delay`?"));
    assert!(wrong("delay = 5\n").contains("did you mean `[defaults]`?"));
    let list = |file: &str| {
        text.replace(
            "[defaults]",
            &format!("list = {{ file = \"{file}\", place = \"project\" }}\n[defaults]"),
        )
    };
    for file in ["../../x", "/etc/passwd", ""] {
        let wrong = wrong(&list(file));
        assert!(wrong.contains("`list.file` must be a file inside the project"), "{wrong}");
    }
    let (definition, _) = ConfigLayer::parse_mode("mine", path, &list("./docs/PLAN.md")).unwrap();
    assert_eq!(definition.list.unwrap().file, "docs/PLAN.md");
}

#[test]
fn tools_are_no_options_and_some_settings_of_the_agent_always_apply() {
    for key in ["allowed_tools", "disallowed_tools"] {
        for rule in ["--evil", "Bash(ls:*", ""] {
            let wrong = mistakes(&format!("agent.{key} = [\"Bash\", \"{rule}\"]"));
            assert!(wrong.contains("a list of rules such as `WebSearch`"), "{wrong}");
        }
    }
    let wrong = mistakes("agent.settings = []");
    assert!(wrong.contains("at least one of `user`, `project`, `local`"), "{wrong}");
}
