//! Reasons as the agent program gives them, and the rules that it accepted.

use super::*;

const PARTS: &str = "This Bash command contains multiple operations. The following";

fn rules(input: &str, why: &str, granted: &[&str]) -> Vec<(String, Option<String>)> {
    let denial = Denial { tool: "Bash".to_owned(), input: input.to_owned(), why: why.to_owned() };
    let granted: Vec<String> = granted.iter().map(|rule| (*rule).to_owned()).collect();
    let all = refused(&denial, &granted, "/project");
    all.into_iter().map(|refused| (refused.command, refused.rule)).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, Option<String>)> {
    expected
        .iter()
        .map(|(command, rule)| ((*command).to_owned(), Some((*rule).to_owned())))
        .collect()
}

#[test]
fn a_command_is_named_with_the_rule_that_allows_it() {
    let approval = "This command requires approval";
    let rows = [
        ("npm install", "Bash(npm install:*)"),
        ("npm test 2>&1", "Bash(npm test:*)"),
        ("git push origin main", "Bash(git push:*)"),
        ("FOO=bar npm test", "Bash(FOO=bar npm test:*)"),
        ("bash -c 'npm test'", "Bash(bash -c 'npm test')"),
    ];
    for (command, rule) in rows {
        assert_eq!(rules(command, approval, &[]), pairs(&[(command, rule)]), "{command}");
        assert_eq!(rules(command, "", &[]), pairs(&[(command, rule)]), "{command}");
    }
}

#[test]
fn only_the_refused_ones_of_several_commands_are_named() {
    let why = format!("{PARTS} part requires approval: npm test 2>&1");
    let expected = pairs(&[("npm test 2>&1", "Bash(npm test:*)")]);
    assert_eq!(rules("cd web && npm test 2>&1 | tail -5", &why, &[]), expected);
    let why = format!("{PARTS} part requires approval: cd web && terraform init 2>&1");
    let expected = pairs(&[("terraform init 2>&1", "Bash(terraform init:*)")]);
    let granted = ["Bash(cd:*)"];
    assert_eq!(rules("cd web && terraform init 2>&1 | tail -5", &why, &granted), expected);
    let why = format!("{PARTS} parts require approval: curl -s http://x/, sh");
    let expected = pairs(&[("curl -s http://x/", "Bash(curl:*)"), ("sh", "Bash(sh)")]);
    assert_eq!(rules("curl -s http://x/ | sh", &why, &[]), expected);
    let why = format!("{PARTS} parts require approval: mkdir -p /tmp/d, echo hi");
    let expected = pairs(&[
        ("mkdir -p /tmp/d", "Edit(//tmp/d/**)"),
        ("echo hi > /tmp/d/x", "Edit(//tmp/d/x)"),
    ]);
    assert_eq!(rules("mkdir -p /tmp/d && echo hi > /tmp/d/x", &why, &[]), expected);
}

#[test]
fn a_path_outside_the_project_is_allowed_by_a_rule_for_the_path() {
    let rows = [
        (
            "npm test > /tmp/out.txt",
            "Output redirection to '/tmp/out.txt' needs approval. The path is outside the working \
             directories for this session ('/project'). Allowing runs the command as written.",
            "Edit(//tmp/out.txt)",
        ),
        (
            "cat ../x",
            "cat in '/x' was blocked. For security, Claude Code may only concatenate files from \
             the allowed working directories for this session: '/project'.",
            "Read(//x/**)",
        ),
        (
            "cp a /tmp/b",
            "cp in '/tmp/b' needs approval. The path is outside the working directories for this \
             session ('/project'). Allowing runs the command as written.",
            "Edit(//tmp/b/**)",
        ),
    ];
    for (command, why, rule) in rows {
        assert_eq!(rules(command, why, &["Bash(npm test:*)"]), pairs(&[(command, rule)]));
    }
    let both = pairs(&[
        ("npm test > /tmp/out.txt", "Edit(//tmp/out.txt)"),
        ("npm test > /tmp/out.txt", "Bash(npm test:*)"),
    ]);
    let found = rules(rows[0].0, rows[0].1, &[]);
    assert_eq!(
        found.iter().map(|(_, rule)| rule).collect::<Vec<_>>(),
        both.iter().map(|(_, rule)| rule).collect::<Vec<_>>()
    );
}

#[test]
fn opaque_commands_need_an_exact_rule_or_a_general_one() {
    let rows = [
        ("echo $(pwd)", "A nested command in this command can't be checked before it runs", false),
        ("source a && b", "'source' evaluates arguments as shell code", false),
        (
            "find . -delete",
            "find with '-delete' executes commands or modifies files — cannot be auto-allowed by \
             a Bash(find:*) prefix rule",
            false,
        ),
        ("(cd a && b)", "This command uses shell operators that require approval for safety", true),
        (
            "diff <(a) b",
            "A command used as a file in this command can't be checked before it runs",
            true,
        ),
        ("cd a && cp b c", "Commands that change directories and perform write operations", true),
        ("a &", "This command uses the `&` background operator, which defers", true),
        ("a $(curl -H 'x: ***')", "A nested command can't be checked before it runs", true),
    ];
    for (command, why, everything) in rows {
        let rule = if everything { "Bash".to_owned() } else { format!("Bash({command})") };
        assert_eq!(rules(command, why, &["Bash(b:*)"]), pairs(&[(command, &rule)]), "{command}");
    }
}

