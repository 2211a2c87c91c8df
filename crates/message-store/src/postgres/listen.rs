//! Receives hints from other processes: one connection listens for their notifications.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use postgres_store::{Hearing, Hosts, ListeningSession};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::{Listener, Notifier};

/// Forwards notifications to the store's [`Notifier`]. Starts with the first subscription, so a
/// store without subscriptions opens no connection for this.
pub(super) struct NotificationListener {
    /// `None` behind a pooler, where a session can't listen.
    hosts: Option<Hosts>,
    channel: String,
    runtime: Handle,
    hearing: Hearing,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl NotificationListener {
    /// Captures the caller's runtime, because `start` may be called outside a runtime.
    pub(super) fn new(hosts: Option<Hosts>, channel: String) -> Self {
        Self {
            hosts,
            hearing: Hearing::new(&channel),
            channel,
            runtime: Handle::current(),
            task: Mutex::default(),
        }
    }

    /// Starts listening on the first call.
    pub(super) fn start(&self, notifier: &Arc<Notifier>) {
        let Some(hosts) = &self.hosts else {
            return;
        };
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        task.get_or_insert_with(|| {
            self.hearing.starts();
            let session = Session {
                hosts: hosts.clone(),
                channel: self.channel.clone(),
                hearing: self.hearing.clone(),
            };
            self.runtime.spawn(session.listen(Arc::clone(notifier)))
        });
    }

    /// Stops listening for good.
    pub(super) fn stop(&self) {
        if let Some(task) = &*self.task.lock().unwrap_or_else(PoisonError::into_inner) {
            task.abort();
        }
        self.hearing.stops();
    }

    /// The state of the session. `None` if there is none.
    pub(super) fn report(&self) -> Option<Listener> {
        let (lost_since, replacements) = self.hearing.report()?;
        Some(Listener {
            lost_since,
            replacements,
        })
    }
}

impl Drop for NotificationListener {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The parameters of the listener's sessions, and whether one hears.
struct Session {
    hosts: Hosts,
    channel: String,
    hearing: Hearing,
}

impl Session {
    /// Listens and reconnects until the task is aborted.
    async fn listen(self, notifier: Arc<Notifier>) {
        const PAUSE: Duration = Duration::from_secs(1);
        loop {
            let Err(failed) = self.hear(&notifier).await;
            self.hearing.lost(&failed);
            sleep(PAUSE).await;
        }
    }

    /// Listens until the connection is lost or silent.
    async fn hear(&self, notifier: &Notifier) -> Result<Infallible, sqlx::Error> {
        let mut session = ListeningSession::open(&self.hosts, &self.channel, None).await?;
        self.hearing.hears();
        // Notifications sent before this connection listened are lost, so wake the readers once.
        notifier.notify();
        loop {
            session.next().await?;
            notifier.notify();
        }
    }
}
