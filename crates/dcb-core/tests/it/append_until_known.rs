//! An append is repeated until its outcome is known.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use dcb_core::{
    Append, Appended, Error, Event, EventStore, EventStream, Fault, MemoryStore, Query,
    ReadOptions, Reason, append_until_known,
};

use crate::support::events::{at, tagged, unless, whole_log};

/// Longer than any test takes.
const LIMIT: Duration = Duration::from_secs(60);

/// The fate of a try.
#[derive(Clone)]
enum Try {
    /// The events are stored, and the answer is lost.
    LosesAnswer,
    /// Nothing is stored, and the answer is lost.
    LosesRequest,
    /// The store refuses the try with this error.
    Fails(Error),
}

/// A store whose next tries go wrong.
struct Flaky {
    store: MemoryStore,
    tries: Mutex<VecDeque<Try>>,
}

impl Flaky {
    fn new(tries: impl IntoIterator<Item = Try>) -> Self {
        Self {
            store: MemoryStore::new(),
            tries: Mutex::new(tries.into_iter().collect()),
        }
    }

    fn next_try(&self) -> Option<Try> {
        let tries = self.tries.lock();
        tries.unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

impl EventStore for Flaky {
    async fn submit(&self, append: Append) -> Result<Appended, Error> {
        let ids = append.events.iter().filter_map(Event::id).collect();
        match self.next_try() {
            None => self.store.submit(append).await,
            Some(Try::LosesAnswer) => {
                self.store.submit(append).await?;
                Err(Error::OutcomeUnknown { ids })
            }
            Some(Try::LosesRequest) => Err(Error::OutcomeUnknown { ids }),
            Some(Try::Fails(error)) => Err(error),
        }
    }

    async fn query_stream(
        &self,
        query: &Query,
        options: ReadOptions,
    ) -> Result<EventStream, Error> {
        self.store.query_stream(query, options).await
    }

    dcb_core::forward_event_store! { self { Self { store, .. } => store }
        head count exists tracked commands projection_limit health stats close
    }
}

fn timeout() -> Error {
    Error::Fault(Fault::TimedOut {
        operation: "append",
        limit: Duration::from_secs(5),
    })
}

fn read_only() -> Error {
    Error::Fault(Fault::ReadOnly(Reason::new("a standby")))
}

/// Events without ids, which a careless repetition would store twice. Their condition fails as soon
/// as they are stored.
fn append() -> Append {
    Append::new([tagged("a"), tagged("b")]).conditions([unless("a"), unless("b")])
}

#[tokio::test]
async fn append_is_stored_once_after_any_failed_tries() {
    let failures = [
        Try::LosesAnswer,
        Try::LosesRequest,
        Try::Fails(timeout()),
        Try::Fails(read_only()),
    ];
    for first in &failures {
        for second in &failures {
            let store = Flaky::new([first.clone(), second.clone()]);
            let appended = append_until_known(&store, append(), LIMIT).await.unwrap();
            assert_eq!(appended.positions().collect::<Vec<_>>(), [at(1), at(2)]);
            assert_eq!(whole_log(&store.store).await.len(), 2);
        }
    }
}

#[tokio::test]
async fn refusal_after_unknown_try_is_returned() {
    let store = Flaky::new([Try::LosesRequest]);
    store.store.append(tagged("b")).await.unwrap();
    let refused = append_until_known(&store, append(), LIMIT).await;
    assert!(
        matches!(refused, Err(Error::Conflict { position, condition: 1 }) if position == at(1)),
        "{refused:?}"
    );
    let invalid = append_until_known(&store, Append::new([]), LIMIT).await;
    assert!(matches!(invalid, Err(Error::Invalid { .. })), "{invalid:?}");
}

/// The last error says that nothing was written, but that holds only for the last try.
#[tokio::test]
async fn outcome_stays_unknown_at_the_limit() {
    let limit = Duration::from_millis(200);
    for last in [timeout(), read_only()] {
        let tries = [Try::LosesAnswer].into_iter();
        let store = Flaky::new(tries.chain(vec![Try::Fails(last.clone()); 100]));
        let answer = append_until_known(&store, append(), limit).await;
        assert!(
            matches!(&answer, Err(Error::OutcomeUnknown { ids }) if ids.len() == 2),
            "{answer:?}"
        );
        // It went on after the first failure.
        let left = store.tries.lock().unwrap().len();
        assert!(left < 99, "{left} of 100 are left");

        // Without an unknown try, the last error holds for the whole call.
        let store = Flaky::new(vec![Try::Fails(last.clone()); 100]);
        let answer = append_until_known(&store, append(), limit).await;
        assert_eq!(answer.unwrap_err().to_string(), last.to_string());
    }
}

#[tokio::test]
async fn lasting_error_ends_the_tries() {
    let store = Flaky::new([Try::Fails(Error::Fault(Fault::Closed))]);
    let closed = append_until_known(&store, append(), LIMIT).await;
    assert!(
        matches!(closed, Err(Error::Fault(Fault::Closed))),
        "{closed:?}"
    );
    let store = Flaky::new([Try::LosesAnswer, Try::Fails(Error::Fault(Fault::Closed))]);
    let unknown = append_until_known(&store, append(), LIMIT).await;
    assert!(
        matches!(unknown, Err(Error::OutcomeUnknown { .. })),
        "{unknown:?}"
    );
}
