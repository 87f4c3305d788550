//! Cancellation of an attempt: carries the request from the caller to the task that ends the
//! process.

use nightwright_core::effect::Grace;
use nightwright_core::stream::outcome::CancelReason;
use tokio::sync::watch;

/// A request to end an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancellation {
    /// Why. The first reason is the one that counts.
    pub why: CancelReason,
    /// How much time it has. Once taken away it never comes back.
    pub grace: Grace,
}

/// The sending side of a cancellation.
#[derive(Debug)]
pub struct Canceller(watch::Sender<Option<Cancellation>>);

impl Canceller {
    pub fn new() -> (Self, watch::Receiver<Option<Cancellation>>) {
        let (sender, receiver) = watch::channel(None);
        (Self(sender), receiver)
    }

    pub fn cancel(&self, why: CancelReason, grace: Grace) {
        self.0.send_modify(|cut| match cut {
            None => *cut = Some(Cancellation { why, grace }),
            Some(earlier) => match grace {
                Grace::Usual => {}
                Grace::None => earlier.grace = Grace::None,
            },
        });
    }
}

impl Cancellation {
    /// Waits for the word.
    pub async fn wanted(cuts: &mut watch::Receiver<Option<Self>>) -> Self {
        loop {
            if let Some(cut) = *cuts.borrow_and_update() {
                return cut;
            }
            if cuts.changed().await.is_err() {
                // The sender is gone, so no request can arrive.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Waits until there is no grace.
    pub async fn without_grace(cuts: &mut watch::Receiver<Option<Self>>) {
        while Self::wanted(cuts).await.grace == Grace::Usual {
            if cuts.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_cut_can_only_take_away_grace() {
        let (canceller, cuts) = Canceller::new();
        canceller.cancel(CancelReason::Limit, Grace::Usual);
        canceller.cancel(CancelReason::StopNow, Grace::None);
        canceller.cancel(CancelReason::Auth, Grace::Usual);
        assert_eq!(
            *cuts.borrow(),
            Some(Cancellation { why: CancelReason::Limit, grace: Grace::None })
        );
    }
}
