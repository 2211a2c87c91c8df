//! Receives hints from other processes: one connection listens for their notifications.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use postgres_store::{Hosts, ListeningSession};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::Notifier;

/// Forwards notifications to the store's [`Notifier`]. Starts with the first subscription, so a
/// store without subscriptions opens no connection for this.
pub(super) struct NotificationListener {
    /// `None` behind a pooler, where a session can't listen.
    hosts: Option<Hosts>,
    channel: String,
    runtime: Handle,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl NotificationListener {
    /// Captures the caller's runtime, because `start` may be called outside a runtime.
    pub(super) fn new(hosts: Option<Hosts>, channel: String) -> Self {
        Self {
            hosts,
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
            let listen = listen(hosts.clone(), self.channel.clone(), Arc::clone(notifier));
            self.runtime.spawn(listen)
        });
    }

    /// Stops listening for good.
    pub(super) fn stop(&self) {
        if let Some(task) = &*self.task.lock().unwrap_or_else(PoisonError::into_inner) {
            task.abort();
        }
    }
}

impl Drop for NotificationListener {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Listens and reconnects until the task is aborted.
async fn listen(hosts: Hosts, channel: String, notifier: Arc<Notifier>) {
    const PAUSE: Duration = Duration::from_secs(1);
    loop {
        if let Ok(mut listening) = ListeningSession::open(&hosts, &channel, None).await {
            // Notifications sent before this connection listened are lost, so wake the readers once.
            notifier.notify();
            // An error means that the connection was lost or is silent.
            while listening.next().await.is_ok() {
                notifier.notify();
            }
        }
        sleep(PAUSE).await;
    }
}
