//! An agent that plays a script in the time of the runtime. With paused time, a run of a whole
//! night takes a second.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nightwright::agent::cancel::{Cancellation, Canceller};
use nightwright::agent::{Agent, AgentRequest, Attempt, NewsSender};
use nightwright::process::GRACE;
use nightwright_core::effect::Grace;
use nightwright_core::stream::news::{AgentNews, AttemptReport};
use nightwright_core::stream::outcome::{AttemptOutcome, CancelReason};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::sleep;

/// Plays one script for each attempt or call, in order.
#[derive(Debug, Default)]
pub(crate) struct ScriptedAgent {
    scripts: VecDeque<Vec<ScriptStep>>,
    log: ScriptedLog,
}

/// One step of a script.
#[derive(Clone, Debug)]
pub(crate) enum ScriptStep {
    /// Waits for this duration.
    After(Duration),
    /// Sends a piece of news. `Exited` counts as [`ScriptStep::Exit`].
    News(AgentNews),
    /// Ignores requests to exit from now on, until it is killed.
    IgnoreTerm,
    /// Hangs until it is cancelled.
    Hang,
    /// Exits. Later steps are never played.
    Exit(Box<AttemptReport>),
}

/// The requests to a scripted agent, for tests to inspect.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScriptedLog {
    entries: Arc<Mutex<Vec<ScriptedEntry>>>,
}

/// One request to a scripted agent.
#[derive(Clone, Debug)]
pub(crate) enum ScriptedEntry {
    /// A request to start an attempt or a call.
    Started(Box<AgentRequest>),
    /// A further message during the attempt.
    Sent(String),
    /// The end of the messages.
    InputClosed,
    /// A request to end the attempt.
    Cut(CancelReason, Grace),
}

impl ScriptedLog {
    /// All requests so far, in order.
    pub(crate) fn entries(&self) -> Vec<ScriptedEntry> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The launch requests so far, in order.
    pub(crate) fn orders(&self) -> Vec<AgentRequest> {
        let started = |entry| match entry {
            ScriptedEntry::Started(request) => Some(*request),
            ScriptedEntry::Sent(_) | ScriptedEntry::InputClosed | ScriptedEntry::Cut(..) => None,
        };
        self.entries().into_iter().filter_map(started).collect()
    }

    fn note(&self, entry: ScriptedEntry) {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
    }
}

impl ScriptedAgent {
    /// Creates an agent with one script per attempt or call. Any further one fails to start.
    pub(crate) fn new(scripts: impl IntoIterator<Item = Vec<ScriptStep>>) -> Self {
        Self { scripts: scripts.into_iter().collect(), log: ScriptedLog::default() }
    }

    /// The log of requests, which stays valid after the agent has moved.
    pub(crate) fn log(&self) -> ScriptedLog {
        self.log.clone()
    }
}

impl Agent for ScriptedAgent {
    fn start(&mut self, request: AgentRequest, news: NewsSender) -> Box<dyn Attempt> {
        self.log.note(ScriptedEntry::Started(Box::new(request)));
        let script = self.scripts.pop_front().unwrap_or_else(|| {
            let why = "the script is at its end".to_owned();
            vec![ScriptStep::Exit(Box::new(AttemptReport::bare(AttemptOutcome::NotStarted {
                why,
            })))]
        });
        let (canceller, cuts) = Canceller::new();
        let task = tokio::spawn(play(script, news, cuts)).abort_handle();
        Box::new(ScriptedAttempt { log: self.log.clone(), canceller, task })
    }
}

struct ScriptedAttempt {
    log: ScriptedLog,
    canceller: Canceller,
    task: AbortHandle,
}

impl Attempt for ScriptedAttempt {
    fn send_message(&self, text: String) {
        self.log.note(ScriptedEntry::Sent(text));
    }

    fn close_input(&self) {
        self.log.note(ScriptedEntry::InputClosed);
    }

    fn cancel(&self, why: CancelReason, grace: Grace) {
        self.log.note(ScriptedEntry::Cut(why, grace));
        self.canceller.cancel(why, grace);
    }
}

impl Drop for ScriptedAttempt {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn play(
    script: Vec<ScriptStep>,
    post: NewsSender,
    mut cuts: watch::Receiver<Option<Cancellation>>,
) {
    let mut polite = true;
    let story = async {
        for step in script {
            match step {
                ScriptStep::After(time) => sleep(time).await,
                ScriptStep::News(AgentNews::Exited(report)) | ScriptStep::Exit(report) => {
                    return report;
                }
                ScriptStep::News(news) => post.send(news).await,
                ScriptStep::IgnoreTerm => polite = false,
                ScriptStep::Hang => std::future::pending().await,
            }
        }
        Box::new(AttemptReport::bare(AttemptOutcome::Finished))
    };
    let ended = tokio::select! {
        biased;
        report = story => Ok(report),
        cut = Cancellation::wanted(&mut cuts) => Err(cut),
    };
    let report = match ended {
        Ok(report) => report,
        Err(cut) => {
            if cut.grace == Grace::Usual && !polite {
                // The agent exits in both cases: killed after the grace period, or earlier.
                tokio::select! {
                    () = sleep(GRACE) => {}
                    () = Cancellation::without_grace(&mut cuts) => {}
                }
            }
            Box::new(AttemptReport::bare(outcome_of(cut.why)))
        }
    };
    post.send(AgentNews::Exited(report)).await;
}

/// The outcome of a cancelled attempt without a result.
fn outcome_of(why: CancelReason) -> AttemptOutcome {
    match why {
        CancelReason::Deadline(which) => AttemptOutcome::TimedOut { which },
        CancelReason::AfterResult => AttemptOutcome::Finished,
        CancelReason::Limit => AttemptOutcome::AttemptBudget,
        CancelReason::Auth => {
            AttemptOutcome::Auth { why: "the provider refused the login".to_owned() }
        }
        CancelReason::StopNow => AttemptOutcome::Interrupted,
    }
}
