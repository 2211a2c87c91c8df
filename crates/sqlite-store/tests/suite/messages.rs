//! `message-store` as a store of the suite.

use std::path::Path;

use message_store::sqlite::{BlockingSqliteStore, Config, SqliteStore, rebuild_columns};
use message_store::{
    Category, CategoryRead, Error, ExpectedVersion, Message, MessageStore as _, Position,
    StreamName,
};
use sqlite_store::FileConfig;
use store_fault::Health;

use crate::store::{Answer, Failed, Store};

#[derive(Clone)]
pub(crate) struct Messages(SqliteStore);

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::new(&error, error.is_transient())
    }
}

fn config(file: FileConfig) -> Config {
    let mut config = Config::memory();
    *config = file;
    config
}

fn stream() -> StreamName {
    StreamName::new("a-1").expect("the name is valid")
}

fn message() -> Message {
    let message = Message::builder("Happened").build();
    message.expect("the message is valid")
}

impl Store for Messages {
    async fn open(file: FileConfig) -> Answer<Self> {
        let store = SqliteStore::open(config(file)).await;
        store.map(Self).map_err(Failed::from)
    }

    fn open_blocking(file: FileConfig) -> Answer<()> {
        BlockingSqliteStore::open(config(file))?.close();
        Ok(())
    }

    async fn write(&self) -> Answer<()> {
        let (stream, any) = (stream(), ExpectedVersion::Any);
        let written = self.0.write_message(&stream, message(), any).await;
        written.map(drop).map_err(Failed::from)
    }

    fn write_blocking(&self) -> Answer<()> {
        let (store, any) = (self.0.blocking(), ExpectedVersion::Any);
        let written = store.write_message(&stream(), message(), any);
        written.map(drop).map_err(Failed::from)
    }

    fn write_bytes_blocking(&self, bytes: usize) -> Answer<u64> {
        const MESSAGE: usize = 2_000;
        let text = "a".repeat(MESSAGE);
        let message = Message::builder("Happened").data(&text).build();
        let message = message.expect("the message is valid");
        let messages = vec![message; bytes / MESSAGE];
        let (store, any) = (self.0.blocking(), ExpectedVersion::Any);
        let written = store.write_batch(&stream(), messages, any)?;
        Ok(written.len() as u64)
    }

    fn read_blocking(&self, records: u64) -> Answer<()> {
        let read = CategoryRead::new().batch_size(records);
        let store = self.0.blocking();
        let messages = store.get_category_messages(&Category::all(), &read);
        messages.map(drop).map_err(Failed::from)
    }

    fn total_blocking(&self) -> Answer<u64> {
        let info = self.0.blocking().info();
        info.map(|info| info.message_count).map_err(Failed::from)
    }

    async fn delete(&self) -> Answer<()> {
        let deleted = self.0.truncate_stream(&stream(), Position::new(1)).await;
        deleted.map(drop).map_err(Failed::from)
    }

    async fn count(&self) -> Answer<u64> {
        let read = CategoryRead::new().batch_size(None);
        let messages = self.0.get_category_messages(&Category::all(), read).await;
        messages.map(|read| read.len() as u64).map_err(Failed::from)
    }

    async fn health(&self) -> Answer<Health> {
        self.0.health().await.map_err(Failed::from)
    }

    async fn backup(&self, copy: &Path) -> Answer<()> {
        self.0.backup(copy).await.map_err(Failed::from)
    }

    fn repair(file: FileConfig) -> Answer<()> {
        rebuild_columns(&config(file))
            .map(drop)
            .map_err(Failed::from)
    }

    async fn close(self) {
        self.0.close().await;
    }
}
