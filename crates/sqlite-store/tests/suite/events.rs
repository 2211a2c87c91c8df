//! `dcb-core` as a store of the suite.

use std::path::Path;

use dcb_core::sqlite::{BlockingSqliteStore, Config, SqliteStore, rebuild_keys};
use dcb_core::{Error, Event, EventStore as _, Query, ReadOptions};
use sqlite_store::FileConfig;
use store_fault::Health;

use crate::store::{Answer, Failed, Store};

#[derive(Clone)]
pub(crate) struct Events(SqliteStore);

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::new(&error, error.is_transient())
    }
}

/// Keeps few keys in memory, so that keys move into the index during the tests.
fn config(file: FileConfig) -> Config {
    let mut config = Config::memory();
    config.keys_in_memory = 3;
    *config = file;
    config
}

fn event() -> Event {
    let event = Event::builder("Happened").tag("a").build();
    event.expect("the event is valid")
}

impl Store for Events {
    async fn open(file: FileConfig) -> Answer<Self> {
        let store = SqliteStore::open(config(file)).await;
        store.map(Self).map_err(Failed::from)
    }

    fn open_blocking(file: FileConfig) -> Answer<()> {
        BlockingSqliteStore::open(config(file))?.close();
        Ok(())
    }

    async fn write(&self) -> Answer<()> {
        self.0.append(event()).await.map(drop).map_err(Failed::from)
    }

    fn write_blocking(&self) -> Answer<()> {
        let appended = self.0.blocking().append(event());
        appended.map(drop).map_err(Failed::from)
    }

    fn write_bytes_blocking(&self, bytes: usize) -> Answer<u64> {
        const EVENT: usize = 100_000;
        let event = Event::builder("Happened").data(vec![7; EVENT]).build();
        let event = event.expect("the event is valid");
        let events = vec![event; bytes / EVENT];
        let written = events.len() as u64;
        self.0.blocking().append(events)?;
        Ok(written)
    }

    fn read_blocking(&self, records: u64) -> Answer<()> {
        let read = ReadOptions::new().limit(records);
        let read = self.0.blocking().query(&Query::all(), read);
        read.map(drop).map_err(Failed::from)
    }

    fn total_blocking(&self) -> Answer<u64> {
        self.0.blocking().count(&Query::all()).map_err(Failed::from)
    }

    async fn delete(&self) -> Answer<()> {
        self.0.clear().await.map_err(Failed::from)
    }

    async fn count(&self) -> Answer<u64> {
        let read = self.0.query(&Query::all(), ReadOptions::new()).await;
        read.map(|read| read.events.len() as u64)
            .map_err(Failed::from)
    }

    async fn health(&self) -> Answer<Health> {
        self.0.health().await.map_err(Failed::from)
    }

    async fn backup(&self, copy: &Path) -> Answer<()> {
        self.0.backup(copy).await.map_err(Failed::from)
    }

    fn repair(file: FileConfig) -> Answer<()> {
        rebuild_keys(&config(file)).map(drop).map_err(Failed::from)
    }

    async fn close(self) {
        self.0.close().await;
    }
}
