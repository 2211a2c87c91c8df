//! The published ops in each API.

use super::Published;
use super::backends::{Backend, Opened, Sqlite};
use bench::{BoxError, Op, Outcome};
use message_store::sqlite::BlockingSqliteStore;
use message_store::{
    Category, CategoryRead, ExpectedVersion, Message, MessageStore, RecordedMessage, StreamName,
    StreamRead,
};
use std::collections::HashMap;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use tempfile::TempDir;

pub(crate) const TYPE: &str = "Deposited";
pub(crate) const DATA: &str = r#"{"accountId":"123","amount":11,"by":"Ada"}"#;

pub(crate) fn message() -> Message {
    let message = Message::builder(TYPE).data_json(DATA).build();
    message.expect("the message is valid")
}

/// The name of a stream without messages.
pub(crate) fn new_stream(category: &str) -> StreamName {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    StreamName::new(format!("{category}-{number}")).expect("the name is valid")
}

pub(crate) fn stream(name: &str) -> StreamName {
    StreamName::new(name).expect("the name is valid")
}

pub(crate) fn category(name: &str) -> Category {
    Category::new(name).expect("the name is valid")
}

fn first_10() -> StreamRead {
    StreamRead::new().batch_size(10)
}

fn first_100() -> CategoryRead {
    CategoryRead::new().batch_size(100)
}

/// Ends the run if a read did not return the number of messages that its row expects.
pub(crate) fn expect(messages: &[RecordedMessage], count: usize) -> Result<(), BoxError> {
    if messages.len() == count {
        Ok(())
    } else {
        Err(format!("a call returned {} messages, not {count}", messages.len()).into())
    }
}

async fn opened<B: Backend>(
    backend: B,
    published: Published,
) -> Result<Opened<B::Store>, BoxError> {
    let opened = backend.open().await?;
    for (name, messages) in published.content() {
        opened
            .store
            .write_batch(&name, messages, ExpectedVersion::Any)
            .await?;
    }
    Ok(opened)
}

/// A published op in the async API.
pub(crate) fn published<B: Backend>(backend: &B, published: Published) -> Op {
    let op = Op::given(backend, move |backend| opened(backend, published));
    op.call(move |opened, _call| async move {
        match published {
            Published::Write => {
                let name = new_stream("account");
                let any = ExpectedVersion::Any;
                black_box(opened.store.write_message(&name, message(), any).await?);
            }
            _ => drop(black_box(read(&opened.store, published).await?)),
        }
        Ok(Outcome::Success)
    })
}

async fn read(
    store: &impl MessageStore,
    published: Published,
) -> Result<Vec<RecordedMessage>, BoxError> {
    let (messages, count) = match published {
        Published::Category => {
            let all = category("account");
            (store.get_category_messages(&all, first_100()).await?, 100)
        }
        _ => {
            let name = stream("account-0");
            (store.get_stream_messages(&name, first_10()).await?, 10)
        }
    };
    expect(&messages, count)?;
    Ok(messages)
}

/// A read in the async API that decodes the JSON into maps.
pub(crate) fn decoded<B: Backend>(backend: &B, published: Published) -> Op {
    type Map = HashMap<String, serde_json::Value>;
    let op = Op::given(backend, move |backend| opened(backend, published));
    op.call(move |opened, _call| async move {
        for message in read(&opened.store, published).await? {
            black_box(message.data::<Map>()?);
        }
        Ok(Outcome::Success)
    })
}

/// A published op in the blocking API of SQLite.
pub(crate) fn blocking(sqlite: &Sqlite, published: Published) -> Op {
    let sqlite = *sqlite;
    let op = Op::blocking(move || {
        let (folder, file) = sqlite.folder_and_file()?;
        let store = BlockingSqliteStore::open(sqlite.config(file))?;
        for (name, messages) in published.content() {
            store.write_batch(&name, messages, ExpectedVersion::Any)?;
        }
        Ok((store, folder))
    });
    op.call(move |(store, _): &(BlockingSqliteStore, TempDir), _call| {
        match published {
            Published::Write => {
                let name = new_stream("account");
                black_box(store.write_message(&name, message(), ExpectedVersion::Any)?);
            }
            Published::Stream => {
                let messages = store.get_stream_messages(&stream("account-0"), first_10())?;
                expect(black_box(&messages), 10)?;
            }
            Published::Category => {
                let messages = store.get_category_messages(&category("account"), &first_100())?;
                expect(black_box(&messages), 100)?;
            }
        }
        Ok(Outcome::Success)
    })
}
