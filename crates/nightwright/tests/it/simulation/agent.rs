//! An agent that does its work, or anything else that agents have been seen to do.

use std::time::Duration;

use jiff::Timestamp;
use nightwright::process::GRACE;
use nightwright_core::effect::Grace;
use nightwright_core::permissions::denial::Denial;
use nightwright_core::stream::news::{
    AgentNews, Answer, AttemptReport, Blocker, Pulse, QuotaNews, QuotaWindow, Ready, RunningTool,
    TurnEnd, Verdict, WatchdogFinding, WatchdogSignal,
};
use nightwright_core::stream::outcome::{AttemptOutcome, CancelReason, ProcessExit, Suspicion};
use nightwright_core::units::{Tokens, Usd};
use tokio::sync::watch;
use tokio::time::sleep;

use super::dice::Dice;

/// One model call may go beyond the cap; an agent looks at its budget only after a call.
pub(super) const OVERSHOOT: Usd = Usd::from_cents(3);

/// The word that it is to end.
pub(super) type SimCancel = Option<(CancelReason, Grace)>;

/// The script of an attempt or call.
#[derive(Clone, Debug)]
pub(super) struct AttemptScript {
    /// Its messages, each with the delay since the last one.
    news: Vec<(Duration, AgentNews)>,
    /// Whether it ends by itself after that, and how much later.
    end: Option<Duration>,
    manners: ExitBehaviour,
    /// The files that it leaves if it ends by itself.
    pub(super) report: AttemptReport,
}

/// Its reaction to SIGTERM.
#[derive(Clone, Copy, Debug)]
enum ExitBehaviour {
    Leaves,
    Dawdles(Duration),
    /// Only a kill helps.
    Stays,
}

/// The input of an agent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    pub(super) cap: Option<Usd>,
    pub(super) wall: Timestamp,
    /// It misbehaves once in this number of times; 0 means never.
    pub(super) bad: u64,
    /// It claims completion once in this number of times.
    pub(super) claims: u64,
    /// It reports a blocker once in this number of times.
    pub(super) blocks: u64,
    /// Whether nothing is to go wrong any more.
    pub(super) calm: bool,
}

impl AttemptScript {
    /// For the work itself.
    pub(super) fn work(dice: &mut Dice, budget: Budget) -> Self {
        let mut script = Self::honest(dice, budget);
        let words = &mut script.report.text_evidence;
        words.promise = budget.calm || dice.one_in(budget.claims);
        words.signal = budget.calm || dice.one_in(budget.claims);
        words.states_done = budget.calm || dice.one_in(budget.claims);
        if !budget.calm && dice.one_in(6) {
            words.conflict =
                Some(dice.of(&["fast or safe", "Fast, or safe?", "old or new"]).into());
        }
        if !budget.calm && dice.one_in(5) {
            words.findings.push(notice(dice));
        }
        if !budget.calm && dice.one_in(budget.blocks) {
            words.blockers.push(Blocker::new("k", "a key"));
        }
        if !budget.calm && dice.one_in(30) {
            let impossible = Some("two tests".to_owned());
            words.blockers.push(Blocker { impossible, ..Blocker::new("i", "two tests") });
        }
        if dice.one_in(budget.bad) {
            script.misbehave(dice, budget);
        }
        script
    }

    /// For a verdict, a review, advice.
    pub(super) fn call(dice: &mut Dice, budget: Budget) -> Self {
        let mut script = Self::honest(dice, budget);
        let complete = budget.calm || dice.one_in(2);
        let verdict = Verdict { complete, reason: "because".to_owned(), missing: vec![] };
        let answer = Some(Answer::Verdict(verdict));
        script.report.answer = match dice.below(4) {
            0 if !budget.calm => None,
            1 if !budget.calm => Some(Answer::Text { text: "try this".to_owned() }),
            _ => answer,
        };
        if dice.one_in(budget.bad) {
            script.misbehave(dice, budget);
        }
        script
    }

