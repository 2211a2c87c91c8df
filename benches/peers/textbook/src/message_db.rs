//! Message DB's functions, each called in one statement of a prepared driver.

use crate::append_if::pool;
use deadpool_postgres::Pool;
use peer_protocol::{Failure, MessagePeer};
use std::error::Error as StdError;
use std::path::Path;
use tokio_postgres::types::Json;
use uuid::Uuid;

/// Message DB's SQL in its npm package.
const SQL: &str = "node_modules/@eventide/message-db/database";
/// The folders of it, in the order of its installer.
const FOLDERS: [&str; 7] = [
    "roles",
    "schema",
    "extensions",
    "types",
    "tables",
    "functions",
    "indexes",
];
/// Its functions call each other by names without a schema.
const SEARCH_PATH: &str = "-c search_path=message_store,public";
const WRITE: &str = "SELECT message_store.write_message($1, $2, $3, $4)";
const STREAM: &str = "SELECT data FROM message_store.get_stream_messages($1, 0, 1000)";
const CATEGORY: &str = "SELECT data FROM message_store.get_category_messages($1, $2, $3)";

pub(crate) struct MessageDb(Pool);

pub(crate) async fn open(
    folder: &Path,
    url: &str,
) -> Result<MessageDb, Box<dyn StdError + Send + Sync>> {
    let pool = pool(url, SEARCH_PATH)?;
    let client = pool.get().await?;
    for name in FOLDERS {
        let mut files: Vec<_> =
            std::fs::read_dir(folder.join(SQL).join(name))?.collect::<Result<_, _>>()?;
        files.sort_by_key(|file| file.file_name());
        for file in files {
            client
                .batch_execute(&std::fs::read_to_string(file.path())?)
                .await?;
        }
    }
    drop(client);
    Ok(MessageDb(pool))
}

impl MessageDb {
    async fn rows(
        &self,
        statement: &str,
        parameters: &[&(dyn tokio_postgres::types::ToSql + Sync)],
    ) -> Result<u64, Failure> {
        let client = self.0.get().await.map_err(Failure::other)?;
        let statement = client
            .prepare_cached(statement)
            .await
            .map_err(Failure::other)?;
        let rows = client
            .query(&statement, parameters)
            .await
            .map_err(Failure::other)?;
        Ok(rows.len() as u64)
    }
}

impl MessagePeer for MessageDb {
    const BLOCKS: bool = false;

    async fn write_message(
        &self,
        stream: &str,
        message_type: &str,
        data: &[u8],
    ) -> Result<(), Failure> {
        let data: serde_json::Value = serde_json::from_slice(data).map_err(Failure::other)?;
        let id = Uuid::now_v7().to_string();
        self.rows(WRITE, &[&id, &stream, &message_type, &Json(data)])
            .await
            .map(|_| ())
    }

    async fn read_stream(&self, stream: &str) -> Result<u64, Failure> {
        self.rows(STREAM, &[&stream]).await
    }

    async fn read_category(&self, category: &str, from: u64, limit: u64) -> Result<u64, Failure> {
        self.rows(
            CATEGORY,
            &[&category, &from.cast_signed(), &limit.cast_signed()],
        )
        .await
    }
}
