use crate::{AppendCondition, Error, EventStore, ReadOptions};

/// Fails as an append under these conditions would, at the cost of one short read for each: with the
/// first event of the log that violates any of them, and the first condition that this event violates.
pub(crate) async fn check<S: EventStore>(
    store: &S,
    conditions: impl IntoIterator<Item = &AppendCondition>,
) -> Result<(), Error> {
    let mut first = None;
    for (condition, is) in conditions.into_iter().enumerate() {
        let next = ReadOptions::new().after(is.after).limit(1);
        let found = store.query(&is.fail_if_events_match, next).await?;
        let violating = found.events.first();
        let violating = violating.map(|event| (event.position(), condition));
        first = first.into_iter().chain(violating).min();
    }
    match first {
        None => Ok(()),
        Some((position, condition)) => Err(Error::Conflict {
            position,
            condition,
        }),
    }
}