    fn honest(dice: &mut Dice, budget: Budget) -> Self {
        let mut report = AttemptReport::bare(AttemptOutcome::Finished);
        let most = budget.cap.map_or(Usd::from_cents(50), |cap| cap + OVERSHOOT);
        report.cost = Some(Usd::from_micros(dice.below(most.micros().min(600_000)) + 1));
        report.tokens.output = dice.below(300) + 1;
        let mut news = vec![
            (dice.time(Duration::from_secs(9)), AgentNews::Ready(Ready::default())),
            (dice.time(Duration::from_mins(1)), pulse(dice.below(200))),
        ];
        if dice.one_in(6) {
            let noticed = AgentNews::Noticed(notice(dice));
            news.push((dice.time(Duration::from_mins(2)), noticed));
        }
        if dice.one_in(4) {
            let noticed = dice.one_in(2).then(|| notice(dice));
            let how = dice.of(&[TurnEnd::Well, TurnEnd::Queued, TurnEnd::Failed]);
            news.push((Duration::from_secs(1), AgentNews::TurnEnded { how, noticed }));
        }
        let slow = dice.of(&[1, 60, 1800]);
        let end = Some(Duration::from_millis(100) + dice.time(Duration::from_secs(slow)));
        Self { news, end, manners: ExitBehaviour::Leaves, report }
    }

    fn misbehave(&mut self, dice: &mut Dice, budget: Budget) {
        self.manners = match dice.below(3) {
            0 => ExitBehaviour::Leaves,
            1 => ExitBehaviour::Dawdles(dice.time(GRACE)),
            _ => ExitBehaviour::Stays,
        };
        match dice.below(12) {
            // It hangs: before it is ready, after it, in a tool, behind its result.
            0 => {
                self.news.truncate(usize::try_from(dice.below(3)).expect("small"));
                self.end = None;
            }
            1 => {
                let last = dice.of(&[in_tool(None), in_tool(Some(1)), leaving()]);
                self.news.push((Duration::from_secs(3), AgentNews::Pulse(last)));
                self.end = None;
            }
            2 => self.flood(dice),
            3 => {
                let more = garbage(dice, budget.wall);
                self.news.push((dice.time(Duration::from_secs(9)), more));
            }
            4 => self.report.cost = None,
            5 => {
                let tokens = dice.of(&[900, 6000, u64::MAX]);
                self.news.push((Duration::from_secs(2), pulse(tokens)));
                self.report.tokens.output = tokens.min(10_000);
            }
            _ => self.fail(dice, budget),
        }
    }

    /// It ends in another way than it should, and seldom knows what it has cost.
    fn fail(&mut self, dice: &mut Dice, budget: Budget) {
        self.report.outcome = outcome(dice, budget.wall);
        self.report.answer = None;
        if dice.one_in(2) {
            self.report.cost = None;
            self.report.priced = dice.of(&[None, Some(Usd::ZERO), Some(Usd::from_cents(2))]);
        }
        if dice.one_in(3) {
            self.news.clear();
            self.end = Some(Duration::ZERO);
        }
    }

    /// More than the queue can take, all at once.
    fn flood(&mut self, dice: &mut Dice) {
        for count in 0..dice.of(&[20, 300]) {
            self.news.push((Duration::ZERO, pulse(count)));
        }
    }
}

/// Plays a script. The end is reported once and last.
pub(super) async fn play(
    script: AttemptScript,
    mut cuts: watch::Receiver<SimCancel>,
    mut tell: impl AsyncFnMut(AgentNews),
) {
    let AttemptScript { news, end, manners, report } = script;
    let story = async {
        for (after, news) in news {
            sleep(after).await;
            tell(news).await;
        }
        match end {
            Some(after) => sleep(after).await,
            None => std::future::pending().await,
        }
    };
    let cut = tokio::select! {
        biased;
        () = story => None,
        cut = wanted(&mut cuts) => Some(cut),
    };
    let report = match cut {
        None => report,
        Some((why, grace)) => {
            let patience = match manners {
                ExitBehaviour::Leaves => Duration::ZERO,
                ExitBehaviour::Dawdles(time) => time,
                ExitBehaviour::Stays => GRACE,
            };
            if grace == Grace::Usual {
                let killed = cuts.wait_for(|cut| matches!(cut, Some((_, Grace::None))));
                tokio::select! {
                    biased;
                    () = sleep(patience) => {}
                    // The receiver is gone, so this is never polled again.
                    Ok(_) = killed => {}
                }
            }
            AttemptReport { outcome: outcome_of(why), cost: None, answer: None, ..report }
        }
    };
    tell(AgentNews::Exited(Box::new(report))).await;
}

async fn wanted(cuts: &mut watch::Receiver<SimCancel>) -> (CancelReason, Grace) {
    match cuts.wait_for(Option::is_some).await.map(|cut| *cut) {
        Ok(Some(cut)) => cut,
        Ok(None) | Err(_) => std::future::pending().await,
    }
}

