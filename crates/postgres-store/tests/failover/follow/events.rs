use dcb_core::postgres::{Config, PostgresStore};
use dcb_core::{EventStore as _, Query, SequencedEvent, SubscribeOptions};
use uuid::Uuid;

use super::kept::Kept;
use super::seen::{Ended, Follower};

/// The type that one of the subscriptions asks for.
const SOME: &str = "NameTaken";

/// Two subscriptions and a kept projection.
pub(crate) struct EventFollowers {
    all: Follower<(u64, Uuid)>,
    some: Follower<(u64, Uuid)>,
    kept: Kept,
}

impl EventFollowers {
    pub(crate) async fn start(store: &PostgresStore, config: &Config) -> Self {
        let some = Query::builder().event_type(SOME).build();
        Self {
            all: follow(store, "the subscription to all events", Query::all()),
            some: follow(
                store,
                "the subscription to a type",
                some.expect("the query is valid"),
            ),
            kept: Kept::start(store, config).await,
        }
    }

    /// Asserts that each follower got each event once and in order, or was told of a loss.
    pub(crate) async fn check(self, log: &[SequencedEvent], may_lose: bool) {
        self.all.check(&numbered(log.iter()), may_lose).await;
        let some = log.iter().filter(|event| event.is_of_type(SOME));
        self.some.check(&numbered(some), may_lose).await;
        self.kept.check(log, may_lose).await;
    }
}

fn follow(store: &PostgresStore, name: &'static str, query: Query) -> Follower<(u64, Uuid)> {
    let mut events = store.subscribe(query, None, SubscribeOptions::new());
    Follower::start(name, |seen| async move {
        loop {
            match events.next().await {
                Some(Ok(event)) => seen.push((event.position().get(), event.id())),
                Some(Err(error)) => return Ended::from(error),
                None => return Ended::By("no error".to_owned()),
            }
        }
    })
}

fn numbered<'e>(events: impl Iterator<Item = &'e SequencedEvent>) -> Vec<(u64, Uuid)> {
    events
        .map(|event| (event.position().get(), event.id()))
        .collect()
}
