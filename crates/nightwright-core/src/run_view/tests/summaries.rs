//! Tests of the final summary.

use super::*;
use crate::outcome::{self, Tone, Unchecked};
use crate::results::Verification;

#[test]
fn a_summary_says_what_it_came_to() {
    let story = ViewStory::begun()
        .iteration(1)
        .attempt(1)
        .attempt_ends(1, 58, AttemptOutcome::Finished)
        .claims()
        .check(CheckVerdict::Passed)
        .call_ends(CallPurpose::Verify, 3, CostSource::Estimated)
        .gate(GateResult::Passed { proof: Proof::Checks })
        .done(1, Progress::Work, 5)
        .ends(Outcome::completed(Proof::Checks));
    let summary = story.summary();
    assert_eq!(summary.tone, Tone::Good);
    assert_eq!(summary.reason, "Task completed successfully after 1 iteration");
    assert_eq!((summary.attempts, summary.commits, summary.files_changed), (1, 1, 2));
    assert_eq!(summary.cost, Usd::from_cents(61));
    assert_eq!(summary.estimated, Usd::from_cents(3));
    assert_eq!(summary.tokens.counted(), 220);
    let purposes: Vec<_> =
        summary.purposes.iter().map(|purpose| (purpose.name.as_str(), purpose.unit)).collect();
    assert_eq!(purposes, [("work", "attempt"), ("verify", "call")]);
    assert_eq!(summary.duration, Duration::from_secs(story.seconds));
    assert_eq!(summary.verification.sentence().unwrap(), "verified by `make test`");
}

#[test]
fn a_summary_says_what_was_verified_and_by_what() {
    let verdict = || {
        Event::Gate(GateEvent::VerdictGiven {
            verdict: VerdictKind::Yes,
            reason: "all there".to_owned(),
            missing: Vec::new(),
        })
    };
    let passed = |proof| GateResult::Passed { proof };
    let rejected = GateResult::Rejected { why: "`make test` failed".to_owned() };
    let claimed = || ViewStory::begun().claims();
    let cases = [
        (ViewStory::begun(), None),
        (claimed(), None),
        (
            claimed().check(CheckVerdict::Flaky).then(verdict()).gate(passed(Proof::Checks)),
            Some("verified by `make test` and a model's verdict"),
        ),
        (
            claimed().then(verdict()).gate(passed(Proof::Checks)),
            Some("verified by a model's verdict"),
        ),
        (
            claimed().gate(passed(Proof::None)),
            Some("not verified: there are no checks, and no model judged the work"),
        ),
        (claimed().gate(rejected), Some("claim of iteration 1 not accepted: `make test` failed")),
    ];
    for (story, sentence) in cases {
        let proof = Proof::Checks;
        let summary = story.ends(Outcome::completed(proof)).summary();
        assert_eq!(summary.verification.sentence().as_deref(), sentence);
    }
}

#[test]
fn a_resumed_run_is_not_verified_by_an_earlier_completion() {
    let proof = Proof::Checks;
    let story = ViewStory::begun().claims().gate(GateResult::Passed { proof });
    let story = story.ends(Outcome::completed(proof));
    let story = story.then(RunEvent::Continued { why: Continuation::AfterEnd });
    let summary = story.ends(Outcome::Stopped).summary();
    assert_eq!(summary.verification, Verification::NoClaim);
}

#[test]
fn only_the_warnings_that_this_process_showed_are_counted() {
    let warned = |story: ViewStory| story.then(NoteEvent::Warning { text: "careful".to_owned() });
    let story = warned(warned(ViewStory::begun())).ends(Outcome::Stopped);
    assert_eq!(story.summary().warnings, 2);
    let story = story.then(RunEvent::Continued { why: Continuation::AfterEnd });
    assert_eq!(story.summary().warnings, 0);
    let story = warned(story).ends(Outcome::Stopped);
    assert_eq!((story.summary().warnings, story.view.warnings), (1, 3));
}

/// The suggested next steps after this outcome, one per line.
fn next(outcome: Outcome) -> String {
    ViewStory::begun().ends(outcome).steps().join("\n")
}