/// The outcome of an attempt that is killed from outside.
fn outcome_of(why: CancelReason) -> AttemptOutcome {
    match why {
        CancelReason::Deadline(which) => AttemptOutcome::TimedOut { which },
        CancelReason::AfterResult => AttemptOutcome::Finished,
        CancelReason::Limit => AttemptOutcome::AttemptBudget,
        CancelReason::Auth => AttemptOutcome::Auth { why: "refused".to_owned() },
        CancelReason::StopNow => AttemptOutcome::Interrupted,
    }
}

fn outcome(dice: &mut Dice, wall: Timestamp) -> AttemptOutcome {
    let why = || "no".to_owned();
    let until = date(dice, wall);
    if dice.one_in(3) {
        return AttemptOutcome::UsageLimited { until };
    }
    if dice.one_in(40) {
        return dice.of(&[
            AttemptOutcome::Auth { why: why() },
            AttemptOutcome::Billing { why: why() },
            AttemptOutcome::BadStart { why: why() },
            AttemptOutcome::ModelNotFound { why: why() },
        ]);
    }
    dice.of(&[
        AttemptOutcome::UsageLimited { until: None },
        AttemptOutcome::RateLimited,
        AttemptOutcome::RateLimited,
        AttemptOutcome::Overloaded,
        AttemptOutcome::Network,
        AttemptOutcome::Crashed { how: ProcessExit::Signal(9) },
        AttemptOutcome::Crashed { how: ProcessExit::Code(3) },
        AttemptOutcome::NotStarted { why: why() },
        AttemptOutcome::PromptTooLong,
        AttemptOutcome::BadRequest { why: why() },
        AttemptOutcome::Refused,
        AttemptOutcome::OutputLimit,
        AttemptOutcome::Suspect { why: Suspicion::NoSignOfWork },
        AttemptOutcome::Suspect { why: Suspicion::BrokenOff },
        AttemptOutcome::Suspect { why: Suspicion::LocalCommand },
        AttemptOutcome::Interrupted,
        AttemptOutcome::TurnLimit,
        AttemptOutcome::AttemptBudget,
    ])
}

/// Any date: soon, late, long past, at the end of time, or none.
fn date(dice: &mut Dice, wall: Timestamp) -> Option<Timestamp> {
    match dice.below(8) {
        0 => None,
        1 => Some(wall),
        2 => Some(Timestamp::UNIX_EPOCH),
        3 => Some(Timestamp::MAX),
        _ => wall.checked_add(dice.any_time()).ok(),
    }
}

fn garbage(dice: &mut Dice, wall: Timestamp) -> AgentNews {
    let resets_at = date(dice, wall);
    let used = dice.of(&[3, 95, 255]);
    let notice = notice(dice);
    dice.of(&[
        AgentNews::Ready(Ready { failed_servers: vec!["x\u{1b}[2J\n".repeat(99)], ..ready() }),
        AgentNews::Pulse(Pulse { quiet: Duration::MAX, ..Pulse::default() }),
        AgentNews::Pulse(in_tool(Some(u64::MAX))),
        AgentNews::TurnEnded { how: TurnEnd::Well, noticed: Some(notice.clone()) },
        AgentNews::Noticed(notice),
        AgentNews::Denied(Denial {
            tool: "Ba\0sh".to_owned(),
            input: "r\0m".to_owned(),
            why: String::new(),
        }),
        AgentNews::Quota(QuotaNews { window: QuotaWindow::FiveHour, used, resets_at }),
        AgentNews::Quota(QuotaNews { window: QuotaWindow::SevenDay, used, resets_at }),
        AgentNews::LoginRefused,
    ])
}

fn ready() -> Ready {
    Ready::default()
}

fn pulse(tokens: u64) -> AgentNews {
    let tokens = Tokens { output: tokens, ..Tokens::default() };
    AgentNews::Pulse(Pulse { tokens, ..Pulse::default() })
}

fn in_tool(beat: Option<u64>) -> Pulse {
    let heartbeat = beat.map(Duration::from_secs);
    let running = Duration::from_secs(beat.unwrap_or(1));
    let tool = Some(RunningTool { name: "Bash".to_owned(), running, heartbeat });
    Pulse { tool, ..Pulse::default() }
}

fn leaving() -> Pulse {
    Pulse { exiting: true, ..Pulse::default() }
}

fn notice(dice: &mut Dice) -> WatchdogFinding {
    let signal = dice.of(&[
        WatchdogSignal::Asking,
        WatchdogSignal::GivingUp,
        WatchdogSignal::Repetition,
        WatchdogSignal::ToolErrors,
        WatchdogSignal::Compaction,
    ]);
    let text = dice.of(&["which?", "it cannot\u{1b}[2J be\ndone", ""]).to_owned();
    WatchdogFinding { signal, key: text.clone(), text, context: String::new() }
}
