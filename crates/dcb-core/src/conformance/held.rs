//! A future that is polled once and then held delays no other call.
//!
//! `tokio::select!` with `&mut call` holds a call in this way, and so does a task that starts a call
//! and awaits something else first. A store in which callers work for each other, or wait in line
//! with a connection or a lock in hand, answers the other calls with a timeout or never.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use super::fixture::{at, head, log, tag, tagged};
use crate::{
    Append, AppendCondition, Command, DecisionModel, Error, Event, EventStore, Projector, Query,
    ReadOptions, SubscribeOptions, Tracking,
};

/// Calls of each kind that are held at once: more than a store has connections.
const HELD: usize = 20;
/// Ends a case whose store never answers. Longer than the time limits of the stores.
const GIVE_UP: Duration = Duration::from_secs(60);

type Call = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

/// One call of each kind, by name. The log has at least one event.
fn calls<S: EventStore + 'static>(store: &Arc<S>) -> Vec<(&'static str, Call)> {
    vec![
        call("append", store, |store| async move {
            store.append(tagged(&["a"])).await.map(drop)
        }),
        call("append_if", store, |store| async move {
            let condition = AppendCondition::fail_if(tag("absent"));
            store.append_if(tagged(&["a"]), condition).await.map(drop)
        }),
        call("submit", store, |store| async move {
            let command = Command::builder("Make").build()?;
            let tracking = Tracking::new(uuid::Uuid::now_v7().to_string(), 1)?;
            let append = Append::new(tagged(&["a"]));
            store
                .submit(append.tracking(tracking).command(command))
                .await
                .map(drop)
        }),
        call("decide", store, |store| async move {
            let model = DecisionModel::new(Projector::counter(tag("absent")));
            let decided = model.decide(&store, |_| Ok::<_, Error>(tagged(&["a"])));
            decided.await.map(drop)
        }),
        call("project", store, |store| async move {
            let counted = store.project(&Projector::counter(tag("absent"))).await?;
            assert_eq!(counted.state, 0);
            Ok(())
        }),
        call("query", store, |store| async move {
            let read = ReadOptions::new().limit(1);
            let found = store.query(&Query::all(), read).await?;
            assert_eq!(found.events.len(), 1);
            Ok(())
        }),
        call("query of a short range", store, |store| async move {
            let read = ReadOptions::new().from(at(1)).limit(1);
            store.query(&tag("a"), read).await.map(drop)
        }),
        call("query_stream", store, |store| async move {
            let mut events = store
                .query_stream(&Query::all(), ReadOptions::new())
                .await?;
            events.next().await.transpose().map(drop)
        }),
        call("head", store, |store| async move {
            store.head().await.map(drop)
        }),
        call("count", store, |store| async move {
            store.count(&tag("a")).await.map(drop)
        }),
        call("extent", store, |store| async move {
            store.extent(&tag("a"), at(1)..).await.map(drop)
        }),
        call("exists", store, |store| async move {
            store.exists(&tag("a")).await.map(drop)
        }),
        call("tracked", store, |store| async move {
            store.tracked("upstream").await.map(drop)
        }),
        call("commands", store, |store| async move {
            store.commands(None, 10).await.map(drop)
        }),
        call("subscription", store, |store| async move {
            let mut events = store.subscribe(Query::all(), None, SubscribeOptions::new());
            events.next().await.transpose().map(drop)
        }),
        call("wait_for", store, |store| async move {
            let limit = Duration::from_secs(5);
            store.wait_for(at(1), limit).await.map(drop)
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
async fn poll_once<F: Future + ?Sized>(mut future: Pin<&mut F>) -> Option<F::Output> {
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
async fn call_each<S: EventStore + 'static>(store: &Arc<S>, held: &str) {
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

pub(super) async fn held_call_delays_no_other(store: &Arc<impl EventStore + 'static>) {
    store.append(tagged(&["a"])).await.unwrap();
    for (name, held) in calls(store) {
        let held = hold([(name, held)]).await;
        call_each(store, name).await;
        finish(held).await;
    }
}

pub(super) async fn many_held_calls_delay_no_other(store: &Arc<impl EventStore + 'static>) {
    store.append(tagged(&["a"])).await.unwrap();
    let many = (0..HELD).flat_map(|_| calls(store));
    let held = hold(many).await;
    call_each(store, "everything").await;
    finish(held).await;
}

/// Calls that arrive together are answered together. One of them is held.
pub(super) async fn held_call_of_a_batch_delays_no_other(store: &Arc<impl EventStore + 'static>) {
    store.append(tagged(&["a"])).await.unwrap();
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

/// A stream belongs to its consumer, who may take any time for an event.
pub(super) async fn held_stream_delays_no_other(store: &Arc<impl EventStore + 'static>) {
    let event = || Event::builder("Filled").tag("a").data(vec![b'x'; 1000]);
    let filled: Vec<Event> = (0..500).map(|_| event().build().unwrap()).collect();
    store.append(filled).await.unwrap();
    let mut streams = Vec::new();
    for _ in 0..HELD {
        let mut events = store
            .query_stream(&Query::all(), ReadOptions::new())
            .await
            .unwrap();
        events.next().await.unwrap().unwrap();
        streams.push(events);
    }
    call_each(store, "a stream").await;
    for mut events in streams {
        let head = events.head().unwrap().position.get();
        assert!(head >= 500, "a snapshot of {head} events");
        for number in 2..=head {
            assert_eq!(events.next().await.unwrap().unwrap().position(), at(number));
        }
        assert!(events.next().await.is_none());
    }
}

/// The form in which the fault was found: a timer ends the wait for an append, and the same task
/// appends something else.
pub(super) async fn append_held_by_select_delays_no_other(store: &Arc<impl EventStore + 'static>) {
    for round in 0..10_u64 {
        let mut append = pin!(store.append(tagged(&["a"])));
        let first = tokio::select! {
            biased;
            appended = &mut append => Some(appended),
            // Ready at once, so the append is polled once.
            () = std::future::ready(()) => None,
        };
        store.append(tagged(&["audit"])).await.unwrap();
        let first = match first {
            Some(appended) => appended,
            None => append.await,
        };
        first.unwrap();
        assert_eq!(head(&**store).await, 2 * (round + 1));
    }
}

/// A held call that was dropped leaves nothing behind that others need.
pub(super) async fn dropped_calls_delay_no_other(store: &Arc<impl EventStore + 'static>) {
    store.append(tagged(&["a"])).await.unwrap();
    for _ in 0..3 {
        drop(hold((0..HELD).flat_map(|_| calls(store))).await);
        call_each(store, "nothing").await;
    }
    let events = log(&**store).await;
    let positions = events.iter().map(|event| event.position().get());
    assert!(positions.eq(1..=events.len() as u64));
}

/// `close` waits for the calls that have begun, and their callers may be held.
pub(super) async fn close_ends_while_calls_are_held(store: &Arc<impl EventStore + 'static>) {
    store.append(tagged(&["a"])).await.unwrap();
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
