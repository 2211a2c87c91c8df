//! The message store.

use message_store::{
    AnyStore, Category, CategoryRead, Error, ExpectedVersion, GlobalPosition, Message,
    MessageStore as _, StreamName, StreamRead,
};
use peer_protocol::{Failure, MessagePeer};

pub(crate) struct Store(AnyStore);

pub(crate) async fn open(url: &str) -> Result<Store, Error> {
    AnyStore::open(url).await.map(Store)
}

impl MessagePeer for Store {
    const BLOCKS: bool = false;

    async fn write_message(
        &self,
        stream: &str,
        message_type: &str,
        data: &[u8],
    ) -> Result<(), Failure> {
        let stream = StreamName::new(stream).map_err(Failure::other)?;
        let data = String::from_utf8_lossy(data);
        let message = Message::builder(message_type).data_json(data).build();
        let message = message.map_err(Failure::other)?;
        let written = self.0.write_message(&stream, message, ExpectedVersion::Any);
        written.await.map(|_| ()).map_err(Failure::other)
    }

    async fn read_stream(&self, stream: &str) -> Result<u64, Failure> {
        let stream = StreamName::new(stream).map_err(Failure::other)?;
        let read = self.0.get_stream_messages(&stream, StreamRead::new()).await;
        read.map(|messages| messages.len() as u64)
            .map_err(Failure::other)
    }

    async fn read_category(&self, category: &str, from: u64, limit: u64) -> Result<u64, Failure> {
        let category = Category::new(category).map_err(Failure::other)?;
        let from = GlobalPosition::from(from);
        let read = CategoryRead::new().position(from).batch_size(limit);
        let read = self.0.get_category_messages(&category, read).await;
        read.map(|messages| messages.len() as u64)
            .map_err(Failure::other)
    }
}
