use std::sync::Arc;
use std::time::Duration;

use conformance_suite::assert_refused;
use message_store::{
    Category, CategoryRead, Error, GlobalPosition, ListStreams, Message, MessageRunner,
    MessageStore, Problem, RunOptions, StreamWrite, SubscribeOptions, write_until_known,
};

use super::Subject;
use super::fixture::{ANY, all, fill, message, messages, name, stream, write};

fn message_of_size(bytes: usize) -> Message {
    let text = "x".repeat(bytes - "Happened\"\"".len());
    let message = Message::builder("Happened").data(&text).build().unwrap();
    assert_eq!(message.size_bytes(), bytes);
    message
}

pub(super) async fn message_above_4_mebibytes_is_refused(store: &Subject<impl MessageStore>) {
    let account = name("account-1");
    write(&**store, "account-1", message_of_size(4 << 20)).await;
    let refused = store
        .write_message(&account, message_of_size((4 << 20) + 1), ANY)
        .await;
    assert_refused!(
        refused,
        Error::Invalid { field, problem: Problem::TooLarge { max: 4_194_304, actual: 4_194_305 } }
            if field == "message"
    );
    let batch = vec![message(0), message_of_size((4 << 20) + 1)];
    let refused = store.write_batch(&account, batch, ANY).await;
    assert_refused!(refused, Error::Invalid { field, .. } if field == "messages[1]");
    let stored = stream(&**store, "account-1").await;
    assert_eq!(stored.len(), 1);
    assert_eq!(stored[0].data_json().len(), (4 << 20) - "Happened".len());
}

pub(super) async fn write_above_10_000_messages_is_refused(store: &Subject<impl MessageStore>) {
    fill(&**store, "account-1", 10_000).await;
    let refused = store.write_batch(&name("a-1"), messages(10_001), ANY).await;
    assert_refused!(refused, Error::Invalid { field, .. } if field == "messages");
    let writes = vec![
        StreamWrite::new(name("a-1"), messages(5_000)),
        StreamWrite::new(name("b-1"), messages(5_001)),
    ];
    let refused = store.write_streams(writes).await;
    assert_refused!(refused, Error::Invalid { field, .. } if field == "messages");
    assert_eq!(all(&**store).await.len(), 10_000);
}

pub(super) async fn write_above_64_mebibytes_is_refused(store: &Subject<impl MessageStore>) {
    let batch = vec![message_of_size(4 << 20); 17];
    let refused = store.write_batch(&name("a-1"), batch, ANY).await;
    assert_refused!(refused, Error::Invalid { field, .. } if field == "messages");
    assert!(all(&**store).await.is_empty());
}

/// A limit at its greatest value is no limit. [`Duration::MAX`] is longer than a clock can count.
pub(super) async fn greatest_limits_of_calls_are_accepted(
    store: &Subject<impl MessageStore + 'static>,
) {
    const NO_END: Duration = Duration::MAX;
    let write = StreamWrite::new(name("a-1"), messages(1));
    write_until_known(&**store, vec![write], NO_END)
        .await
        .unwrap();
    let read = CategoryRead::new().batch_size(u64::MAX);
    let read = store.get_category_messages(&Category::all(), read).await;
    assert_eq!(read.unwrap().len(), 1);
    let streams = ListStreams::new().limit(u64::MAX);
    assert_eq!(store.list_streams(streams).await.unwrap().len(), 1);
    let options = SubscribeOptions::new().poll_interval(NO_END);
    let options = options.batch_size(u64::MAX);
    let shared = Arc::clone(store);
    let mut all = shared.subscribe_to_category(Category::all(), GlobalPosition::START, options);
    all.next().await.unwrap();
    let options = RunOptions::new()
        .pauses(NO_END, NO_END)
        .poll_interval(NO_END);
    let options = options.batch_size(u64::MAX).max_tries(u32::MAX);
    let handler = |_| async { Ok(()) };
    let runner = MessageRunner::new(Arc::clone(store), "c", Category::all(), handler).unwrap();
    let mut runner = runner.options(options.checkpoint_after(u64::MAX, NO_END));
    runner.catch_up().await.unwrap();
    assert_eq!(runner.progress().handled(), 1);
}
