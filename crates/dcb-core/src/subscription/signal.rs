use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// Wakes those who wait for a log to grow. For stores: one a log, told after each commit.
///
/// It is a hint. Whoever is woken reads the log, and also reads it now and then without being
/// woken, so a signal that is lost or comes too often does no harm.
#[derive(Clone, Debug)]
pub struct AppendSignal {
    sender: watch::Sender<()>,
}

impl AppendSignal {
    /// A signal that nobody waits for yet.
    pub fn new() -> Self {
        Self {
            sender: watch::Sender::new(()),
        }
    }

    /// Wakes all that wait, and those that begin to wait without having looked since.
    pub fn announce(&self) {
        // Who comes later than this look has not read the log yet.
        if self.sender.receiver_count() > 0 {
            self.sender.send_replace(());
        }
    }

    /// The waiting side.
    pub fn appends(&self) -> Appends {
        Appends {
            receiver: Some(self.sender.subscribe()),
        }
    }
}

impl Default for AppendSignal {
    fn default() -> Self {
        Self::new()
    }
}

/// Waits for a log to grow.
#[derive(Debug)]
pub struct Appends {
    /// `None` where nobody announces anything.
    receiver: Option<watch::Receiver<()>>,
}

impl Appends {
    /// Of a store that announces nothing: who waits only polls.
    pub fn unannounced() -> Self {
        Self { receiver: None }
    }

    /// Ignores what was announced so far. To be called before the log is read, so that what is
    /// appended after the read is not taken for seen.
    pub(crate) fn mark_seen(&mut self) {
        if let Some(receiver) = &mut self.receiver {
            receiver.mark_unchanged();
        }
    }

    /// Waits until an append is announced, but no longer than `limit`. Whether one was announced.
    pub(crate) async fn announced(&mut self, limit: Duration) -> bool {
        if let Some(receiver) = &mut self.receiver {
            match timeout(limit, receiver.changed()).await {
                Ok(Ok(())) => return true,
                Err(_elapsed) => return false,
                // Whoever announced is gone.
                Ok(Err(_)) => self.receiver = None,
            }
        }
        sleep(limit).await;
        false
    }
}
