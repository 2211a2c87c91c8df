//! The methods that a store need not have are right: a store with the required ones alone passes the suite.

use message_conformance::{Json, Model};
use message_store::{
    Bookmark, Category, CategoryRead, Checkpoint, Error, MessageStore, Position, RecordedMessage,
    StreamName, StreamRead, StreamWrite, Written,
};

/// The model without its own forms of the provided methods.
struct Required(Model);

impl MessageStore for Required {
    async fn write_streams(&self, writes: Vec<StreamWrite>) -> Result<Vec<Vec<Written>>, Error> {
        self.0.write_streams(writes).await
    }

    async fn import_messages(&self, messages: Vec<RecordedMessage>) -> Result<u64, Error> {
        self.0.import_messages(messages).await
    }

    async fn get_stream_messages(
        &self,
        stream: &StreamName,
        read: StreamRead,
    ) -> Result<Vec<RecordedMessage>, Error> {
        self.0.get_stream_messages(stream, read).await
    }

    async fn get_category_messages(
        &self,
        category: &Category,
        read: CategoryRead,
    ) -> Result<Vec<RecordedMessage>, Error> {
        self.0.get_category_messages(category, read).await
    }

    async fn head(&self) -> Result<Option<Bookmark>, Error> {
        self.0.head().await
    }

    async fn truncate_stream(&self, stream: &StreamName, before: Position) -> Result<u64, Error> {
        self.0.truncate_stream(stream, before).await
    }

    async fn all_checkpoints(&self) -> Result<Vec<Checkpoint>, Error> {
        self.0.all_checkpoints().await
    }

    async fn save_checkpoint(
        &self,
        consumer: &str,
        handled: impl Into<Bookmark> + Send,
    ) -> Result<Bookmark, Error> {
        self.0.save_checkpoint(consumer, handled).await
    }

    async fn delete_checkpoint(&self, consumer: &str) -> Result<bool, Error> {
        self.0.delete_checkpoint(consumer).await
    }

    async fn close(&self) {
        self.0.close().await;
    }
}

message_conformance::suite!(async || Required(Model::new()), Json::Bytes);
