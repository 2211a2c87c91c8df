//! Hints that messages may have been written.
//!
//! A hint carries no data. Hints may be merged, and hints from other processes may get lost, so a
//! reader must also poll now and then. A lost hint delays a message, but the message itself is not
//! lost (tests: `tests/it/sqlite/subscriptions.rs`).

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::looks::{Looks, Next};
use crate::{MessageStore, Settled};

/// The time between the hints of a store without a [`Notifier`].
const POLL: Duration = Duration::from_millis(100);

/// The sending side, owned by a store. A hint only says that a read may return new messages.
#[derive(Debug)]
pub struct Notifier {
    hints: watch::Sender<()>,
    looks: Arc<Looks>,
}

impl Default for Notifier {
    fn default() -> Self {
        Self {
            hints: watch::Sender::new(()),
            looks: Arc::default(),
        }
    }
}

impl Notifier {
    /// Wakes all waiting readers.
    pub fn notify(&self) {
        self.hints.send_replace(());
    }

    /// A receiver of all hints from now on.
    pub fn notifications(&self) -> Notifications {
        Notifications {
            hints: Some(self.hints.subscribe()),
            looks: Arc::clone(&self.looks),
        }
    }
}

/// The receiving side of a [`Notifier`], or of a clock.
#[derive(Clone, Debug)]
pub struct Notifications {
    /// `None` for a clock.
    hints: Option<watch::Receiver<()>>,
    /// The looks of all readers of the store.
    looks: Arc<Looks>,
}

impl Notifications {
    /// Hints at a steady pace, for a store that does not learn of writes.
    pub fn polling() -> Self {
        Self {
            hints: None,
            looks: Arc::default(),
        }
    }

    /// Waits for a hint sent since the last call returned, or since this receiver was created.
    /// Several such hints count as one. Never returns after the store is dropped.
    pub async fn changed(&mut self) {
        let Some(hints) = &mut self.hints else {
            return sleep(POLL).await;
        };
        // The sender is gone. If this returned, the caller's loop would spin.
        if hints.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// The result of the last look of the store's readers. A read that begins now sees all of it.
    pub(crate) fn settled(&self) -> Option<Settled> {
        self.looks.settled()
    }

    /// Waits for a hint, or until a look that is at most `interval` old shows that something may be new
    /// since `seen`: what was [settled](Self::settled) before the last read, which returned all there was.
    pub(crate) async fn news(
        &mut self,
        store: &impl MessageStore,
        seen: Option<Settled>,
        interval: Duration,
    ) {
        // The reader that looks may not be polled, so the others don't rely on it for long.
        const PATIENCE: u32 = 8;
        // An interval of zero would make the caller's loop spin.
        let interval = interval.max(Duration::from_millis(1));
        let looks = Arc::clone(&self.looks);
        let (mut pause, mut awaited) = (interval, 0);
        while timeout(pause, self.changed()).await.is_err() {
            pause = match looks.next(seen, interval) {
                Next::Read => return,
                Next::Await if awaited == PATIENCE => return,
                Next::Await => {
                    awaited += 1;
                    interval / PATIENCE
                }
                Next::Rest(left) => {
                    awaited = 0;
                    left
                }
                Next::Look(begun) => {
                    tokio::select! {
                        () = self.changed() => return,
                        () = looks.look(begun, store) => Duration::ZERO,
                    }
                }
            };
        }
    }
}
