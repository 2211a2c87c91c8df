use conformance_suite::assert_refused;
use message_store::{CategoryRead, Error, Fault, MessageStore, StreamRead};

use super::Subject;
use super::fixture::{ANY, fill, global, message, name, position_at};

pub(super) async fn closed_store_refuses_every_call(store: &Subject<impl MessageStore>) {
    let account = name("account-1");
    fill(&**store, "account-1", 1).await;
    store.health().await.unwrap();
    store.close().await;
    let written = store.write_message(&account, message(0), ANY).await;
    assert_refused!(written, Error::Fault(Fault::Closed));
    let read = store.get_stream_messages(&account, StreamRead::new()).await;
    assert_refused!(read, Error::Fault(Fault::Closed));
    let options = CategoryRead::new().batch_size(None);
    let read = store
        .get_category_messages(&message_store::Category::all(), options)
        .await;
    assert_refused!(read, Error::Fault(Fault::Closed));
    assert_refused!(
        store.stream_version(&account).await,
        Error::Fault(Fault::Closed)
    );
    assert_refused!(store.head().await, Error::Fault(Fault::Closed));
    assert_refused!(store.all_checkpoints().await, Error::Fault(Fault::Closed));
    assert_refused!(
        store.truncate_stream(&account, position_at(1)).await,
        Error::Fault(Fault::Closed)
    );
    assert_refused!(
        store.save_checkpoint("mailer", global(1)).await,
        Error::Fault(Fault::Closed)
    );
    assert_refused!(store.health().await, Error::Fault(Fault::Closed));
}

pub(super) async fn close_can_be_repeated(store: &Subject<impl MessageStore>) {
    store.close().await;
    store.close().await;
}
