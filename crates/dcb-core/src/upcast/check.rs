use std::collections::BTreeMap;

use super::Upcasts;
use crate::{Error, EventStore, HandlerError, Position, Query, ReadOptions, SequencedEvent};

/// The events of one type and version, as [`check_versions`] found them.
#[derive(Debug)]
#[non_exhaustive]
pub struct VersionCheck {
    /// The type of the events.
    pub event_type: String,
    /// The version with which they were written.
    pub version: u32,
    /// The number of these events.
    pub events: u64,
    /// The position of the first of them, the one that was decoded.
    pub first: Position,
    /// The reason why it can't be read.
    pub failed: Option<HandlerError>,
}

/// Reads one event of each type and version that was ever written, as the program would: through
/// `upcasts`, then with `decode`. Run it on the log of production before a deploy; a program that can't
/// read an old event fails here and not at a customer.
///
/// The list is ordered by type and version. `store` returns events as they were written, so pass the
/// inner store of an [`Upcasting`](super::Upcasting). The call reads the whole log once, in constant
/// memory per type and version.
///
/// ```
/// # use dcb_core::{Error, Event, EventStore, MemoryStore, Upcasts, Versions, check_versions};
/// # #[derive(serde::Serialize, serde::Deserialize)]
/// # struct Named { first: String, last: String }
/// # #[tokio::main]
/// # async fn main() -> Result<(), Error> {
/// # let store = MemoryStore::new();
/// store.append(Event::builder("Named").data(r#"{"first":"Ada"}"#).build()?).await?;
/// let upcasts = Upcasts::new().of("Named", Versions::<Named>::first());
/// let checked = check_versions(&store, &upcasts, |event| match event.event_type() {
///     "Named" => Ok(drop(event.json::<Named>()?)),
///     other => Err(format!("{other} is not an event of this program").into()),
/// });
/// // The version 1 was written without a last name.
/// assert!(checked.await?.iter().any(|named| named.failed.is_some()));
/// # Ok(()) }
/// ```
///
/// # Errors
/// [`Error::Fault`] from the backend. An event that can't be read is no error of the call:
/// [`VersionCheck::failed`] has its reason.
pub async fn check_versions<S: EventStore>(
    store: &S,
    upcasts: &Upcasts,
    mut decode: impl FnMut(&SequencedEvent) -> Result<(), HandlerError> + Send,
) -> Result<Vec<VersionCheck>, Error> {
    let mut found: BTreeMap<(String, u32), VersionCheck> = BTreeMap::new();
    let mut events = store
        .query_stream(&Query::all(), ReadOptions::new())
        .await?;
    while let Some(event) = events.next().await {
        let event = event?;
        let version = (event.event_type().to_owned(), event.version());
        if let Some(known) = found.get_mut(&version) {
            known.events += 1;
            continue;
        }
        let first = VersionCheck {
            event_type: version.0.clone(),
            version: version.1,
            events: 1,
            first: event.position(),
            failed: upcasts
                .apply(event)
                .map_err(HandlerError::from)
                .and_then(|event| decode(&event))
                .err(),
        };
        found.insert(version, first);
    }
    Ok(found.into_values().collect())
}
