//! A hotel's booking service. Each part is one file:
//!
//! - [`booking`]: decisions on the event store. A room is booked once a night, and invoice numbers
//!   have no gaps.
//! - [`payment`]: each booking becomes one message, which a process manager handles and confirms.
//! - [`rooms`]: the read model, in PostgreSQL or SQLite.
//! - [`http`]: the interface, and errors as statuses.

pub mod booking;
pub mod http;
pub mod payment;
pub mod rooms;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dcb_core::EventStore as _;
use message_store::MessageStore as _;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::interval;

pub use http::router;
use rooms::Rooms;

pub type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// The stores and what is kept of them. Clones share everything.
#[derive(Clone)]
pub struct Service {
    pub events: dcb_core::AnyStore,
    pub messages: message_store::AnyStore,
    pub rooms: Rooms,
    pub series: tsdb::Db,
    pub metrics: tsdb::Registry,
}

impl Service {
    /// Opens the stores in memory (`memory:`), in a folder, or in a PostgreSQL database.
    pub async fn open(place: &str) -> Result<Self, AnyError> {
        let file = |name: &str| match place {
            "memory:" => place.to_owned(),
            url if url.contains("://") => url.to_owned(),
            folder => format!("{folder}/{name}.db"),
        };
        if place != "memory:" && !place.contains("://") {
            std::fs::create_dir_all(place)?;
        }
        Ok(Self {
            events: dcb_core::AnyStore::open(&file("events")).await?,
            messages: message_store::AnyStore::open(&file("messages")).await?,
            rooms: Rooms::open(&file("rooms"), rooms::VERSION).await?,
            series: tsdb::Db::new(tsdb::DbOptions::default()),
            metrics: tsdb::Registry::new(),
        })
    }

    /// Everything that runs beside the requests, until the signal comes. Outages don't end it.
    pub async fn work(self, mut stopped: watch::Receiver<bool>) -> Result<(), AnyError> {
        let (mut managers, mut others) = (JoinSet::new(), JoinSet::new());
        for member in 0..payment::MEMBERS {
            let (events, messages) = (self.events.clone(), self.messages.clone());
            managers.spawn(payment::pay(events, messages, member, stopped.clone()));
        }
        others.spawn(payment::request(self.events.clone(), self.messages.clone()));
        others.spawn(self.rooms.clone().follow(self.events.clone()));
        others.spawn(record(self.metrics.clone(), self.series.clone()));
        tokio::select! {
            _ = stopped.wait_for(|stopped| *stopped) => {}
            Some(failed) = others.join_next() => failed??,
            Some(failed) = managers.join_next() => failed??,
        }
        // The process managers finish what they handle. The other tasks may be dropped at any time.
        while let Some(ended) = managers.join_next().await {
            ended??;
        }
        Ok(())
    }

    pub async fn close(&self) {
        self.events.close().await;
        self.messages.close().await;
    }
}

/// Writes the metrics as series, every second.
async fn record(metrics: tsdb::Registry, series: tsdb::Db) -> Result<(), AnyError> {
    let mut ticks = interval(Duration::from_secs(1));
    loop {
        ticks.tick().await;
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
        if let Err(error) = metrics.record(&series, i64::try_from(now.as_millis())?) {
            tracing::warn!(%error, "the metrics were not written");
        }
    }
}
