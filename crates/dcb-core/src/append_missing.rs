use crate::{Error, Event, EventStore};

/// Appends the events whose ids are not yet in the store, in order, if there are any. Takes one commit if the store has
/// all or no events, and a few more otherwise.
///
/// # Errors
/// [`Error::DuplicateId`] if the store has different content under an id, or another error of
/// [`EventStore::append`]. Events before the failing one may have been appended.
pub async fn append_missing<S: EventStore>(store: &S, events: Vec<Event>) -> Result<(), Error> {
    let mut parts = vec![events];
    while let Some(mut part) = parts.pop().filter(|part| !part.is_empty()) {
        match store.append(part.clone()).await {
            // Some ids of this part are already used, for example by an interrupted import. Try its
            // halves, down to single events. If a single event is refused, the stored event has
            // different content.
            Err(Error::DuplicateId { .. }) if part.len() > 1 => {
                let second = part.split_off(part.len() / 2);
                // Push the first half last, because `pop` takes the last part.
                parts.extend([second, part]);
            }
            appended => drop(appended?),
        }
    }
    Ok(())
}
