//! The same work without HTTP: the callers call the store in this process.

use super::exchanges::{FOUND, Single, asked};
use super::support::backend::{Backend, Kept};
use super::support::rows;
use bench::load::web_app::{Drawn, Found, Item, NewEvent, Random, Request, Scenario};
use bench::load::{Direct, DirectService, Service};
use bench::{BoxError, Outcome};
use course_enrollment::workload;
use dcb_core::{
    Append, AppendCondition, Error, Event, EventStore, Position, Projector, Query, ReadOptions,
};
use std::sync::Arc;

/// A store, and what it stands on.
struct Opened<S> {
    events: S,
    _kept: Kept,
}

impl<S: EventStore> Opened<S> {
    async fn new<B: Backend<Events = S>>(log: &B) -> Result<Arc<Self>, BoxError> {
        let (events, kept) = log.open().await?;
        let opened = Self {
            events,
            _kept: kept,
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
        Asked::of(request)?.ask(&opened.events).await?;
    }
    Ok(DirectService::new(move |user| {
        let mut random = Random::new(user as u64 + 1);
        let opened = Arc::clone(&opened);
        move || {
            let Drawn { request, pause } = scenario.draw(&mut random);
            let (asked, opened) = (Asked::of(request), Arc::clone(&opened));
            Direct::new(async move { asked?.ask(&opened.events).await }).pause(pause)
        }
    }))
}

/// One operation, again and again.
pub(crate) async fn single<B: Backend>(log: B, single: Single) -> Result<impl Service, BoxError> {
    let opened = Opened::new(&log).await?;
    Ok(DirectService::new(move |_| {
        let (opened, workload) = (Arc::clone(&opened), rows::workload());
        move || {
            let asked = match single {
                Single::Append => Asked::Append {
                    append: Append::new(vec![workload.course()]),
                    conflicts: false,
                },
                Single::AppendIf => {
                    let (event, condition) = workload.course_and_condition();
                    Asked::Append {
                        append: Append::new(vec![event]).condition(condition),
                        conflicts: false,
                    }
                }
                Single::Count => Asked::Count {
                    query: asked(),
                    expected: FOUND,
                },
                Single::Read => Asked::Read {
                    query: asked(),
                    expected: FOUND,
                },
            };
            let opened = Arc::clone(&opened);
            Direct::new(async move { asked.ask(&opened.events).await })
        }
    }))
}

/// What is asked, in the library's terms.
enum Asked {
    Append {
        append: Append,
        conflicts: bool,
    },
    /// What `POST /read` answers.
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
        after: Option<Position>,
    },
}

impl Asked {
    fn of(request: Request) -> Result<Self, Error> {
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
            Request::Read { items, found } => Self::Count {
                query: query(&items)?,
                expected: match found {
                    Found::Nothing => 0,
                    Found::Everything => workload::PAST_EVENTS as u64,
                },
            },
            Request::Project { projectors, after } => {
                let counters = projectors.iter();
                let counters = counters.map(|one| Ok(Projector::counter(query(&one.items)?)));
                Self::Project {
                    projectors: counters.collect::<Result<_, Error>>()?,
                    after: after.and_then(Position::new),
                }
            }
        })
    }

    async fn ask(self, events: &impl EventStore) -> Result<Outcome, BoxError> {
        match self {
            Self::Append { append, conflicts } => match events.submit(append).await {
                Ok(_) if !conflicts => Ok(Outcome::Success),
                Err(Error::Conflict { .. }) if conflicts => Ok(Outcome::Refused),
                Ok(_) => Err("a condition held that must fail".into()),
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
                    // The log is shorter than the position that the count is to begin after.
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

/// No items ask for all events.
fn query(items: &[Item]) -> Result<Query, Error> {
    let item = |item: &Item| {
        let builder = Query::builder().event_types(item.types.iter().copied());
        builder.tags(item.tags.iter().map(String::as_str)).build()
    };
    let items = items.iter().map(item);
    let all = items.reduce(|all, next| Ok(all?.or(next?)));
    all.unwrap_or_else(|| Ok(Query::all()))
}
