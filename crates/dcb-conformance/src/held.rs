//! A held call delays no other; see [`conformance_suite::held`].

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use conformance_suite::held::{self, Call, HELD, call_each};
use dcb_core::{
    Append, AppendCondition, Command, DecisionModel, Error, Event, EventStore, Fault, Projector,
    Query, ReadOptions, SubscribeOptions, Tracking,
};

use super::fixture::{at, head, log, tag, tagged};

/// One call of each kind, by name. The log has at least one event.
fn calls<S: EventStore + 'static>(store: &Arc<S>) -> Vec<Call<Error>> {
    vec![
        Call::new("append", store, |store| async move {
            store.append(tagged(&["a"])).await.map(drop)
        }),
        Call::new("append_if", store, |store| async move {
            let condition = AppendCondition::fail_if(tag("absent"));
            store.append_if(tagged(&["a"]), condition).await.map(drop)
        }),
        Call::new("submit", store, |store| async move {
            let command = Command::builder("Make").build()?;
            let tracking = Tracking::new(uuid::Uuid::now_v7().to_string(), 1)?;
            let append = Append::new(tagged(&["a"]));
            store
                .submit(append.tracking(tracking).command(command))
                .await
                .map(drop)
        }),
        Call::new("decide", store, |store| async move {
            let model = DecisionModel::new(Projector::counter(tag("absent")));
            let decided = model.decide(&store, |_| Ok::<_, Error>(tagged(&["a"])));
            decided.await.map(drop)
        }),
        Call::new("project", store, |store| async move {
            let counted = store.project(&Projector::counter(tag("absent"))).await?;
            assert_eq!(counted.state, 0);
            Ok(())
        }),
        Call::new("query", store, |store| async move {
            let read = ReadOptions::new().limit(1);
            let found = store.query(&Query::all(), read).await?;
            assert_eq!(found.events.len(), 1);
            Ok(())
        }),
        Call::new("query of a short range", store, |store| async move {
            let read = ReadOptions::new().from(at(1)).limit(1);
            store.query(&tag("a"), read).await.map(drop)
        }),
        Call::new("query_stream", store, |store| async move {
            let mut events = store
                .query_stream(&Query::all(), ReadOptions::new())
                .await?;
            events.next().await.transpose().map(drop)
        }),
        Call::new("head", store, |store| async move {
            store.head().await.map(drop)
        }),
        Call::new("count", store, |store| async move {
            store.count(&tag("a")).await.map(drop)
        }),
        Call::new("extent", store, |store| async move {
            store.extent(&tag("a"), at(1)..).await.map(drop)
        }),
        Call::new("exists", store, |store| async move {
            store.exists(&tag("a")).await.map(drop)
        }),
        Call::new("tracked", store, |store| async move {
            store.tracked("upstream").await.map(drop)
        }),
        Call::new("all_tracked", store, |store| async move {
            store.all_tracked().await.map(drop)
        }),
        Call::new("commands", store, |store| async move {
            store.commands(None, 10).await.map(drop)
        }),
        Call::new("subscription", store, |store| async move {
            let mut events = store.subscribe(Query::all(), None, SubscribeOptions::new());
            events.next().await.transpose().map(drop)
        }),
        Call::new("wait_for", store, |store| async move {
            let limit = Duration::from_secs(5);
            store.wait_for(at(1), limit).await.map(drop)
        }),
        Call::new("health", store, |store| async move {
            store.health().await.map(drop)
        }),
    ]
}

/// A store whose log has an event, and its calls.
async fn filled<S: EventStore + 'static>(store: &Arc<S>) -> impl Fn() -> Vec<Call<Error>> {
    store.append(tagged(&["a"])).await.unwrap();
    move || calls(store)
}

pub(super) async fn held_call_delays_no_other(store: &Arc<impl EventStore + 'static>) {
    held::held_call_delays_no_other(filled(store).await).await;
}

pub(super) async fn many_held_calls_delay_no_other(store: &Arc<impl EventStore + 'static>) {
    held::many_held_calls_delay_no_other(filled(store).await).await;
}

pub(super) async fn held_call_of_a_batch_delays_no_other(store: &Arc<impl EventStore + 'static>) {
    held::held_call_of_a_batch_delays_no_other(filled(store).await).await;
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
    call_each(calls(store), "a stream").await;
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
    held::dropped_calls_delay_no_other(filled(store).await).await;
    let events = log(&**store).await;
    let positions = events.iter().map(|event| event.position().get());
    assert!(positions.eq(1..=events.len() as u64));
}

pub(super) async fn close_ends_while_calls_are_held(store: &Arc<impl EventStore + 'static>) {
    let is_closed = |error: &Error| matches!(error, Error::Fault(Fault::Closed));
    held::close_ends_while_calls_are_held(filled(store).await, || store.close(), is_closed).await;
}
