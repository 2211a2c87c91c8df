use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::followers::{Follower, Followers};
use super::looks::Looks;

/// Wakes subscriptions that wait for new events. Implementations of stores keep one signal per log
/// and call [`Notifier::notify`] after each commit.
///
/// The signal is a hint. A subscription reads the log after a wake-up, and also polls it. So lost or
/// redundant signals do no harm.
#[derive(Clone, Debug)]
pub struct Notifier {
    // A watch channel merges announcements that are not seen yet.
    sender: watch::Sender<()>,
    followers: Arc<Followers>,
    looks: Arc<Looks>,
}

impl Notifier {
    /// Creates a signal without waiters.
    pub fn new() -> Self {
        Self {
            sender: watch::Sender::new(()),
            followers: Arc::default(),
            looks: Arc::default(),
        }
    }

    /// Wakes all subscriptions that wait. A subscription that has read the log but does not wait
    /// yet wakes as soon as it waits.
    pub fn notify(&self) {
        // No waiter is missed: a subscription that starts after this check has yet to read the log.
        if self.sender.receiver_count() > 0 {
            // Unlike `send`, `send_replace` does not fail if the last receiver was dropped since
            // the check.
            self.sender.send_replace(());
        }
    }

    /// The waiting side.
    pub fn notifications(&self) -> Notifications {
        Notifications {
            receiver: Some(self.sender.subscribe()),
            followers: Arc::clone(&self.followers),
            looks: Arc::clone(&self.looks),
        }
    }
}

impl Default for Notifier {
    fn default() -> Self {
        Self::new()
    }
}

/// Waits for new events in a log.
#[derive(Debug)]
pub struct Notifications {
    /// `None` if the store announces nothing.
    receiver: Option<watch::Receiver<()>>,
    followers: Arc<Followers>,
    looks: Arc<Looks>,
}

impl Notifications {
    /// The waiting side for a store that announces nothing. Its subscriptions only poll.
    pub fn none() -> Self {
        Self {
            receiver: None,
            followers: Arc::default(),
            looks: Arc::default(),
        }
    }

    /// One more subscription of the store.
    pub(super) fn follower(&self) -> Follower {
        Follower::of(&self.followers)
    }

    /// The looks of all subscriptions of the store at the end of the log.
    pub(super) fn looks(&self) -> &Looks {
        &self.looks
    }

    /// Discards earlier announcements. Call it before reading the log. If it came after, it would
    /// discard the announcement of an append that the read did not see.
    pub(crate) fn mark_seen(&mut self) {
        if let Some(receiver) = &mut self.receiver {
            receiver.mark_unchanged();
        }
    }

    /// Waits until an append is announced or `limit` has passed. Returns whether one was announced.
    pub(crate) async fn announced(&mut self, limit: Duration) -> bool {
        if let Some(receiver) = &mut self.receiver {
            match timeout(limit, receiver.changed()).await {
                Ok(Ok(())) => return true,
                Err(_elapsed) => return false,
                // The sender was dropped. `changed` would now return at once, so only poll.
                Ok(Err(_)) => self.receiver = None,
            }
        }
        sleep(limit).await;
        false
    }
}