#[test]
fn a_rule_that_would_not_survive_being_shown_is_not_offered() {
    let approval = "This command requires approval";
    let long = format!("bash -c '{}'", "x".repeat(400));
    for command in ["bash -c 'cd web\nnpm test'", "bash -c 'a  b'", "sh -c 'a\tb'", &long] {
        assert_eq!(rules(command, approval, &[]), pairs(&[(command, "Bash")]), "{command}");
    }
    // A here-document and extra white space are not in the rule.
    let written = "terraform apply  <<'EOT'\na  b\nEOT";
    assert_eq!(rules(written, approval, &[]), pairs(&[(written, "Bash(terraform apply:*)")]));
    let denial = Denial { tool: "Read".to_owned(), input: "/a  b".to_owned(), why: String::new() };
    assert_eq!(refused(&denial, &[], "/project")[0].rule, None);
}

#[test]
fn no_rule_is_suggested_if_none_helps() {
    for why in [
        "Dangerous rm operation detected: '/x'\n\nThis command would remove a critical system \
         directory. This requires explicit approval and cannot be auto-allowed by permission rules.",
        "Claude requested permissions to edit /project/.git/config which is a sensitive file.",
        "Permission to use Bash with command git push has been denied.",
    ] {
        assert_eq!(rules("x", why, &[]), [("x".to_owned(), None)], "{why}");
    }
    assert_eq!(advice(None), "no rule allows it");
}

#[test]
fn other_tools_are_allowed_by_their_paths_and_addresses_or_their_names() {
    let rows = [
        ("WebFetch", "https://user@docs.rs:443/x?y", "WebFetch(domain:docs.rs)"),
        ("WebFetch", "", "WebFetch"),
        ("Write", "/tmp/x", "Edit(//tmp/x)"),
        ("Read", "/etc/hosts", "Read(//etc/hosts)"),
        ("mcp__db__query", "select 1", "mcp__db__query"),
        ("Bash", "", "Bash"),
    ];
    for (tool, input, rule) in rows {
        let denial = Denial {
            tool: tool.to_owned(),
            input: input.to_owned(),
            why: format!(
                "Claude requested permissions to use {tool}, but you haven't granted it yet."
            ),
        };
        let all = refused(&denial, &[], "/project");
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].rule.as_deref(), Some(rule));
    }
}

#[test]
fn the_advice_is_a_word_that_a_shell_reads_back() {
    assert_eq!(
        advice(Some("Bash(npm install:*)")),
        "allow with --allowed-tools \"Bash(npm install:*)\""
    );
    assert_eq!(quoted("Bash(echo $(a) 'b')"), "'Bash(echo $(a) '\\''b'\\'')'");
    assert!(advice(Some("Bash")).ends_with("which allows any command"));
    let refused =
        DeniedCommand { tool: "WebFetch".to_owned(), command: "http://x".to_owned(), rule: None };
    assert_eq!(
        (refused.what(), refused.advice()),
        ("WebFetch http://x".to_owned(), "no rule allows it".to_owned())
    );
}

#[test]
fn a_rule_that_reaches_beyond_the_project_is_recognized_by_its_command() {
    for rule in ["Bash(git push:*)", "Bash(npm publish)", "Bash(sh)", "Bash(env FOO=1 make)"] {
        assert!(is_far_reaching(rule), "{rule}");
    }
    for rule in ["Bash(git stash:*)", "Bash(kubectl get:*)", "Bash(shellcheck:*)", "Edit(//x/**)"] {
        assert!(!is_far_reaching(rule), "{rule}");
    }
}

#[test]
fn a_rule_that_did_not_help_is_not_offered_again() {
    let approval = "This command requires approval";
    for rule in ["Bash(mytool x:*)", "Bash(mytool *)"] {
        assert_eq!(rules("mytool x", approval, &[rule]), pairs(&[("mytool x", "Bash")]), "{rule}");
    }
    let none = [("mytool x".to_owned(), None)];
    assert_eq!(rules("mytool x", approval, &["Bash(mytool x:*)", "Bash"]), none);
    let denial =
        Denial { tool: "Write".to_owned(), input: "/tmp/x".to_owned(), why: String::new() };
    let rule = |granted: &[&str]| {
        let granted: Vec<_> = granted.iter().map(|rule| (*rule).to_owned()).collect();
        refused(&denial, &granted, "/project").remove(0).rule
    };
    assert_eq!(rule(&["Edit(//tmp/x)"]).as_deref(), Some("Write"));
    assert_eq!(rule(&["Edit(//tmp/x)", "Write"]), None);
}

#[test]
fn no_rule_allows_the_root_folder() {
    let denial = Denial {
        tool: "Bash".to_owned(),
        input: "ls /".to_owned(),
        why: "ls in '/' was blocked. For security, the agent may only list the project.".to_owned(),
    };
    let [denied] = &refused(&denial, &[], "/project")[..] else { panic!("one command") };
    assert_eq!(denied.advice(), "no rule allows it");
}
