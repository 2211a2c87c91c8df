//! A future that is polled once and then held delays no other call.
//!
//! `tokio::select!` with `&mut call` holds a call in this way, and so does a task that starts a call
//! and awaits something else first. A store in which callers work for each other, or wait in line
//! with a connection or a lock in hand, answers the other calls with a timeout or never.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, SystemTime};

use super::Subject;
use super::fixture::{ANY, category, fill, global, message, messages, name, position_at, stream};
use crate::{
    CategoryRead, ConsumerGroup, Error, ListStreams, MessageStore, StreamRead, StreamWrite,
    SubscribeOptions,
};

/// Calls of each kind that are held at once: more than a store has connections.
const HELD: usize = 20;
/// Ends a case whose store never answers. Longer than the time limits of the stores.
const GIVE_UP: Duration = Duration::from_secs(60);

type Call = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

/// One call of each kind, by name. The stream `account-1` has messages.
fn calls<S: MessageStore + 'static>(store: &Arc<S>) -> Vec<(&'static str, Call)> {
    let mut calls = reads(store);
    calls.extend(writes(store));
    calls
}

fn writes<S: MessageStore + 'static>(store: &Arc<S>) -> Vec<(&'static str, Call)> {
    vec![
        call("write_message", store, |store| async move {
            let written = store
                .write_message(&name("account-1"), message(1), ANY)
                .await;
            written.map(drop)
        }),
        call("write_batch", store, |store| async move {
            let written = store
                .write_batch(&name("account-1"), messages(3), ANY)
                .await;
            written.map(drop)
        }),
        call("write_streams", store, |store| async move {
            let writes = ["account-1", "other-1"];
            let writes = writes.map(|stream| StreamWrite::new(name(stream), message(1)));
            store.write_streams(writes.into()).await.map(drop)
        }),
        call("import_messages", store, |store| async move {
            store.import_messages(Vec::new()).await.map(drop)
        }),
        call("truncate_stream", store, |store| async move {
            let before = position_at(1);
            store
                .truncate_stream(&name("account-1"), before)
                .await
                .map(drop)
        }),
        call("expire_messages", store, |store| async move {
            let before = SystemTime::UNIX_EPOCH;
            store
                .expire_messages(&category("account"), before)
                .await
                .map(drop)
        }),
        call("save_checkpoint", store, |store| async move {
            store.save_checkpoint("mailer", global(1)).await.map(drop)
        }),
        call("delete_checkpoint", store, |store| async move {
            store.delete_checkpoint("absent").await.map(drop)
        }),
    ]
}

fn reads<S: MessageStore + 'static>(store: &Arc<S>) -> Vec<(&'static str, Call)> {
    vec![
        call("get_stream_messages", store, |store| async move {
            let read = store
                .get_stream_messages(&name("account-1"), StreamRead::new())
                .await;
            read.map(|messages| assert!(!messages.is_empty()))
        }),
        call("get_category_messages", store, |store| async move {
            let read = store
                .get_category_messages(&category("account"), CategoryRead::new())
                .await;
            read.map(|messages| assert!(!messages.is_empty()))
        }),
        call("get_category_messages of all", store, |store| async move {
            let read = store
                .get_category_messages(&category(""), CategoryRead::new())
                .await;
            read.map(|messages| assert!(!messages.is_empty()))
        }),
        call("get_last_stream_message", store, |store| async move {
            let last = store
                .get_last_stream_message(&name("account-1"), None)
                .await;
            last.map(|message| assert!(message.is_some()))
        }),
        call("stream_version", store, |store| async move {
            let version = store.stream_version(&name("account-1")).await;
            version.map(|version| assert!(version.is_some()))
        }),
        call("head", store, |store| async move {
            store.head().await.map(drop)
        }),
        call("head_bookmark", store, |store| async move {
            store.head_bookmark().await.map(drop)
        }),
        call("list_streams", store, |store| async move {
            store.list_streams(ListStreams::new()).await.map(drop)
        }),
        call("list_categories", store, |store| async move {
            store.list_categories().await.map(drop)
        }),
        call("info", store, |store| async move {
            store.info().await.map(drop)
        }),
        call("checkpoint", store, |store| async move {
            store.checkpoint("mailer").await.map(drop)
        }),
        call("subscription to a stream", store, |store| async move {
            let (stream, from) = (name("account-1"), position_at(0));
            let mut subscription = store.subscribe_to_stream(stream, from, SubscribeOptions::new());
            subscription.next().await.map(drop)
        }),
        call("subscription of a group", store, |store| async move {
            let group = ConsumerGroup::new(0, 1)?;
            let (category, options) = (category("account"), SubscribeOptions::new());
            let mut subscription = store.subscribe_to_group(category, group, global(0), options);
            subscription.next().await.map(drop)
        }),
        call("health", store, |store| async move {
            store.health().await.map(drop)
        }),
    ]
}

