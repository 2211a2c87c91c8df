//! Forwards all samples to another server by Prometheus' remote write 1.0. Tests:
//! `tests/it/forward/`.
//!
//! The log of the series is the queue, so samples that wait survive a restart. In memory, there is a
//! log for forwarding alone.

mod answer;
mod left;
mod target;
mod transport;

use std::io;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;
use tsdb::wire::remote_write::{LogForwardStats, LogForwarder, LogForwarderOptions};
use tsdb::{LogTail, TailStart};

use crate::settings::Settings;

use target::Target;
use transport::Http;

pub(crate) use left::warn_of_left;
pub(crate) use target::{check, target};

/// How long a stop may take to send what waits.
const STOP_LIMIT: Duration = Duration::from_secs(5);

/// Forwarding in progress.
pub(crate) struct Forwarding {
    /// `None` after the close.
    forwarder: Mutex<Option<LogForwarder>>,
    /// The counts at the close.
    last: Mutex<LogForwardStats>,
    /// Ends the request in progress at this time.
    stopping: watch::Sender<Option<Instant>>,
    is_in_memory: bool,
}

impl Forwarding {
    /// # Errors
    /// The system's certificates can't be read, or the operating system could not start a thread.
    pub(crate) fn start(tail: LogTail, target: Target, settings: &Settings) -> io::Result<Self> {
        announce(&tail, &target, settings);
        let is_in_memory = tail.is_in_memory();
        let (stopping, stopped) = watch::channel(None);
        let options = LogForwarderOptions {
            max_unsent_bytes: settings.forward_max_bytes,
            max_age: Duration::from_secs(settings.forward_max_age_s),
            ..LogForwarderOptions::default()
        };
        let forwarder = LogForwarder::start(tail, Http::new(target, stopped)?, options)?;
        Ok(Self {
            forwarder: Mutex::new(Some(forwarder)),
            last: Mutex::default(),
            stopping,
            is_in_memory,
        })
    }

    pub(crate) fn stats(&self) -> LogForwardStats {
        match &*self.forwarder.lock() {
            Some(forwarder) => forwarder.stats(),
            None => self.last.lock().clone(),
        }
    }

    /// Sends what waits, within [`STOP_LIMIT`]. Call it after the last write.
    pub(crate) async fn close(&self) {
        let Some(forwarder) = self.forwarder.lock().take() else {
            return;
        };
        self.stopping
            .send_replace(Some(Instant::now() + STOP_LIMIT));
        let closed = tokio::task::spawn_blocking(move || forwarder.close(STOP_LIMIT)).await;
        let Ok(stats) = closed else {
            return;
        };
        if stats.unsent_bytes > 0 {
            let bytes = stats.unsent_bytes;
            match self.is_in_memory {
                true => tracing::warn!(bytes, "samples were not forwarded and are lost"),
                false => tracing::info!(bytes, "samples will be forwarded after the next start"),
            }
        }
        *self.last.lock() = stats;
    }
}

fn announce(tail: &LogTail, target: &Target, settings: &Settings) {
    tracing::info!(
        to = target.shown(),
        max_bytes = settings.forward_max_bytes,
        max_age_s = settings.forward_max_age_s,
        "forwarding samples"
    );
    if tail.is_in_memory() {
        tracing::warn!(
            "the series have no log: samples that are not forwarded when the server ends are lost"
        );
        return;
    }
    match tail.start() {
        TailStart::Resumed => tracing::info!("forwarding goes on where it ended"),
        TailStart::Replaced => tracing::warn!(
            "the log was replaced since the last start: only new samples are forwarded"
        ),
        _ => tracing::info!("forwarding begins with new samples"),
    }
}
