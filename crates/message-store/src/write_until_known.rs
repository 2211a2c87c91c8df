use std::time::Duration;

use group_commit::{TryFailed, until_known};
use uuid::Uuid;

use crate::{Error, Message, MessageStore, StreamWrite, Written};

/// Writes messages, and repeats the write with the same ids until the store gives a definite
/// outcome or `limit` is over. It repeats a write whose outcome is unknown, and one that failed
/// with a transient error.
///
/// Messages without an id get one, so that repeated writes store them only once. The expected
/// versions stay the same: if an earlier try has stored the messages, the store returns their
/// positions and does not check the versions. No try begins after `limit`. A try that has begun
/// goes on until the store's time limit.
///
/// ```
/// # use message_store::sqlite::{Config, SqliteStore};
/// # use message_store::{Error, ExpectedVersion, Message, StreamName, StreamWrite};
/// # use message_store::write_until_known;
/// # use std::time::Duration;
/// # #[tokio::main]
/// # async fn main() -> Result<(), Error> {
/// # let store = SqliteStore::open(Config::memory()).await?;
/// let opened = Message::builder("Opened").build()?;
/// let write = StreamWrite::new(StreamName::new("account-123")?, opened)
///     .expected_version(ExpectedVersion::NoStream);
/// match write_until_known(&store, vec![write], Duration::from_secs(30)).await {
///     Ok(written) => println!("opened at {}", written[0][0].global_position),
///     Err(Error::WrongExpectedVersion { .. }) => println!("opened by another caller"),
///     // Keep the ids, and ask later.
///     Err(Error::OutcomeUnknown { ids }) => println!("still unknown: {ids:?}"),
///     Err(error) => return Err(error),
/// }
/// # Ok(()) }
/// ```
///
/// # Errors
/// The errors of [`MessageStore::write_streams`]. [`Error::OutcomeUnknown`] means that the outcome of a
/// try is still unknown at the end. Any other error, except [`Fault::Panicked`](crate::Fault), means
/// that nothing was written.
pub async fn write_until_known<S: MessageStore>(
    store: &S,
    mut writes: Vec<StreamWrite>,
    limit: Duration,
) -> Result<Vec<Vec<Written>>, Error> {
    give_ids(&mut writes);
    until_known(limit, || store.write_streams(writes.clone()), meaning).await
}

fn meaning(error: &Error) -> TryFailed {
    match error {
        Error::Invalid { .. } | Error::DuplicateId { .. } | Error::WrongExpectedVersion { .. } => {
            TryFailed::Definite
        }
        Error::OutcomeUnknown { .. } => TryFailed::Unknown,
        error if error.is_transient() => TryFailed::Transient,
        _ => TryFailed::Final,
    }
}

fn give_ids(writes: &mut [StreamWrite]) {
    for message in writes.iter_mut().flat_map(|write| &mut write.messages) {
        if message.id().is_none() {
            *message = Message::with_id(message.clone(), Uuid::now_v7());
        }
    }
}