fn call<S, F>(
    name: &'static str,
    store: &Arc<S>,
    work: impl FnOnce(Arc<S>) -> F,
) -> (&'static str, Call)
where
    F: Future<Output = Result<(), Error>> + Send + 'static,
{
    (name, Box::pin(work(Arc::clone(store))))
}

/// Polls the future once. Returns its output if it has one.
pub(super) async fn poll_once<F: Future + ?Sized>(mut future: Pin<&mut F>) -> Option<F::Output> {
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

/// Polls each call once, and returns those that go on.
async fn hold(calls: impl IntoIterator<Item = (&'static str, Call)>) -> Vec<(&'static str, Call)> {
    let mut held = Vec::new();
    for (name, mut call) in calls {
        match poll_once(call.as_mut()).await {
            Some(answer) => answer.unwrap_or_else(|error| panic!("{name}: {error}")),
            None => held.push((name, call)),
        }
    }
    held
}

/// Makes one call of each kind after another, while `held` is not polled.
async fn call_each<S: MessageStore + 'static>(store: &Arc<S>, held: &str) {
    for (name, call) in calls(store) {
        let answer = tokio::time::timeout(GIVE_UP, call).await;
        let answer = answer.unwrap_or_else(|_| panic!("{name} never ends while {held} is held"));
        answer.unwrap_or_else(|error| panic!("{name} while {held} is held: {error}"));
    }
}

async fn finish(held: Vec<(&'static str, Call)>) {
    for (name, call) in held {
        let answer = tokio::time::timeout(GIVE_UP, call).await;
        let answer = answer.unwrap_or_else(|_| panic!("{name} never ends after it was held"));
        answer.unwrap_or_else(|error| panic!("{name} after it was held: {error}"));
    }
}

pub(super) async fn held_call_delays_no_other(store: &Subject<impl MessageStore + 'static>) {
    fill(&**store, "account-1", 3).await;
    for (name, held) in calls(store) {
        let held = hold([(name, held)]).await;
        call_each(store, name).await;
        finish(held).await;
    }
}

pub(super) async fn many_held_calls_delay_no_other(store: &Subject<impl MessageStore + 'static>) {
    fill(&**store, "account-1", 3).await;
    let many = (0..HELD).flat_map(|_| calls(store));
    let held = hold(many).await;
    call_each(store, "everything").await;
    finish(held).await;
}

/// Calls that arrive together are answered together. One of them is held.
pub(super) async fn held_call_of_a_batch_delays_no_other(
    store: &Subject<impl MessageStore + 'static>,
) {
    fill(&**store, "account-1", 3).await;
    for _ in 0..3 {
        let mut tasks = tokio::task::JoinSet::new();
        for (name, call) in (0..HELD).flat_map(|_| calls(store)) {
            tasks.spawn(async move { finish(vec![(name, call)]).await });
        }
        let held = hold(calls(store)).await;
        while let Some(done) = tasks.join_next().await {
            done.unwrap();
        }
        finish(held).await;
    }
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

/// A held call that was dropped leaves nothing behind that others need.
pub(super) async fn dropped_calls_delay_no_other(store: &Subject<impl MessageStore + 'static>) {
    fill(&**store, "account-1", 3).await;
    for _ in 0..3 {
        drop(hold((0..HELD).flat_map(|_| calls(store))).await);
        call_each(store, "nothing").await;
    }
}

/// `close` waits for the calls that have begun, and their callers may be held.
pub(super) async fn close_ends_while_calls_are_held(store: &Subject<impl MessageStore + 'static>) {
    fill(&**store, "account-1", 3).await;
    let held = hold((0..3).flat_map(|_| calls(store))).await;
    let mut closing = pin!(store.close());
    let closed = poll_once(closing.as_mut()).await;
    let again = tokio::time::timeout(GIVE_UP, store.close()).await;
    again.expect("a second close ends while the first is held");
    if closed.is_none() {
        let closed = tokio::time::timeout(GIVE_UP, closing).await;
        closed.expect("a held close ends");
    }
    for (name, call) in held {
        let answer = tokio::time::timeout(GIVE_UP, call).await;
        match answer.unwrap_or_else(|_| panic!("{name} never ends after close")) {
            Ok(()) | Err(Error::Closed) => {}
            Err(error) => panic!("{name} after close: {error}"),
        }
    }
}
