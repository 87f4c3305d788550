//! `legwork doctor --probe`: one tiny call, made and read exactly as an attempt is.

mod verdict;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use legwork_core::agent::dialect::{Ask, Dialect, InputShape, Permissions};
use legwork_core::agent::message::{AgentMessage, ResultFacts, Said};
use legwork_core::agent::outcome::{CutReason, Deadline};
use legwork_core::agent::report::{AgentNews, AttemptReport};
use legwork_core::effect::Grace;
use legwork_core::input::Input;
use legwork_core::prompt::Prompt;
use legwork_core::settings::Completion;
use legwork_core::units::{AttemptId, RunId, Usd};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};

use super::finding::Finding;
use crate::agent::process::{ProcessAgent, Setup, Show};
use crate::agent::program::Found;
use crate::agent::{Agent, Order, Post, Source};
use crate::clock::{Clock, Motion};
use crate::error::Failure;
use crate::process::Containment;
use crate::signals::Signals;

/// What the call may cost.
const CAP: Usd = Usd::from_cents(5);
/// What is asked.
const QUESTION: &str = "Answer with the one word: ready";
/// Without tools and without the long prompt that explains them the call is tiny.
const TINY: [&str; 4] = ["--tools", "", "--system-prompt", "Answer as briefly as you can."];
/// How long the whole call may take.
const CALL_TIME: Duration = Duration::from_secs(90);
/// How long the program may stay after its result.
const AFTER_RESULT: Duration = Duration::from_secs(15);
/// News that wait to be heard.
const NEWS_MAX: usize = 16;
/// The name of its files.
const LABEL: &str = "probe";

/// What was seen in the stream that a report does not tell.
#[derive(Debug, Default)]
struct Witness {
    /// The model that it said it works with.
    model: Option<String>,
    /// The last result.
    result: Option<ResultFacts>,
    /// Whether nothing came after that.
    result_last: bool,
}

/// Makes the call and says what came of it; `None` if it was interrupted.
pub(super) async fn probe(
    found: &Found,
    environment: Vec<(OsString, OsString)>,
    signals: &mut Signals,
) -> Result<Option<Finding>, Failure> {
    let cant = |error: io::Error| Failure::trouble(format!("can't make a folder for it: {error}"));
    let folder = tempfile::Builder::new().prefix("legwork-probe-").tempdir().map_err(cant)?;
    // An empty one: nothing of a project is sent, and nothing of it has a say.
    fs::create_dir(folder.path().join("project")).map_err(cant)?;
    let witness = Arc::new(Mutex::new(Witness::default()));
    let mut agent = ProcessAgent::new(setup(found, environment, folder.path(), &witness));
    let begin = Instant::now();
    let Some(report) = call(&mut agent, signals).await else {
        return Ok(None);
    };
    let witness = witness.lock().unwrap_or_else(PoisonError::into_inner);
    let finding = verdict::verdict(&report, &witness, begin.elapsed());
    if finding.is_ok() {
        return Ok(Some(finding));
    }
    // Whoever wants to know more, or to report it, needs what was printed.
    let printed = folder.keep().join(format!("output/{LABEL}.ndjson"));
    Ok(Some(finding.hint(format!("what it printed is in `{}`", printed.display()))))
}

fn setup(
    found: &Found,
    environment: Vec<(OsString, OsString)>,
    folder: &Path,
    witness: &Arc<Mutex<Witness>>,
) -> Setup {
    let witness = Arc::clone(witness);
    let show: Show = Arc::new(move |_, message| {
        witness.lock().unwrap_or_else(PoisonError::into_inner).see(message);
    });
    let clock = Clock::system(Motion::Real);
    let extra = TINY.map(str::to_owned);
    let sources = ["user".to_owned()];
    Setup {
        program: found.path.clone(),
        arguments: Box::new(move |order, _| {
            let ask = Ask {
                max_turns: Some(1),
                cap: order.cap,
                permissions: Permissions::AskNothing,
                setting_sources: &sources,
                extra: &extra,
                ..Ask::default()
            };
            Dialect::Claude.arguments(&ask).into_iter().map(OsString::from).collect()
        }),
        dialect: Dialect::Claude,
        input: InputShape::Prompt,
        environment,
        project: folder.join("project"),
        folder: folder.to_owned(),
        containment: Containment::choose(None),
        run: RunId(LABEL.to_owned()),
        task: None,
        completion: Completion::default(),
        clock: Arc::new(move || clock.now()),
        show: Some(show),
    }
}

/// Waits for the end of the call, and sees to it that there is one.
async fn call(agent: &mut ProcessAgent, signals: &mut Signals) -> Option<AttemptReport> {
    let order = Order {
        source: Source::Attempt(AttemptId(1)),
        purpose: None,
        iteration: 1,
        label: LABEL.to_owned(),
        prompt: Prompt { system: String::new(), user: QUESTION.to_owned() },
        cap: Some(CAP),
        model: None,
    };
    let (sender, mut news) = mpsc::channel(NEWS_MAX);
    let post = Post::new(order.source, sender);
    let attempt = agent.start(order, post);
    let mut time_up = pin!(sleep(CALL_TIME));
    let mut leaving: Option<Instant> = None;
    let (mut late, mut interrupted) = (false, false);
    loop {
        let heard = tokio::select! {
            heard = news.recv() => heard?,
            () = &mut time_up, if !late => {
                late = true;
                attempt.cut(CutReason::Deadline(Deadline::Attempt), Grace::Usual);
                continue;
            }
            () = sleep_until(leaving.unwrap_or_else(Instant::now)), if leaving.is_some() => {
                leaving = None;
                attempt.cut(CutReason::AfterResult, Grace::Usual);
                continue;
            }
            () = signals.next() => {
                // A second signal takes away the grace.
                let grace = if interrupted { Grace::None } else { Grace::Usual };
                attempt.cut(CutReason::StopNow, grace);
                interrupted = true;
                continue;
            }
        };
        let Input::Agent(_, heard) = heard else { continue };
        match heard {
            AgentNews::Exited(report) => return (!interrupted).then_some(*report),
            AgentNews::LoginRefused => attempt.cut(CutReason::Auth, Grace::Usual),
            AgentNews::Pulse(pulse) if pulse.leaving && leaving.is_none() => {
                leaving = Some(Instant::now() + AFTER_RESULT);
            }
            AgentNews::Ready(_)
            | AgentNews::Pulse(_)
            | AgentNews::TurnEnded { .. }
            | AgentNews::Noticed(_)
            | AgentNews::Denied { .. }
            | AgentNews::Quota(_) => {}
        }
    }
}

impl Witness {
    fn see(&mut self, message: &AgentMessage<'_>) {
        self.result_last = false;
        if let Said::Ready(ready) = &message.said {
            self.model.get_or_insert_with(|| ready.model.clone());
        }
        if let Said::Result(result) = &message.said {
            self.result_last = true;
            self.result = Some((**result).clone());
        }
    }
}
