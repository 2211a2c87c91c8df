use std::time::Duration;

use group_commit::{TryFailed, until_known};
use uuid::Uuid;

use crate::{Append, Appended, Error, EventStore};

/// Appends events, and repeats the append with the same ids until the store gives a definite
/// outcome or `limit` is over. It repeats an append whose outcome is unknown, and one that failed
/// with a transient error.
///
/// Events without an id get one, so that repeated appends store them only once. The conditions of
/// `append` stay the same: if an earlier try has stored the events, the store returns their
/// positions and does not check the conditions. No try begins after `limit`. A try that has begun
/// goes on until the store's time limit.
///
/// ```
/// # #[tokio::main]
/// # async fn main() -> Result<(), dcb_core::Error> {
/// # use dcb_core::{Append, AppendCondition, Error, Event, MemoryStore, append_until_known};
/// # use std::time::Duration;
/// # let store = MemoryStore::new();
/// let registered = Event::builder("UserRegistered").tag_pair("email", "a@b.c").build()?;
/// let free = AppendCondition::fail_if_exists("email", "a@b.c")?;
/// let append = Append::new(registered).condition(free);
/// match append_until_known(&store, append, Duration::from_secs(30)).await {
///     Ok(appended) => println!("registered at {}", appended.first()),
///     Err(Error::Conflict { .. }) => println!("taken by another caller"),
///     // Keep the ids, and ask later.
///     Err(Error::OutcomeUnknown { ids }) => println!("still unknown: {ids:?}"),
///     Err(error) => return Err(error),
/// }
/// # Ok(()) }
/// ```
///
/// # Errors
/// The errors of [`EventStore::submit`]. [`Error::OutcomeUnknown`] means that the outcome of a try is
/// still unknown at the end. Any other error, except [`Fault::Panicked`](crate::Fault), means that
/// nothing was written.
pub async fn append_until_known<S: EventStore>(
    store: &S,
    append: Append,
    limit: Duration,
) -> Result<Appended, Error> {
    let append = with_ids(append);
    until_known(limit, || store.submit(append.clone()), meaning).await
}

fn meaning(error: &Error) -> TryFailed {
    match error {
        Error::Invalid { .. }
        | Error::DuplicateId { .. }
        | Error::AfterBeyondHead { .. }
        | Error::PastReplaced { .. }
        | Error::AlreadyTracked { .. }
        | Error::Conflict { .. } => TryFailed::Definite,
        Error::OutcomeUnknown { .. } => TryFailed::Unknown,
        error if error.is_transient() => TryFailed::Transient,
        _ => TryFailed::Final,
    }
}

fn with_ids(mut append: Append) -> Append {
    let events = append.events.into_iter();
    let events = events.map(|event| match event.id() {
        Some(_) => event,
        None => event.with_id(Uuid::now_v7()),
    });
    append.events = events.collect();
    append
}
