//! A limit at its greatest value is no limit.

use std::sync::Arc;
use std::time::Duration;

use dcb_core::{
    Append, Command, CommandExecutor, DecisionModel, Error, EventStore, Projector, Query,
    ReadOptions, SubscribeOptions, append_until_known,
};

use super::fixture::{at, log, tag, tagged};

/// Longer than a clock can count.
const NO_END: Duration = Duration::MAX;

pub(super) async fn greatest_limits_of_writes_are_accepted(store: &Arc<impl EventStore + 'static>) {
    let append = Append::new(tagged(&["a"]));
    append_until_known(store, append, NO_END).await.unwrap();
    let model = || {
        let model = DecisionModel::new(Projector::counter(tag("a")));
        model.time_limit(NO_END).max_attempts(u32::MAX)
    };
    let take = |_| Ok::<_, Error>([tagged(&["a"])]);
    model().decide(store, take).await.unwrap();
    let executor = CommandExecutor::new(Arc::clone(store));
    let executor = executor.time_limit(NO_END).max_attempts(u32::MAX);
    let command = Command::builder("Take").build().unwrap();
    let handler = |_| async { Ok::<_, Error>(Append::new(tagged(&["a"]))) };
    executor.execute(command, handler).await.unwrap();
    assert_eq!(log(store).await.len(), 3);
}

pub(super) async fn greatest_limits_of_reads_are_accepted(store: &Arc<impl EventStore + 'static>) {
    store.append(tagged(&["a"])).await.unwrap();
    assert_eq!(store.wait_for(at(1), NO_END).await.unwrap(), at(1));
    let whole = ReadOptions::new().limit(u64::MAX);
    let read = store.query(&Query::all(), whole).await.unwrap();
    assert_eq!(read.events.len(), 1);
    let options = SubscribeOptions::new().poll_interval(NO_END);
    let options = options.batch_size(usize::MAX);
    let mut events = store.subscribe(Query::all(), None, options);
    let first = events.next().await.expect("the subscription goes on");
    assert_eq!(first.unwrap().position(), at(1));
}
