use crate::{Error, Event, EventStore};

/// Appends the events whose ids are not yet in the store, in order. Takes one commit if the store has
/// all or no events, and a few more otherwise.
///
/// # Errors
/// [`Error::DuplicateEventId`] if the store has different content under an id, or another error of
/// [`EventStore::append`]. Events before the failing one may have been appended.
pub async fn append_missing<S: EventStore>(store: &S, events: Vec<Event>) -> Result<(), Error> {
    let mut parts = vec![events];
    while let Some(mut part) = parts.pop() {
        match store.append(part.clone()).await {
            // An earlier load was interrupted within this part. Try its halves, down to single
            // events. A single event that is refused has different content.
            Err(Error::DuplicateEventId { .. }) if part.len() > 1 => {
                let second = part.split_off(part.len() / 2);
                // Reversed, because `pop` takes the last: the first half has to go first.
                parts.extend([second, part]);
            }
            appended => drop(appended?),
        }
    }
    Ok(())
}
