//! A held call delays no other; see [`conformance_suite::held`].

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use conformance_suite::held::{self, Call};
use message_store::{
    CategoryRead, ConsumerGroup, Error, Fault, ListStreams, MessageStore, StreamRead, StreamWrite,
    SubscribeOptions,
};

use super::Subject;
use super::fixture::{ANY, category, fill, global, message, messages, name, position_at, stream};

/// One call of each kind, by name. The stream `account-1` has messages.
fn calls<S: MessageStore + 'static>(store: &Arc<S>) -> Vec<Call<Error>> {
    let mut calls = reads(store);
    calls.extend(writes(store));
    calls
}

fn writes<S: MessageStore + 'static>(store: &Arc<S>) -> Vec<Call<Error>> {
    vec![
        Call::new("write_message", store, |store| async move {
            let written = store
                .write_message(&name("account-1"), message(1), ANY)
                .await;
            written.map(drop)
        }),
        Call::new("write_batch", store, |store| async move {
            let written = store
                .write_batch(&name("account-1"), messages(3), ANY)
                .await;
            written.map(drop)
        }),
        Call::new("write_streams", store, |store| async move {
            let writes = ["account-1", "other-1"];
            let writes = writes.map(|stream| StreamWrite::new(name(stream), message(1)));
            store.write_streams(writes.into()).await.map(drop)
        }),
        Call::new("import_messages", store, |store| async move {
            store.import_messages(Vec::new()).await.map(drop)
        }),
        Call::new("truncate_stream", store, |store| async move {
            let before = position_at(1);
            store
                .truncate_stream(&name("account-1"), before)
                .await
                .map(drop)
        }),
        Call::new("expire_messages", store, |store| async move {
            let before = SystemTime::UNIX_EPOCH;
            store
                .expire_messages(&category("account"), before)
                .await
                .map(drop)
        }),
        Call::new("save_checkpoint", store, |store| async move {
            store.save_checkpoint("mailer", global(1)).await.map(drop)
        }),
        Call::new("delete_checkpoint", store, |store| async move {
            store.delete_checkpoint("absent").await.map(drop)
        }),
    ]
}

fn reads<S: MessageStore + 'static>(store: &Arc<S>) -> Vec<Call<Error>> {
    vec![
        Call::new("get_stream_messages", store, |store| async move {
            let read = store
                .get_stream_messages(&name("account-1"), StreamRead::new())
                .await;
            read.map(|messages| assert!(!messages.is_empty()))
        }),
        Call::new("get_category_messages", store, |store| async move {
            let read = store
                .get_category_messages(&category("account"), CategoryRead::new())
                .await;
            read.map(|messages| assert!(!messages.is_empty()))
        }),
        Call::new("get_category_messages of all", store, |store| async move {
            let read = store
                .get_category_messages(&category(""), CategoryRead::new())
                .await;
            read.map(|messages| assert!(!messages.is_empty()))
        }),
        Call::new("get_last_stream_message", store, |store| async move {
            let last = store
                .get_last_stream_message(&name("account-1"), None)
                .await;
            last.map(|message| assert!(message.is_some()))
        }),
        Call::new("stream_version", store, |store| async move {
            let version = store.stream_version(&name("account-1")).await;
            version.map(|version| assert!(version.is_some()))
        }),
        Call::new("all_checkpoints", store, |store| async move {
            store.all_checkpoints().await.map(drop)
        }),
        Call::new("head", store, |store| async move {
            store.head().await.map(drop)
        }),
        Call::new("list_streams", store, |store| async move {
            store.list_streams(ListStreams::new()).await.map(drop)
        }),
        Call::new("list_categories", store, |store| async move {
            store.list_categories().await.map(drop)
        }),
        Call::new("info", store, |store| async move {
            store.info().await.map(drop)
        }),
        Call::new("checkpoint", store, |store| async move {
            store.checkpoint("mailer").await.map(drop)
        }),
        Call::new("subscription to a stream", store, |store| async move {
            let (stream, from) = (name("account-1"), position_at(0));
            let mut subscription = store.subscribe_to_stream(stream, from, SubscribeOptions::new());
            subscription.next().await.map(drop)
        }),
        Call::new("subscription of a group", store, |store| async move {
            let group = ConsumerGroup::new(0, 1)?;
            let (category, options) = (category("account"), SubscribeOptions::new());
            let mut subscription = store.subscribe_to_group(category, group, global(0), options);
            subscription.next().await.map(drop)
        }),
        Call::new("health", store, |store| async move {
            store.health().await.map(drop)
        }),
    ]
}

/// A store whose stream `account-1` has messages, and its calls.
async fn filled<S>(store: &Subject<S>) -> impl Fn() -> Vec<Call<Error>>
where
    S: MessageStore + 'static,
{
    fill(&**store, "account-1", 3).await;
    move || calls(store)
}

pub(super) async fn held_call_delays_no_other(store: &Subject<impl MessageStore + 'static>) {
    held::held_call_delays_no_other(filled(store).await).await;
}

pub(super) async fn many_held_calls_delay_no_other(store: &Subject<impl MessageStore + 'static>) {
    held::many_held_calls_delay_no_other(filled(store).await).await;
}

pub(super) async fn held_call_of_a_batch_delays_no_other(
    store: &Subject<impl MessageStore + 'static>,
) {
    held::held_call_of_a_batch_delays_no_other(filled(store).await).await;
}

/// The form in which the fault was found: a timer ends the wait for a write, and the same task
/// writes something else.
pub(super) async fn write_held_by_select_delays_no_other(
    store: &Subject<impl MessageStore + 'static>,
) {
    for round in 0..10 {
        let (account, audit) = (name("account-1"), name("audit-1"));
        let mut write = pin!(store.write_message(&account, message(round), ANY));
        let first = tokio::select! {
            biased;
            written = &mut write => Some(written),
            () = tokio::time::sleep(Duration::ZERO) => None,
        };
        store
            .write_message(&audit, message(round), ANY)
            .await
            .unwrap();
        let first = match first {
            Some(written) => written,
            None => write.await,
        };
        assert_eq!(first.unwrap().position, position_at(round));
    }
    assert_eq!(stream(&**store, "audit-1").await.len(), 10);
}

pub(super) async fn dropped_calls_delay_no_other(store: &Subject<impl MessageStore + 'static>) {
    held::dropped_calls_delay_no_other(filled(store).await).await;
}

pub(super) async fn close_ends_while_calls_are_held(store: &Subject<impl MessageStore + 'static>) {
    let is_closed = |error: &Error| matches!(error, Error::Fault(Fault::Closed));
    held::close_ends_while_calls_are_held(filled(store).await, || store.close(), is_closed).await;
}
