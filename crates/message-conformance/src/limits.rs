use conformance_suite::assert_refused;
use message_store::{Error, Message, MessageStore, Problem, StreamWrite};

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
