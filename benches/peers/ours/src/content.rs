//! The protocol's events as ours, and back.

use dcb_core::{
    AppendCondition, Bookmark, Event, EventStore, Position, Query, SequencedEvent, SubscribeOptions,
};
use peer_protocol::{Condition, Failure, NewEvent, QueryItem, Read, Recorded};

pub(crate) fn event(event: NewEvent) -> Result<Event, dcb_core::Error> {
    let builder = Event::builder(event.event_type)
        .tags(event.tags)
        .data(event.data);
    match event.id {
        Some(id) => builder.id(id).build(),
        None => builder.build(),
    }
}

pub(crate) fn query(items: &[QueryItem]) -> Result<Query, dcb_core::Error> {
    let mut queries = items.iter().map(|item| {
        let types = item.types.iter().map(String::as_str);
        Query::builder().event_types(types).tags(&item.tags).build()
    });
    let Some(first) = queries.next() else {
        return Ok(Query::all());
    };
    queries.try_fold(first?, |query, other| Ok(query.or(other?)))
}

pub(crate) fn condition(condition: &Condition) -> Result<AppendCondition, dcb_core::Error> {
    let after = condition.after.and_then(Position::new);
    let query = query(&condition.items)?;
    Ok(match after {
        Some(after) => AppendCondition::fail_if(query).after(after),
        None => AppendCondition::fail_if(query),
    })
}

pub(crate) fn read(events: &dcb_core::Events) -> Read {
    Read {
        events: events.events.iter().map(recorded).collect(),
        head: events.head.as_ref().map(|head| head.position.get()),
    }
}

fn recorded(event: &SequencedEvent) -> Recorded {
    Recorded {
        position: event.position().get(),
        id: Some(event.id()),
        event_type: event.event_type().to_owned(),
        tags: event.tags().map(str::to_owned).collect(),
        data: event.data().to_vec(),
    }
}

/// Delivers the positions of all events after this one.
pub(crate) async fn follow<S: EventStore + Clone + 'static>(
    store: &S,
    after: u64,
    deliver: impl Fn(u64),
) -> Result<(), Failure> {
    let after = Position::new(after).map(Bookmark::from);
    let mut events = store.subscribe(Query::all(), after, SubscribeOptions::new());
    while let Some(event) = events.next().await {
        deliver(event.map_err(failure)?.position().get());
    }
    Err(Failure::Other("the store has closed".to_owned()))
}

pub(crate) fn failure(error: dcb_core::Error) -> Failure {
    match error {
        dcb_core::Error::Conflict { .. } => Failure::Conflict,
        other => Failure::other(other),
    }
}
