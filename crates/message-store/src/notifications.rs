use tokio::sync::watch;

/// A store's side of a hint that messages may have been written.
///
/// Hints carry nothing and may be merged or lost: the truth is what a read returns.
#[derive(Debug)]
pub struct Notifier(watch::Sender<()>);

impl Default for Notifier {
    fn default() -> Self {
        Self(watch::Sender::new(()))
    }
}

impl Notifier {
    /// Wakes everybody who waits.
    pub fn notify(&self) {
        self.0.send_replace(());
    }

    /// A waiter that learns of every hint from now on.
    pub fn notifications(&self) -> Notifications {
        Notifications(self.0.subscribe())
    }
}

/// A reader's side of a [`Notifier`].
#[derive(Clone, Debug)]
pub struct Notifications(watch::Receiver<()>);

impl Notifications {
    /// Waits for a hint that came after this was made or after the last call returned; hints
    /// that came meanwhile count as one. Never returns once the store is gone.
    pub async fn changed(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
