//! An agent that plays a script in the runtime's own time, so that a run of a night takes a
//! second when time is paused.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nightwright::agent::cancel::{Cancellation, Canceller};
use nightwright::agent::{Agent, Attempt, LaunchRequest, NewsSender};
use nightwright::process::GRACE;
use nightwright_core::effect::Grace;
use nightwright_core::stream::outcome::{AttemptOutcome, CancelReason};
use nightwright_core::stream::report::{AgentNews, AttemptReport};
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
    /// Nothing happens for so long.
    After(Duration),
    /// It has something to tell. An `Exited` here counts as [`ScriptStep::Exit`].
    News(AgentNews),
    /// From here on it does not leave when it is asked to, only when it is killed.
    IgnoreTerm,
    /// Nothing happens any more until it is ended from outside.
    Hang,
    /// It is over. What follows is never played.
    Exit(Box<AttemptReport>),
}

/// What a scripted agent was asked and told, for whoever plays with it to look at.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScriptedLog {
    entries: Arc<Mutex<Vec<ScriptedEntry>>>,
}

/// One thing that a scripted agent was asked or told.
#[derive(Clone, Debug)]
pub(crate) enum ScriptedEntry {
    /// To start.
    Started(Box<LaunchRequest>),
    /// A further message.
    Sent(String),
    /// That no more messages will come.
    InputClosed,
    /// To end.
    Cut(CancelReason, Grace),
}

impl ScriptedLog {
    /// Everything so far, in order.
    pub(crate) fn entries(&self) -> Vec<ScriptedEntry> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What it was asked to start, in order.
    pub(crate) fn orders(&self) -> Vec<LaunchRequest> {
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
    /// An agent for so many attempts and calls as there are scripts. One that is started beyond
    /// them could not be asked, and says so.
    pub(crate) fn new(scripts: impl IntoIterator<Item = Vec<ScriptStep>>) -> Self {
        Self { scripts: scripts.into_iter().collect(), log: ScriptedLog::default() }
    }

    /// What it is asked; stays good after the agent is given away.
    pub(crate) fn log(&self) -> ScriptedLog {
        self.log.clone()
    }
}

impl Agent for ScriptedAgent {
    fn start(&mut self, request: LaunchRequest, news: NewsSender) -> Box<dyn Attempt> {
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
                // Either way it is over then: killed when its time is up, or sooner.
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

/// What comes of an attempt that is ended and has left nothing.
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
