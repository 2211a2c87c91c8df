//! Asks the stores whether they answer.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use dcb_core::EventStore as _;
use message_store::Namespaces as _;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, timeout};

use super::{Health, Refusal as _, Store};
use crate::stores::Stores;
use store_http::messages::default_name;

/// Interval between probes.
const EVERY: Duration = Duration::from_secs(1);
/// Time limit of one probe.
const LIMIT: Duration = Duration::from_secs(2);

impl Health {
    /// Probes all stores.
    pub(crate) async fn probe(&self, stores: &Stores) {
        // A store that hangs must not stop the probes, or the last result would stay forever.
        let (events, messages, series) = tokio::join!(
            timeout(LIMIT, ask_events(stores)),
            timeout(LIMIT, ask_messages(stores)),
            timeout(LIMIT, self.ask_series(stores)),
        );
        for (store, asked) in [
            (Store::Events, events),
            (Store::Messages, messages),
            (Store::Series, series),
        ] {
            let asked = asked.unwrap_or_else(|_| Err(format!("no answer within {LIMIT:?}")));
            self.answered(store, asked.is_ok());
            self.log_change(store, asked);
        }
        self.note_listeners(stores);
    }

    /// Logs the first failure of an outage, and its end. The probes run once a second.
    fn log_change(&self, store: Store, asked: Result<(), String>) {
        let is_silent = &self.state(store).is_silent;
        let was_silent = is_silent.swap(asked.is_err(), Ordering::Relaxed);
        match asked {
            Err(failed) if !was_silent => tracing::warn!(
                store = store.name(),
                failed,
                "a store failed its health check"
            ),
            Ok(()) if was_silent => {
                tracing::info!(
                    store = store.name(),
                    "a store answers its health check again"
                );
            }
            _ => {}
        }
    }

    /// A failed log refuses to sync, but still answers reads.
    async fn ask_series(&self, stores: &Stores) -> Result<(), String> {
        if let Some(failed) = &stores.series_failed {
            return Err(failed.to_string());
        }
        let series = stores.series.clone();
        // Syncing waits for the disk, so it runs on a blocking thread.
        let synced = tokio::task::spawn_blocking(move || series.sync()).await;
        let synced = synced.map_err(|failed| failed.to_string())?;
        self.wrote(Store::Series, synced.as_ref().err());
        match synced {
            Err(failed) if failed.cause().is_none() => Err(failed.to_string()),
            _ => Ok(()),
        }
    }
}

async fn ask_events(stores: &Stores) -> Result<(), String> {
    let events = stores.events.health().await;
    events.map(drop).map_err(|failed| failed.to_string())
}

async fn ask_messages(stores: &Stores) -> Result<(), String> {
    // One lookup is enough, even of a missing namespace. Listing would open every namespace.
    match stores.messages.get(&default_name()).await {
        Ok(_) | Err(message_store::Error::NamespaceNotFound { .. }) => Ok(()),
        Err(failed) => Err(failed.to_string()),
    }
}

/// Probes at each tick until the server stops.
pub(crate) async fn watch(
    health: Arc<Health>,
    stores: Arc<Stores>,
    mut stopped: watch::Receiver<bool>,
) {
    let mut ticks = tokio::time::interval(EVERY);
    // A slow store gets a full interval of rest after each probe.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            _ = stopped.wait_for(|stopped| *stopped) => return,
        }
        health.probe(&stores).await;
    }
}
