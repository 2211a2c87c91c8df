//! The same work without HTTP: the callers call the store in this process.

use super::exchanges::{FOUND, Single, expected, read_query};
use crate::support::backend::{Backend, Ground};
use crate::support::rows;
use crate::web_app::{Item, NewEvent, Random, Request, Scenario};
use bench::load::{Direct, DirectService, Service};
use bench::{BoxError, Outcome};
use dcb_core::{
    Append, AppendCondition, Bookmark, Error, Event, EventStore, Position, Projector, Query,
    ReadOptions,
};
use std::sync::Arc;

/// A store, and the database or folder that it needs.
struct Opened<S> {
    events: S,
    _ground: Ground,
}

impl<S: EventStore> Opened<S> {
    async fn new<B: Backend<Events = S>>(log: &B) -> Result<Arc<Self>, BoxError> {
        let (events, ground) = log.open().await?;
        let opened = Self {
            events,
            _ground: ground,
        };
        Ok(Arc::new(opened))
    }
}

/// The requests of a run.
pub(crate) async fn drawn<B: Backend>(
    log: B,
    scenario: Scenario,
) -> Result<impl Service, BoxError> {
    let opened = Opened::new(&log).await?;
    if let Some(request) = scenario.needs() {
        LibraryCall::new(request)?.make(&opened.events).await?;
    }
    Ok(DirectService::new(move |user| {
        let mut random = Random::new(user as u64 + 1);
        let opened = Arc::clone(&opened);
        move || {
            let drawn = scenario.draw(&mut random);
            let pause = drawn.pause();
            let (call, opened) = (LibraryCall::new(drawn.request), Arc::clone(&opened));
            Direct::new(async move { call?.make(&opened.events).await }).pause(pause)
        }
    }))
}

/// One operation, repeated.
pub(crate) async fn single<B: Backend>(log: B, single: Single) -> Result<impl Service, BoxError> {
    let opened = Opened::new(&log).await?;
    Ok(DirectService::new(move |_| {
        let (opened, workload) = (Arc::clone(&opened), rows::workload());
        move || {
            let call = match single {
                Single::Append => LibraryCall::Append {
                    append: Append::new(vec![workload.course()]),
                    conflicts: false,
                },
                Single::AppendIf => {
                    let (event, condition) = workload.course_and_condition();
                    LibraryCall::Append {
                        append: Append::new(vec![event]).condition(condition),
                        conflicts: false,
                    }
                }
                Single::Count => LibraryCall::Count {
                    query: read_query(),
                    expected: FOUND,
                },
                Single::Read => LibraryCall::Read {
                    query: read_query(),
                    expected: FOUND,
                },
            };
            let opened = Arc::clone(&opened);
            Direct::new(async move { call.make(&opened.events).await })
        }
    }))
}

/// A call of the library.
enum LibraryCall {
    Append {
        append: Append,
        conflicts: bool,
    },
    /// The library's part of `POST /read`, which answers with the number of events.
    Count {
        query: Query,
        expected: u64,
    },
    Read {
        query: Query,
        expected: u64,
    },
    Project {
        projectors: Vec<Projector<u64>>,
        after: Option<Bookmark>,
    },
}

impl LibraryCall {
    fn new(request: Request) -> Result<Self, Error> {
        Ok(match request {
            Request::Append {
                events,
                condition,
                conflicts,
            } => {
                let events: Result<Vec<Event>, _> = events.into_iter().map(event).collect();
                let append = Append::new(events?);
                let append = match condition {
                    Some(items) => append.condition(AppendCondition::fail_if(query(&items)?)),
                    None => append,
                };
                Self::Append { append, conflicts }
            }
            Request::Read(items) => Self::Count {
                query: query(&items)?,
                expected: expected(&items),
            },
            Request::Project { projectors, after } => {
                let counters = projectors.iter();
                let counters = counters.map(|one| Ok(Projector::counter(query(&one.items)?)));
                Self::Project {
                    projectors: counters.collect::<Result<_, Error>>()?,
                    after: after.and_then(Position::new).map(Bookmark::from),
                }
            }
        })
    }

    async fn make(self, events: &impl EventStore) -> Result<Outcome, BoxError> {
        match self {
            Self::Append { append, conflicts } => match events.submit(append).await {
                Ok(_) if !conflicts => Ok(Outcome::Success),
                Err(Error::Conflict { .. }) if conflicts => Ok(Outcome::Refused),
                Ok(_) => Err("an append succeeded although its condition must fail".into()),
                Err(error) => Err(error.into()),
            },
            Self::Count { query, expected } => {
                expect(events.extent(&query, ..).await?.count, expected)
            }
            Self::Read { query, expected } => {
                let read = events.query(&query, ReadOptions::new()).await?;
                expect(read.events.len() as u64, expected)
            }
            Self::Project { projectors, after } => {
                match events.project_stream(&projectors, after).await {
                    Ok(projected) => expect(projected.finish().await?.state.iter().sum(), 0),
                    // The script counts the events after a position that lies beyond the end of
                    // this log.
                    Err(Error::AfterBeyondHead { .. }) => Ok(Outcome::Success),
                    Err(error) => Err(error.into()),
                }
            }
        }
    }
}

fn expect(found: u64, expected: u64) -> Result<Outcome, BoxError> {
    match found == expected {
        true => Ok(Outcome::Success),
        false => Err(format!("{found} events were found, not {expected}").into()),
    }
}

fn event(new: NewEvent) -> Result<Event, Error> {
    Event::builder(new.event_type)
        .tags(&new.tags)
        .data(new.data)
        .build()
}

/// The query of a request. A request without items asks for all events.
fn query(items: &[Item]) -> Result<Query, Error> {
    let item = |item: &Item| {
        let builder = Query::builder().event_types(item.types.iter().map(String::as_str));
        builder.tags(item.tags.iter().map(String::as_str)).build()
    };
    let items = items.iter().map(item);
    let all = items.reduce(|all, next| Ok(all?.or(next?)));
    all.unwrap_or_else(|| Ok(Query::all()))
}