#[test]
fn after_a_limit_the_next_step_raises_it() {
    assert_eq!(
        next(Outcome::MaxIterations { limit: 10 }),
        "raise the limit and continue: nightwright resume R --max-iterations 20\n\
         read the log: nightwright log R"
    );
    let limit = Duration::from_mins(90);
    assert!(next(Outcome::MaxDuration { limit }).contains("resume R --max-duration 180m"));
    let limit = Usd::from_cents(250);
    assert!(next(Outcome::MaxCost { limit }).contains("resume R --max-cost 5.00"));
    assert!(next(Outcome::MaxTokens { limit: 500 }).contains("resume R --max-tokens 1000"));
}

#[test]
fn the_next_step_raises_every_limit_that_leaves_no_room() {
    let mut wanted = Settings::default();
    wanted.limits.max_iterations = Some(1);
    wanted.limits.max_duration = Some(Duration::from_mins(1));
    let changes = SettingChange::between(&Settings::default(), &wanted);
    let story = changes.into_iter().fold(ViewStory::begun(), |story, change| {
        story.then(OperatorEvent::SettingsChanged { source: ChangeSource::Operator, change })
    });
    let totals = Totals { iterations: 2, duration: Duration::from_mins(5), ..Totals::default() };
    let outcome = Outcome::Stopped;
    let story = story.then(RunEvent::Finished { outcome, note: None, totals: totals.clone() });
    let mut view = story.view;
    view.totals = totals;
    assert_eq!(
        view.resume_command(&RunId("R".to_owned())),
        "nightwright resume R --max-iterations 4 --max-duration 10m"
    );
}

#[test]
fn every_outcome_says_what_to_do_next() {
    for outcome in outcome::samples() {
        let summary = ViewStory::begun().ends(outcome.clone()).summary();
        assert!(!summary.next.is_empty(), "{outcome}");
        assert_eq!(summary.tone, outcome.tone());
    }
    assert!(next(Outcome::Auth { why: String::new() }).contains("log in"));
    let refused = |why: &str| next(Outcome::Auth { why: why.to_owned() });
    assert!(refused("Invalid API key · Fix external API key").contains("`ANTHROPIC_API_KEY`"));
    assert!(refused("Credit balance is too low").contains("add credit"));
    let until = Some(Timestamp::UNIX_EPOCH);
    let waited = next(Outcome::LimitWaitTooLong { until });
    assert!(waited.ends_with("continue: nightwright resume R"), "{waited}");
}

#[test]
fn an_impossible_task_has_changes_to_review_only_if_the_run_made_some() {
    let impossible = || Outcome::Impossible { why: "two tests contradict each other".to_owned() };
    let change = "change the task or its checks, then continue: nightwright resume R";
    assert_eq!(ViewStory::begun().ends(impossible()).steps(), [change]);
    let worked = ViewStory::begun().iteration(1).done(1, Progress::Work, 9);
    assert!(worked.view.files_changed > 0);
    let report = "review the changes: nightwright report R";
    assert_eq!(worked.ends(impossible()).steps(), [report, change]);
}

#[test]
fn after_no_progress_the_next_step_names_a_file_that_a_resumed_run_reads() {
    let rows = [
        (
            (None, Some("SHARED_TASK_NOTES.md"), None),
            [
                "add guidance for the agent to `SHARED_TASK_NOTES.md`, then continue: nightwright \
                 resume R",
                "or start a new run with a more precise goal",
            ],
        ),
        (
            (Some("migrate"), Some("NOTES.md"), Some("TODO.md")),
            [
                "add guidance for the agent to `NOTES.md`, then continue: nightwright resume R",
                "or make the task's INSTRUCTIONS.md more precise and start a new run",
            ],
        ),
        (
            (None, None, Some("IMPLEMENTATION_PLAN.md")),
            [
                "make `IMPLEMENTATION_PLAN.md` more precise, then continue: nightwright resume R",
                "or start a new run with a more precise goal",
            ],
        ),
        (
            (None, None, None),
            [
                "start a new run with a more precise goal",
                "or continue with the same goal: nightwright resume R",
            ],
        ),
    ];
    for ((task, notes, list), expected) in rows {
        let mut settings = Settings {
            task: task.map(str::to_owned),
            notes_file: notes.map(str::to_owned),
            ..Settings::default()
        };
        settings.files.list = list.map(str::to_owned);
        let story =
            ViewStory::begun_with(settings).ends(Outcome::Stagnated { idle: 3, failing: None });
        assert_eq!(story.steps(), expected);
    }
}

