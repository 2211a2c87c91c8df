//! Hints that messages may have been written.
//!
//! A hint carries no data. Hints may be merged, and hints from other processes may get lost, so a
//! reader must also poll now and then. A lost hint delays a message, but the message itself is not
//! lost (tests: `tests/it/sqlite/subscriptions.rs`).

use tokio::sync::watch;

/// The sending side, owned by a store. A hint only says that a read may return new messages.
#[derive(Debug)]
pub struct Notifier(watch::Sender<()>);

impl Default for Notifier {
    fn default() -> Self {
        Self(watch::Sender::new(()))
    }
}

impl Notifier {
    /// Wakes all waiting readers.
    pub fn notify(&self) {
        self.0.send_replace(());
    }

    /// A receiver of all hints from now on.
    pub fn notifications(&self) -> Notifications {
        Notifications(self.0.subscribe())
    }
}

/// The receiving side of a [`Notifier`].
#[derive(Clone, Debug)]
pub struct Notifications(watch::Receiver<()>);

impl Notifications {
    /// Waits for a hint sent since the last call returned, or since this receiver was created.
    /// Several such hints count as one. Never returns after the store is dropped.
    pub async fn changed(&mut self) {
        // The sender is gone. If this returned, the caller's loop would spin.
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
