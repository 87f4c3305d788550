//! An agent that plays a script in the runtime's own time, so that a run of a night takes a
//! second when time is paused.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nightwright_core::agent::outcome::{AttemptOutcome, CutReason};
use nightwright_core::agent::report::{AgentNews, AttemptReport};
use nightwright_core::effect::Grace;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::sleep;

use super::cut::{Cut, Cutter};
use super::{Agent, Attempt, Order, Post};
use crate::process::GRACE;

/// Plays one script for each attempt or call, in order.
#[derive(Debug, Default)]
pub struct ScriptedAgent {
    scripts: VecDeque<Vec<Step>>,
    log: Log,
}

/// One step of a script.
#[derive(Clone, Debug)]
pub enum Step {
    /// Nothing happens for so long.
    After(Duration),
    /// It has something to tell. An `Exited` here counts as [`Step::Exit`].
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
pub struct Log {
    entries: Arc<Mutex<Vec<Entry>>>,
}

/// One thing that a scripted agent was asked or told.
#[derive(Clone, Debug)]
pub enum Entry {
    /// To start.
    Started(Box<Order>),
    /// A further message.
    Told(String),
    /// That no more messages will come.
    InputClosed,
    /// To end.
    Cut(CutReason, Grace),
}

impl Log {
    /// Everything so far, in order.
    pub fn entries(&self) -> Vec<Entry> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What it was asked to start, in order.
    pub fn orders(&self) -> Vec<Order> {
        let started = |entry| match entry {
            Entry::Started(order) => Some(*order),
            Entry::Told(_) | Entry::InputClosed | Entry::Cut(..) => None,
        };
        self.entries().into_iter().filter_map(started).collect()
    }

    fn note(&self, entry: Entry) {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
    }
}

impl ScriptedAgent {
    /// An agent for so many attempts and calls as there are scripts. One that is started beyond
    /// them could not be asked, and says so.
    pub fn new(scripts: impl IntoIterator<Item = Vec<Step>>) -> Self {
        Self { scripts: scripts.into_iter().collect(), log: Log::default() }
    }

    /// What it is asked; stays good after the agent is given away.
    pub fn log(&self) -> Log {
        self.log.clone()
    }
}

impl Agent for ScriptedAgent {
    fn start(&mut self, order: Order, post: Post) -> Box<dyn Attempt> {
        self.log.note(Entry::Started(Box::new(order)));
        let script = self.scripts.pop_front().unwrap_or_else(|| {
            let why = "the script is at its end".to_owned();
            vec![Step::Exit(Box::new(AttemptReport::bare(AttemptOutcome::NotStarted { why })))]
        });
        let (cutter, cuts) = Cutter::new();
        let task = tokio::spawn(play(script, post, cuts)).abort_handle();
        Box::new(ScriptedAttempt { log: self.log.clone(), cutter, task })
    }
}

struct ScriptedAttempt {
    log: Log,
    cutter: Cutter,
    task: AbortHandle,
}

impl Attempt for ScriptedAttempt {
    fn say(&self, text: String) {
        self.log.note(Entry::Told(text));
    }

    fn close_input(&self) {
        self.log.note(Entry::InputClosed);
    }

    fn cut(&self, why: CutReason, grace: Grace) {
        self.log.note(Entry::Cut(why, grace));
        self.cutter.cut(why, grace);
    }
}

impl Drop for ScriptedAttempt {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn play(script: Vec<Step>, post: Post, mut cuts: watch::Receiver<Option<Cut>>) {
    let mut polite = true;
    let story = async {
        for step in script {
            match step {
                Step::After(time) => sleep(time).await,
                Step::News(AgentNews::Exited(report)) | Step::Exit(report) => return report,
                Step::News(news) => post.send(news).await,
                Step::IgnoreTerm => polite = false,
                Step::Hang => std::future::pending().await,
            }
        }
        Box::new(AttemptReport::bare(AttemptOutcome::Finished))
    };
    let ended = tokio::select! {
        biased;
        report = story => Ok(report),
        cut = Cut::wanted(&mut cuts) => Err(cut),
    };
    let report = match ended {
        Ok(report) => report,
        Err(cut) => {
            if cut.grace == Grace::Usual && !polite {
                // Either way it is over then: killed when its time is up, or sooner.
                tokio::select! {
                    () = sleep(GRACE) => {}
                    () = Cut::without_grace(&mut cuts) => {}
                }
            }
            Box::new(AttemptReport::bare(outcome_of(cut.why)))
        }
    };
    post.send(AgentNews::Exited(report)).await;
}

/// What comes of an attempt that is ended and has left nothing.
fn outcome_of(why: CutReason) -> AttemptOutcome {
    match why {
        CutReason::Deadline(which) => AttemptOutcome::TimedOut { which },
        CutReason::AfterResult => AttemptOutcome::Finished,
        CutReason::Limit => AttemptOutcome::AttemptBudget,
        CutReason::Auth => {
            AttemptOutcome::Auth { why: "the provider refused the login".to_owned() }
        }
        CutReason::StopNow => AttemptOutcome::Interrupted,
    }
}
