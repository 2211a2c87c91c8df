//! Hints that messages may have been written.
//!
//! A hint carries no data. Hints may be merged, and hints from other processes may get lost, so a
//! reader must also poll now and then. A lost hint delays a message, but the message itself is not
//! lost (tests: `tests/it/sqlite/subscriptions.rs`).

use std::time::Duration;

use tokio::sync::watch;

/// The time between the hints of a store without a [`Notifier`].
const POLL: Duration = Duration::from_millis(100);

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
        Notifications(Some(self.0.subscribe()))
    }
}

/// The receiving side of a [`Notifier`], or of a clock.
#[derive(Clone, Debug)]
pub struct Notifications(Option<watch::Receiver<()>>);

impl Notifications {
    /// Hints at a steady pace, for a store that does not learn of writes.
    pub fn polling() -> Self {
        Self(None)
    }

    /// Waits for a hint sent since the last call returned, or since this receiver was created.
    /// Several such hints count as one. Never returns after the store is dropped.
    pub async fn changed(&mut self) {
        let Some(hints) = &mut self.0 else {
            return tokio::time::sleep(POLL).await;
        };
        // The sender is gone. If this returned, the caller's loop would spin.
        if hints.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
