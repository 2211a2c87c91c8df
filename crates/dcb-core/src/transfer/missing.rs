use crate::{Error, Event, EventStore};

/// Appends those of `events` that the store does not have, by their ids, in their order and in as
/// few commits as that takes: one where it has none or all.
///
/// # Errors
/// [`Error::DuplicateEventId`] where the store has an event of other content under an id; else what
/// it met. Events before the one at fault may have been appended.
pub async fn append_missing<S: EventStore>(store: &S, events: Vec<Event>) -> Result<(), Error> {
    let mut parts = vec![events];
    while let Some(mut part) = parts.pop() {
        match store.append(part.clone()).await {
            // The store has a part of it: an earlier load ended inside it. Its halves are tried,
            // down to single events; one that is refused alone is another event.
            Err(Error::DuplicateEventId { .. }) if part.len() > 1 => {
                let second = part.split_off(part.len() / 2);
                parts.extend([second, part]);
            }
            appended => drop(appended?),
        }
    }
    Ok(())
}