#[test]
fn every_command_is_allowed_only_by_a_step_that_says_so() {
    let after = |rules: &[&str]| {
        let story = ViewStory::begun();
        let story = rules.iter().fold(story, |story, rule| story.denied("x", Some(rule)));
        let steps = story.ends(Outcome::Failed { why: "x".to_owned() }).steps();
        steps.last().unwrap().clone()
    };
    assert_eq!(
        after(&["Bash", "Bash(npm i:*)", "Bash(npm i:*)"]),
        "or allow 1 of 2 denied commands and continue (`nightwright status` shows how to allow the \
         others): nightwright resume R --allowed-tools \"Bash(npm i:*)\""
    );
    assert_eq!(
        after(&["Bash(git push:*)", "Bash(npm i:*)", "Bash(npm publish)"]),
        "or allow 1 of 3 denied commands and continue (`nightwright status` shows how to allow the \
         others): nightwright resume R --allowed-tools \"Bash(npm i:*)\""
    );
    assert!(!after(&["Bash(git push:*)"]).contains("--allowed-tools"));
    assert_eq!(
        after(&["Bash"]),
        "or allow any command and continue: nightwright resume R --allowed-tools \"Bash\""
    );
    assert_eq!(
        after(&["Bash(a:*)", "WebFetch"]),
        "or allow the denied commands and continue: nightwright resume R --allowed-tools \
         \"Bash(a:*)\" --allowed-tools \"WebFetch\""
    );
    // A longer line would be pasted unread.
    let long: Vec<_> = (0..5).map(|n| format!("Bash({n}{})", "x".repeat(250))).collect();
    let long = after(&long.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(long.len() < 1200 && long.starts_with("or allow 3 of 5 denied commands"), "{long}");
    let many: Vec<_> = (0..12).map(|n| format!("Bash(tool{n} get:*)")).collect();
    let many = after(&many.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(many.starts_with("or allow the denied commands"), "{many}");
    assert_eq!(many.matches("--allowed-tools").count(), 12);
}

#[test]
fn after_a_limit_the_next_step_also_allows_what_was_denied() {
    let story = ViewStory::begun().denied("kubectl get pods", Some("Bash(kubectl get:*)"));
    let steps = story.ends(Outcome::MaxIterations { limit: 1 }).steps();
    assert_eq!(
        steps,
        [
            "raise the limit, allow the denied commands and continue: nightwright resume R \
             --max-iterations 2 --allowed-tools \"Bash(kubectl get:*)\"",
            "or only raise the limit and continue: nightwright resume R --max-iterations 2",
            "read the log: nightwright log R",
        ]
    );
    let story = ViewStory::begun().denied("sh -c x", Some("Bash"));
    let steps = story.ends(Outcome::MaxIterations { limit: 1 }).steps();
    assert_eq!(steps[0], "raise the limit and continue: nightwright resume R --max-iterations 2");
    assert!(steps[1].starts_with("or raise the limit, allow any command"), "{}", steps[1]);
}

#[test]
fn the_next_step_calls_the_agent_by_the_name_that_its_user_knows() {
    let wrong = Outcome::BadAgent { why: "there is no model `opsu`".to_owned() };
    for (name, command, program, models) in [
        ("claude", None, "`claude`", true),
        ("rehearsal", None, "`claude`", true),
        ("command", Some("sh agent.sh"), "`sh agent.sh`", false),
    ] {
        let mut settings = Settings::default();
        settings.agent.command = command.map(str::to_owned);
        let mut story = ViewStory::begun_with(settings);
        story.view.facts.as_mut().unwrap().agent.name = name.to_owned();
        let steps = story.ends(wrong.clone()).steps().join("\n");
        assert!(steps.contains(program), "{steps}");
        assert_eq!(steps.contains("--model"), models, "{steps}");
    }
}

#[test]
fn after_a_plan_the_next_step_is_to_build_it() {
    let outcome = Outcome::Completed { proof: Proof::Model, unchecked: Some(Unchecked::Plan) };
    let sentence = outcome.sentence(2);
    assert!(sentence.contains("(checks do not apply to a plan)"), "{sentence}");
    let steps = ViewStory::begun().ends(outcome).steps();
    assert_eq!(steps, ["review the plan, then implement it: nightwright build"]);
}
